import type { EventBatchResult, EventInput, EventReceipt } from "./api-types.ts";
import type { Caller, CallOptions } from "./caller.ts";

/** The data of each event type by its name, as `posthorn types` writes it. */
export type AnyEvents = Record<string, Record<string, unknown>>;

/** What an event has beside its type and its data. */
type EventDetails = Omit<EventInput, "event_type" | "data">;

/** An event to publish: the type decides what its data must be. */
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

/** Publishing, which the key of an application is for. */
export function publishingOf<Events extends object>(caller: Caller) {
  return {
    /** Resolves when the event and its deliveries are safe. */
    publish: (event: EventOf<Events>, options?: CallOptions): Promise<EventReceipt> =>
      caller.call("POST", { ...options, path: eventsPath, body: event }),

    /** At most 1,000 events; a receipt or an error for each, in order. One bad event does not spoil the rest. */
    publishBatch: async (
      events: readonly EventOf<Events>[],
      options?: CallOptions,
    ): Promise<readonly BatchResult[]> => {
      const body = { events };
      const path = `${eventsPath}/batch`;
      return (await caller.call<EventBatchResult>("POST", { ...options, path, body })).results;
    },

    publishRaw: (
      { content_type: contentType, body, ...query }: RawEvent,
      options?: CallOptions,
    ): Promise<EventReceipt> =>
      caller.call("POST", { ...options, path: eventsPath, query, raw: { contentType, body } }),
  };
}
