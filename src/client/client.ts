import type { EventBatchResult, EventInput, EventReceipt, Caller as KeyOwner } from "./api-types.ts";
import { type CallContent, Caller, type CallOptions, type ConnectionOptions } from "./caller.ts";
import { type Resources, resourcesOf } from "./calls.ts";
import { readStream, type StreamedEvent, type StreamOptions } from "./stream.ts";

const eventsPath = "/v1/events";

/** The data of each event type, keyed by name, as `posthorn types` generates it. */
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

/** The HTTP API. `Events` defines the event types and their data. */
export interface Client<Events extends object = AnyEvents> extends Publishing<Events>, Resources {
  /** Information about the key. */
  me(options?: CallOptions): Promise<KeyOwner>;

  /** Live updates: `for await (const event of client.stream({ topics: ["deliveries"] }))`. */
  stream(options: StreamOptions): AsyncGenerator<StreamedEvent, void, undefined>;

  /** Any other route, with the same key, retries and errors. */
  call<Answer>(
    method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
    path: string,
    request?: CallContent & CallOptions,
  ): Promise<Answer>;
}

/**
 * A client for one server. `Events` defines the event types and their data:
 *
 * ```ts
 * const posthorn = createClient<Events>({ url: "https://hooks.example.com", key: process.env.POSTHORN_KEY });
 * await posthorn.publish({ event_type: "order.completed", data: { order_id: "4711" } });
 * ```
 *
 * Names are those of the HTTP API. Every POST has an `Idempotency-Key`, which stays the same for its retries.
 */
export function createClient<Events extends object = AnyEvents>(options: ConnectionOptions): Client<Events> {
  const caller = new Caller(options);
  return {
    ...publishingOf<Events>(caller),
    ...resourcesOf(caller),
    me: (callOptions) => caller.call("GET", { ...callOptions, path: "/v1/me" }),
    stream: (streamOptions) => readStream(caller, streamOptions),
    call: (method, path, request) => caller.call(method, { ...request, path }),
  };
}

function publishingOf<Events extends object>(caller: Caller): Publishing<Events> {
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
