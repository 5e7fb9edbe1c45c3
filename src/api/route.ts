import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Static, Schema } from "./schemas/type.ts";
import type { ErrorCode } from "../core/errors.ts";
import type { PortalCapability } from "../core/portal/capabilities.ts";
import type { Principal, RawContent, Scope } from "../services/services.ts";
import type { JsonBounds } from "../core/json/guard.ts";

/**
 * One route as data. The same object registers the handler, validates the request and documents both, so that the
 * server and its OpenAPI document cannot drift apart.
 */
export interface Route {
  readonly method: Method;
  /** With `{name}` for parameters, as in OpenAPI. */
  readonly path: string;
  readonly operationId: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly description?: string;
  readonly access: Access;
  /** What a session of the portal must be able to do to call it; `any` takes every session, absent takes none. */
  readonly capability?: PortalCapability | "any";
  /** Counts against the tests that a session of the portal may send in a minute. */
  readonly isTest?: boolean;
  /** Parameters that do not match name nothing that exists: 404. */
  readonly params?: Schema;
  readonly query?: Schema;
  readonly body?: Schema;
  /** An absent body counts as `{}`. */
  readonly bodyOptional?: boolean;
  /** Takes a body of any media type and drops it, for callers that have their own ideas of a POST. */
  readonly bodyIgnored?: boolean;
  /** This GET changes something, so there is no HEAD beside it, which programs send that only want to look. */
  readonly changesByGet?: boolean;
  /** Its answer does not end by itself, so there is no HEAD beside it either. */
  readonly isStream?: boolean;
  readonly bodyBytesMax?: number;
  readonly bodyBounds?: JsonBounds;
  /**
   * The member of the body whose elements are judged one by one: an element whose text is refused (names that stand twice,
   * `__proto__`, too deep, not UTF-8) becomes the PosthornError, and the others are read.
   */
  readonly bodyElements?: string;
  /** A second form of the route, for bodies that are taken as they are. */
  readonly raw?: RawForm;
  /** Takes `traceparent` and `tracestate`. */
  readonly traced?: boolean;
  readonly answers: Readonly<Record<number, AnswerDescription>>;
  /** Errors beyond those that every route has. */
  readonly errors: readonly ErrorCode[];
  /** The answer holds a secret: it is sealed when kept for an Idempotency-Key. */
  readonly answerIsSecret?: boolean;
  /** How the audit log tells of it; every route that changes something says so (audited-routes.test.ts). */
  readonly audit?: AuditedAction | NotAudited;
  handle(call: Call): Promise<Answer>;
}

export interface AuditedAction {
  /** Such as `webhook.update`. */
  readonly action: string;
  /** What kind of thing is changed. */
  readonly target: string;
  /** The member of path, answer or body that holds its id; `id` when left out. */
  readonly idFrom?: string;
  /** The resource as the API shows it, before the change. */
  readonly before?: (call: Call<never, never>) => Promise<object>;
  /** What the route sets without being told. */
  readonly sets?: (call: Call<never>) => Readonly<Record<string, unknown>>;
  /** What is noted of a resource that the route removes. */
  readonly removes?: readonly string[];
}

/** Why the audit log leaves a changing route out. */
export interface NotAudited {
  readonly none: string;
}

/**
 * Chosen by a query parameter: with it the body is bytes of any media type, JSON included, and what `body` would have
 * said beside them comes in the query.
 */
export interface RawForm {
  readonly parameter: string;
  /** Requires the parameter. */
  readonly query: Schema;
  readonly bodyBytesMax: number;
  readonly description: string;
  handle(call: Call<unknown, unknown, RawContent>): Promise<Answer>;
}

/**
 * Whether `Idempotency-Key` counts. Keys belong to who sent them: callers without an API key would read each other's
 * answers, and fill the store with their own.
 */
export function takesIdempotencyKey({ method, access }: Pick<Route, "method" | "access">): boolean {
  return method === "POST" && access !== "public";
}

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/**
 * Who may call: `public` needs no key, `any` takes every key, `session` is for sessions of the portal alone, the others are
 * roles; see authentication.ts.
 */
export type Access = "public" | "any" | "read" | "publish" | "manage" | "admin" | "session";

export const tags = {
  Events: "Publish events and look at what became of them.",
  Webhooks: "Subscriptions: where events go, and how.",
  Deliveries: "One event for one webhook, with every attempt.",
  Search: "Anything, by what is at hand.",
  Live: "What happens, while it happens.",
  Statistics: "What was delivered and published, over time.",
  "Dead letters": "Deliveries that were given up, and how to bring them back.",
  Problems: "What is wrong with webhooks, and what to do about it.",
  Operations: "Actions on many deliveries, and how far they are.",
  "Event types": "The catalogue of event types and the schemas of their data.",
  Tenants: "Whose webhooks and events these are.",
  "API keys": "Who may call this API.",
  Alerts: "What needs somebody's attention, and by which rules.",
  Notifications: "Where people are told of webhooks, by mail and chat.",
  "Audit log": "Who changed what, and when.",
  Profiles: "The published delivery semantics.",
  "Source types": "How messages of providers are verified, and how each is set up.",
  Gateway: "What others send to you: verified, recorded and led to webhooks.",
  Portal: "Sessions of your customers, and how the pages at `/portal` look.",
  Dashboard: "Logging in to the dashboard at `/ui`.",
  System: "Health, metrics and documentation without a key; how a process is set up for administrators.",
} as const;
export type Tag = keyof typeof tags;

export interface AnswerDescription {
  readonly description: string;
  /** Absent for an answer without a body. */
  readonly schema?: Schema;
  readonly contentType?: string;
}

export interface Call<Params = unknown, Query = unknown, Body = unknown> {
  /** For public routes an empty tenant, which owns nothing. */
  readonly scope: Scope;
  readonly principal: Principal | null;
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** What `body` was read from; nothing where no body came. */
  readonly bodyBytes: Uint8Array;
  /** For the few fields that mean something to a route; never all of them. */
  readonly headers: IncomingHttpHeaders;
  /** Over which the request came. */
  readonly connection: Pick<Socket, "remoteAddress">;
}

export interface Answer {
  readonly status: number;
  /** Serialised as JSON unless `text` is given; null sends no body. */
  readonly body?: unknown;
  /** A body that is serialised already. */
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Writes the body itself, for as long as it likes. It is called when the head is written, and ends the response. */
  readonly open?: (response: ServerResponse) => void;
}

interface TypedRoute<P extends Schema, Q extends Schema, B extends Schema>
  extends Omit<Route, "params" | "query" | "body" | "handle"> {
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  handle(call: Call<Static<P>, Static<Q>, Static<B>>): Promise<Answer>;
}

interface TypedRawForm<Q extends Schema> extends Omit<RawForm, "query" | "handle"> {
  readonly query: Q;
  handle(call: Call<unknown, Static<Q>, RawContent>): Promise<Answer>;
}

/** As {@link defineRoute}, for the second form of a route. */
export function defineRawForm<Q extends Schema>(form: TypedRawForm<Q>): RawForm {
  return form;
}

/** Ties the handler's types to the schemas. The dispatcher validates before it calls, which makes the cast true. */
export function defineRoute<P extends Schema, Q extends Schema, B extends Schema>(
  route: TypedRoute<P, Q, B>,
): Route {
  return route;
}
