import type {
  BatchOperation,
  DeadLettersApi,
  DeliveriesApi,
  Delivery,
  EventsApi,
  EventTypesApi,
  OperationsApi,
  Page,
  PortalSessionsApi,
  RenderedRequest,
  RetriedDelivery,
  RetryInput,
  TenantsApi,
  WebhooksApi,
} from "./api-types.ts";
import type { Caller, CallOptions } from "./caller.ts";

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

/**
 * How a method calls its route. `LIST` is a GET whose pages the client requests as they are needed, `ACT` is a POST
 * without content, and all others are HTTP methods. POST, PUT and PATCH have a body.
 */
export type ApiRoute = `${"LIST" | "GET" | "ACT" | "POST" | "PUT" | "PATCH" | "DELETE"} /v1/${string}`;

/** The methods of each resource; `npm run client-types` generates their types from the OpenAPI document. */
export const apiRoutes = {
  events: {
    list: "LIST /v1/events",
    get: "GET /v1/events/{id}",
    deliveries: "LIST /v1/events/{id}/deliveries",
    matches: "LIST /v1/events/{id}/matches",
    replay: "POST /v1/events/{id}/replay",
  },
  deliveries: {
    list: "LIST /v1/deliveries",
    listOfWebhook: "LIST /v1/webhooks/{id}/deliveries",
    get: "GET /v1/deliveries/{id}",
    retryBatch: "POST /v1/deliveries/retry-batch",
    cancelBatch: "POST /v1/deliveries/cancel-batch",
  },
  deadLetters: {
    list: "LIST /v1/dlq",
    retryBatch: "POST /v1/dlq/retry-batch",
    discardBatch: "POST /v1/dlq/discard-batch",
  },
  operations: {
    list: "LIST /v1/operations",
    get: "GET /v1/operations/{id}",
    update: "PATCH /v1/operations/{id}",
    cancel: "DELETE /v1/operations/{id}",
  },
  webhooks: {
    list: "LIST /v1/webhooks",
    get: "GET /v1/webhooks/{id}",
    create: "POST /v1/webhooks",
    update: "PATCH /v1/webhooks/{id}",
    delete: "DELETE /v1/webhooks/{id}",
    test: "POST /v1/webhooks/{id}/test",
    enable: "ACT /v1/webhooks/{id}/enable",
    disable: "ACT /v1/webhooks/{id}/disable",
    pause: "POST /v1/webhooks/{id}/pause",
    resume: "ACT /v1/webhooks/{id}/resume",
    health: "GET /v1/webhooks/{id}/health",
    backlog: "GET /v1/webhooks/{id}/backlog",
    changeCircuit: "PATCH /v1/webhooks/{id}/circuit-breaker",
    secret: "GET /v1/webhooks/{id}/secret",
    publicKey: "GET /v1/webhooks/{id}/public-key",
    rotateSecret: "POST /v1/webhooks/{id}/secret/rotate",
    verify: "ACT /v1/webhooks/{id}/verify",
    recover: "POST /v1/webhooks/{id}/recover",
  },
  eventTypes: {
    list: "LIST /v1/event-types",
    get: "GET /v1/event-types/{name}",
    put: "PUT /v1/event-types/{name}",
    delete: "DELETE /v1/event-types/{name}",
  },
  tenants: {
    list: "LIST /v1/tenants",
    get: "GET /v1/tenants/{id}",
    put: "PUT /v1/tenants/{id}",
  },
  portalSessions: {
    create: "POST /v1/portal-sessions",
    list: "LIST /v1/portal-sessions",
    delete: "DELETE /v1/portal-sessions/{id}",
    revoke: "POST /v1/portal-sessions/revoke",
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, ApiRoute>>>>;

/** Splits a route: `verb` is the first word of the route, `method` the HTTP method, `template` the path. */
export function partsOf(route: ApiRoute) {
  const [verb = "", template = ""] = route.split(" ");
  const method = { LIST: "GET", ACT: "POST" }[verb] ?? verb;
  return { verb, method, template };
}

/** Fills in `/v1/events/{id}`. The id may be any string that does not lead to a different path. */
function pathTo(template: string, ids: readonly (string | number)[]): string {
  let next = 0;
  return template.replaceAll(/\{\w+\}/g, () => {
    const id = String(ids[next++] ?? "");
    if (["", ".", ".."].includes(id)) throw new TypeError(`"${id}" is not a valid id for ${template}`);
    return encodeURIComponent(id);
  });
}

type Call = (...parameters: readonly (string | object | undefined)[]) => unknown;

/**
 * Creates the method for a route. Its parameters are the id if the path has one, then the query of a list or the body,
 * then the options.
 */
function callOf(caller: Caller, route: ApiRoute): Call {
  const { verb, method, template } = partsOf(route);
  const ids = template.includes("{") ? 1 : 0;
  return (...parameters) => {
    const path = pathTo(template, parameters.slice(0, ids) as string[]);
    const [content, options] = parameters.slice(ids) as (object | undefined)[];
    switch (verb) {
      case "LIST":
        return new Pages((cursor) =>
          caller.call<Page<unknown>>("GET", {
            ...options,
            path,
            query: cursor === undefined ? content : { ...content, cursor },
          }),
        );
      case "POST":
      case "PUT":
      case "PATCH":
        return caller.call(method, { ...options, path, body: content ?? {} });
      default:
        return caller.call(method, { ...content, path });
    }
  };
}

function callsOf<Api>(caller: Caller, routes: Readonly<Record<string, ApiRoute>>): Api {
  return Object.fromEntries(
    Object.entries(routes).map(([name, route]) => [name, callOf(caller, route)]),
  ) as Api;
}

/** Deliveries of events: one for each webhook that receives the event. */
export interface Deliveries extends DeliveriesApi {
  /** Retries the delivery immediately. If it already succeeded, a copy is delivered instead. */
  retry(
    delivery: Pick<Delivery, "webhook_id" | "id">,
    body?: RetryInput,
    options?: CallOptions,
  ): Promise<RetriedDelivery>;
  /** The request of an attempt, rebuilt from stored data. */
  request(
    attempt: { readonly id: string; readonly attempt: number },
    options?: CallOptions,
  ): Promise<RenderedRequest>;
}

function deliveriesOf(caller: Caller): Deliveries {
  return {
    ...callsOf<DeliveriesApi>(caller, apiRoutes.deliveries),
    retry: ({ webhook_id: webhookId, id }, body, options) => {
      const path = pathTo("/v1/webhooks/{id}/deliveries/{delivery_id}/retry", [webhookId, id]);
      return caller.call("POST", { ...options, path, body: body ?? {} });
    },
    request: ({ id, attempt }, options) => {
      const path = pathTo("/v1/deliveries/{id}/attempts/{n}/request", [id, attempt]);
      return caller.call("GET", { ...options, path });
    },
  };
}

const pollMsDefault = 1_000;
const ended: ReadonlySet<string> = new Set(["completed", "cancelled", "failed"]);

/** Bulk operations, which continue after the call that started them. */
export interface Operations extends OperationsApi {
  /** Resolves with the result when the operation has ended. Polls every `pollMs`, 1,000 by default. */
  wait(id: string, options?: CallOptions & { readonly pollMs?: number }): Promise<BatchOperation>;
}

function operationsOf(caller: Caller): Operations {
  const calls = callsOf<OperationsApi>(caller, apiRoutes.operations);
  return {
    ...calls,
    wait: async (id, { pollMs = pollMsDefault, ...options } = {}) => {
      for (;;) {
        const operation = await calls.get(id, options);
        if (ended.has(operation.status)) return operation;
        await caller.time.sleep(pollMs, options.signal);
      }
    },
  };
}

/** The resources of the API. */
export interface Resources {
  /** Published events. */
  readonly events: EventsApi;
  /** Subscriptions: where events are sent, and how. */
  readonly webhooks: WebhooksApi;
  readonly deliveries: Deliveries;
  /** Deliveries that will not be retried automatically. */
  readonly deadLetters: DeadLettersApi;
  readonly operations: Operations;
  /** The catalogue of event types and the schemas of their data. */
  readonly eventTypes: EventTypesApi;
  /** The owners of webhooks and events; for administrators. */
  readonly tenants: TenantsApi;
  /** Sessions in which your customers can view and change their webhooks in the portal. */
  readonly portalSessions: PortalSessionsApi;
}

export function resourcesOf(caller: Caller): Resources {
  return {
    events: callsOf(caller, apiRoutes.events),
    webhooks: callsOf(caller, apiRoutes.webhooks),
    deliveries: deliveriesOf(caller),
    deadLetters: callsOf(caller, apiRoutes.deadLetters),
    operations: operationsOf(caller),
    eventTypes: callsOf(caller, apiRoutes.eventTypes),
    tenants: callsOf(caller, apiRoutes.tenants),
    portalSessions: callsOf(caller, apiRoutes.portalSessions),
  };
}
