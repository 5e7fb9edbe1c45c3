import type { ApiCalls, BatchOperation, RenderedRequest, RetriedDelivery, RetryInput } from "./api-types.ts";
import type { CallContent, Caller, CallOptions } from "./caller.ts";

/** One page of a list. */
export interface Page<Row> {
  readonly data: readonly Row[];
  readonly next_cursor: string | null;
}

/**
 * A list: `for await (const row of pages)` iterates over all rows and requests pages as they are needed. No request is
 * sent before that.
 */
export class Pages<Row, Answer extends Page<Row> = Page<Row>> implements AsyncIterable<Row> {
  readonly #ask: (cursor: string | undefined) => Promise<Answer>;

  constructor(ask: (cursor: string | undefined) => Promise<Answer>) {
    this.#ask = ask;
  }

  /** One page with everything the server returns; `cursor` is the `next_cursor` of the previous page. */
  page(cursor?: string): Promise<Answer> {
    return this.#ask(cursor);
  }

  async *pages(): AsyncGenerator<Answer, void, undefined> {
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page: Answer = await this.#ask(cursor);
      yield page;
      cursor = page.next_cursor;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Row, void, undefined> {
    for await (const page of this.pages()) yield* page.data;
  }

  /** The first `count` rows, or fewer if the list ends. */
  async take(count: number): Promise<Row[]> {
    const rows: Row[] = [];
    if (count <= 0) return rows;
    for await (const row of this) {
      rows.push(row);
      if (rows.length >= count) break;
    }
    return rows;
  }
}

// The calls of the API as functions, typed by operationId.

type CallName = keyof ApiCalls;
type Answer<Name extends CallName> = ApiCalls[Name]["answer"];
type Query<Name extends CallName> = ApiCalls[Name] extends { query: infer Asked } ? Asked : never;
type Body<Name extends CallName> = ApiCalls[Name] extends { body: infer Given } ? Given : never;
type ListCall = { [Name in CallName]: Answer<Name> extends Page<unknown> ? Name : never }[CallName];
type Row<Name extends ListCall> = Answer<Name>["data"][number];

/** Options of calls that also have query parameters. */
type Options<Name extends CallName> = CallOptions &
  (ApiCalls[Name] extends { query: infer Asked } ? { readonly query?: Asked & object } : object);
/** A body without required members may be omitted. */
type Sent<Name extends CallName> =
  Partial<Body<Name>> extends Body<Name>
    ? [body?: Body<Name>, options?: Options<Name>]
    : [body: Body<Name>, options?: Options<Name>];

type ListAsked<Name extends CallName> = Omit<Query<Name>, "cursor">;

/** Fills in `/v1/events/{id}`. The id may be any text that does not lead to another path. */
function pathTo(template: string, ...ids: readonly (string | number)[]): string {
  let next = 0;
  return template.replaceAll(/\{\w+\}/g, () => {
    const id = String(ids[next++] ?? "");
    if (["", ".", ".."].includes(id)) throw new TypeError(`"${id}" is not a valid id for ${template}`);
    return encodeURIComponent(id);
  });
}

/** Functions for one caller; each is defined by method and path, such as `GET /v1/events/{id}`. */
function callsOf(caller: Caller) {
  const call = <Name extends CallName>(
    route: string,
    { ids = [], ...request }: CallContent & CallOptions & { readonly ids?: readonly string[] },
  ): Promise<Answer<Name>> => {
    const [method = "", template = ""] = route.split(" ");
    return caller.call(method, { ...request, path: pathTo(template, ...ids) });
  };
  const pages = <Name extends ListCall>(path: string, query?: object, options?: CallOptions) =>
    new Pages<Row<Name>, Answer<Name> & Page<Row<Name>>>((cursor) =>
      caller.call("GET", { ...options, path, query: cursor === undefined ? query : { ...query, cursor } }),
    );

  return {
    list:
      <Name extends ListCall>(path: string) =>
      (query?: ListAsked<Name>, options?: CallOptions) =>
        pages<Name>(path, query, options),
    listOf:
      <Name extends ListCall>(template: string) =>
      (id: string, query?: ListAsked<Name>, options?: CallOptions) =>
        pages<Name>(pathTo(template, id), query, options),
    one:
      <Name extends CallName>(route: string) =>
      (id: string, options?: Options<Name>) =>
        call<Name>(route, { ...options, ids: [id] }),
    send:
      <Name extends CallName>(route: string) =>
      (...[body, options]: Sent<Name>) =>
        call<Name>(route, { ...options, body: body ?? {} }),
    sendTo:
      <Name extends CallName>(route: string) =>
      (id: string, ...[body, options]: Sent<Name>) =>
        call<Name>(route, { ...options, ids: [id], body: body ?? {} }),
  };
}

/** Published events. */
export function eventsOf(caller: Caller) {
  const { list, listOf, one, sendTo } = callsOf(caller);
  return {
    /** Newest first. */
    list: list<"listEvents">("/v1/events"),
    get: one<"getEvent">("GET /v1/events/{id}"),
    deliveries: listOf<"listEventDeliveries">("/v1/events/{id}/deliveries"),
    /** Which webhooks got the event, and why the others did not. */
    matches: listOf<"listEventMatches">("/v1/events/{id}/matches"),
    /** Delivers the event again, with the same id. */
    replay: sendTo<"replayEvent">("POST /v1/events/{id}/replay"),
  };
}

/** Deliveries of events: one for each webhook that gets the event. */
export function deliveriesOf(caller: Caller) {
  const { list, listOf, one, send } = callsOf(caller);
  return {
    list: list<"listDeliveries">("/v1/deliveries"),
    listOfWebhook: listOf<"listWebhookDeliveries">("/v1/webhooks/{id}/deliveries"),
    /** Includes every attempt, and what the delivery waits for and until when. */
    get: one<"getDelivery">("GET /v1/deliveries/{id}"),

    /** Sends it again, due at once: the same delivery, or a copy of one that succeeded. */
    retry: (
      { webhook_id: webhookId, id }: { readonly webhook_id: string; readonly id: string },
      body: RetryInput = {},
      options?: CallOptions,
    ): Promise<RetriedDelivery> => {
      const path = pathTo("/v1/webhooks/{id}/deliveries/{delivery_id}/retry", webhookId, id);
      return caller.call("POST", { ...options, path, body });
    },
    retryBatch: send<"retryDeliveries">("POST /v1/deliveries/retry-batch"),
    cancelBatch: send<"cancelDeliveries">("POST /v1/deliveries/cancel-batch"),

    /** The request of an attempt, rebuilt from stored data. */
    request: (
      { id, attempt }: { readonly id: string; readonly attempt: number },
      options?: CallOptions,
    ): Promise<RenderedRequest> =>
      caller.call("GET", {
        ...options,
        path: pathTo("/v1/deliveries/{id}/attempts/{n}/request", id, attempt),
      }),
  };
}

/** Dead letters: deliveries that will not be retried automatically. */
export function deadLettersOf(caller: Caller) {
  const { list, send } = callsOf(caller);
  return {
    list: list<"listDeadLetters">("/v1/dlq"),
    retryBatch: send<"retryDeadLetters">("POST /v1/dlq/retry-batch"),
    discardBatch: send<"discardDeadLetters">("POST /v1/dlq/discard-batch"),
  };
}

const pollMsDefault = 1_000;
const ended: ReadonlySet<string> = new Set(["completed", "cancelled", "failed"]);

/** Bulk operations, which continue after the call that started them. */
export function operationsOf(caller: Caller) {
  const { list, one, sendTo } = callsOf(caller);
  const get = one<"getOperation">("GET /v1/operations/{id}");
  return {
    list: list<"listOperations">("/v1/operations"),
    get,
    /** Changes the rate, pauses or resumes. */
    update: sendTo<"changeOperation">("PATCH /v1/operations/{id}"),
    cancel: one<"cancelOperation">("DELETE /v1/operations/{id}"),

    /** Resolves with the result when the operation has ended. */
    wait: async (
      id: string,
      { pollMs = pollMsDefault, ...options }: CallOptions & { readonly pollMs?: number } = {},
    ): Promise<BatchOperation> => {
      for (;;) {
        const operation = await get(id, options);
        if (ended.has(operation.status)) return operation;
        await caller.time.sleep(pollMs, options.signal);
      }
    },
  };
}

/** Subscriptions: where events go, and how. */
export function webhooksOf(caller: Caller) {
  const { list, one, send, sendTo } = callsOf(caller);
  return {
    list: list<"listWebhooks">("/v1/webhooks"),
    get: one<"getWebhook">("GET /v1/webhooks/{id}"),
    /** The response contains the secret, which is shown only once. */
    create: send<"createWebhook">("POST /v1/webhooks"),
    /** Changes the given fields and keeps the others. */
    update: sendTo<"patchWebhook">("PATCH /v1/webhooks/{id}"),
    delete: one<"deleteWebhook">("DELETE /v1/webhooks/{id}"),
    /** Sends a test event on the normal delivery path. */
    test: sendTo<"testWebhook">("POST /v1/webhooks/{id}/test"),
    enable: one<"enableWebhook">("POST /v1/webhooks/{id}/enable"),
    disable: one<"disableWebhook">("POST /v1/webhooks/{id}/disable"),
    /** Pauses delivery; events are kept and sent later. */
    pause: sendTo<"pauseWebhook">("POST /v1/webhooks/{id}/pause"),
    resume: one<"resumeWebhook">("POST /v1/webhooks/{id}/resume"),
    health: one<"getWebhookHealth">("GET /v1/webhooks/{id}/health"),
    backlog: one<"getWebhookBacklog">("GET /v1/webhooks/{id}/backlog"),
    changeCircuit: sendTo<"changeCircuit">("PATCH /v1/webhooks/{id}/circuit-breaker"),
    secret: one<"getWebhookSecret">("GET /v1/webhooks/{id}/secret"),
    publicKey: one<"getWebhookPublicKey">("GET /v1/webhooks/{id}/public-key"),
    rotateSecret: sendTo<"rotateWebhookSecret">("POST /v1/webhooks/{id}/secret/rotate"),
    verify: one<"verifyWebhook">("POST /v1/webhooks/{id}/verify"),
    /** Starts an operation that delivers missed events. */
    recover: sendTo<"recoverWebhook">("POST /v1/webhooks/{id}/recover"),
  };
}

/** The catalogue of event types and the schemas of their data. */
export function eventTypesOf(caller: Caller) {
  const { list, one, sendTo } = callsOf(caller);
  const path = "/v1/event-types/{name}";
  return {
    list: list<"listEventTypes">("/v1/event-types"),
    get: one<"getEventType">(`GET ${path}`),
    put: sendTo<"putEventType">(`PUT ${path}`),
    delete: one<"deleteEventType">(`DELETE ${path}`),
  };
}

/** Tenants, which own webhooks and events; for administrators. */
export function tenantsOf(caller: Caller) {
  const { list, one, sendTo } = callsOf(caller);
  return {
    list: list<"listTenants">("/v1/tenants"),
    get: one<"getTenant">("GET /v1/tenants/{id}"),
    put: sendTo<"putTenant">("PUT /v1/tenants/{id}"),
  };
}

/** Sessions in which your customers can see and change their webhooks in the portal. */
export function portalSessionsOf(caller: Caller) {
  const { list, one, send } = callsOf(caller);
  return {
    /** The response contains the URL that the customer opens, and the code for a portal embedded in a page. */
    create: send<"createPortalSession">("POST /v1/portal-sessions"),
    list: list<"listPortalSessions">("/v1/portal-sessions"),
    delete: one<"endPortalSession">("DELETE /v1/portal-sessions/{id}"),
    /** Ends all sessions with a reference. */
    revoke: send<"revokePortalSessions">("POST /v1/portal-sessions/revoke"),
  };
}
