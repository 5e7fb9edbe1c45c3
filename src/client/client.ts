import type { ApiCalls } from "./api-types.ts";
import { type CallContent, Caller, type CallOptions, type ConnectionOptions } from "./caller.ts";
import {
  deadLettersOf,
  deliveriesOf,
  eventsOf,
  eventTypesOf,
  operationsOf,
  portalSessionsOf,
  tenantsOf,
  webhooksOf,
} from "./calls.ts";
import { type AnyEvents, publishingOf } from "./publishing.ts";
import { readStream, type StreamOptions } from "./stream.ts";

export type Client<Events extends object = AnyEvents> = ReturnType<typeof createClient<Events>>;

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
export function createClient<Events extends object = AnyEvents>(options: ConnectionOptions) {
  return clientOf<Events>(new Caller(options));
}

function clientOf<Events extends object>(caller: Caller) {
  return {
    ...publishingOf<Events>(caller),
    events: eventsOf(caller),
    webhooks: webhooksOf(caller),
    deliveries: deliveriesOf(caller),
    deadLetters: deadLettersOf(caller),
    operations: operationsOf(caller),
    eventTypes: eventTypesOf(caller),
    tenants: tenantsOf(caller),
    portalSessions: portalSessionsOf(caller),

    /** Information about the key. */
    me: (callOptions?: CallOptions): Promise<ApiCalls["getCaller"]["answer"]> =>
      caller.call("GET", { ...callOptions, path: "/v1/me" }),

    /** Live updates: `for await (const event of client.stream({ topics: ["deliveries"] }))`. */
    stream: (asked: StreamOptions) => readStream(caller, asked),

    /** Any other route, with the same key, retries and errors. */
    call: <Answer>(
      method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
      path: string,
      request?: CallContent & CallOptions,
    ): Promise<Answer> => caller.call(method, { ...request, path }),
  };
}
