import type { EventBatchResult, EventInput, EventReceipt } from "./api-types.ts";
import type { Caller, CallOptions } from "./caller.ts";

/** The data of each event type by name, as `posthorn types` generates it. */
export type AnyEvents = Record<string, Record<string, unknown>>;

/** Fields of an event other than its type and data. */
type EventDetails = Omit<EventInput, "event_type" | "data">;

/** An event to publish: the type determines its data. */
export type EventOf<Events extends object> = {
  [Type in keyof Events & string]: { event_type: Type; data: Events[Type] } & EventDetails;
}[keyof Events & string];

/** Content of any media type, delivered byte for byte. */
export interface RawEvent extends Omit<EventDetails, "metadata" | "links"> {
  event_type: string;
  content_type: string;
  body: Uint8Array<ArrayBuffer> | string;
}

export type BatchResult = EventBatchResult["results"][number];

const eventsPath = "/v1/events";

/** Publishing events. */
export interface Publishing<Events extends object> {
  /** Resolves when the event and its deliveries are stored durably. */
  publish(event: EventOf<Events>, options?: CallOptions): Promise<EventReceipt>;

  /**
   * Up to 1,000 events; returns a receipt or an error for each, in order. An invalid event does not affect the others.
   */
  publishBatch(events: readonly EventOf<Events>[], options?: CallOptions): Promise<readonly BatchResult[]>;

  publishRaw(event: RawEvent, options?: CallOptions): Promise<EventReceipt>;
}

export function publishingOf<Events extends object>(caller: Caller): Publishing<Events> {
  return {
    publish: (event, options) => caller.call("POST", { ...options, path: eventsPath, body: event }),
    publishBatch: async (events, options) => {
      const request = { ...options, path: `${eventsPath}/batch`, body: { events } };
      return (await caller.call<EventBatchResult>("POST", request)).results;
    },
    publishRaw: ({ content_type: contentType, body, ...query }, options) =>
      caller.call("POST", { ...options, path: eventsPath, query, raw: { contentType, body } }),
  };
}
