import type { Caller as KeyOwner } from "./api-types.ts";
import { type CallContent, Caller, type CallOptions, type ConnectionOptions } from "./caller.ts";
import { type Resources, resourcesOf } from "./calls.ts";
import { type AnyEvents, type Publishing, publishingOf } from "./publishing.ts";
import { readStream, type StreamedEvent, type StreamOptions } from "./stream.ts";

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
 * Names are those of the HTTP API. Every POST has an `Idempotency-Key`, which its retries keep.
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
