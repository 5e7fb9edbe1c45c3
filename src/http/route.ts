import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Tag } from "../resources/resource.ts";
import type { Static, Schema } from "../resources/schema.ts";
import type { ErrorCode } from "../domain/errors.ts";
import type { PortalCapability } from "../domain/scope.ts";
import type { Principal, RawContent, Scope } from "../features/services.ts";
import type { JsonBounds } from "../domain/json/guard.ts";

/**
 * One route as data. The same object registers the handler, validates the request and documents both, so that the
 * server and its OpenAPI document cannot diverge.
 */
export interface Route {
  readonly method: Method;
  /** Contains `{name}` for parameters, as in OpenAPI. */
  readonly path: string;
  readonly operationId: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly description?: string;
  readonly access: Access;
  /**
   * The capability that a portal session needs; for portal sessions it replaces `access`. `any` allows every session.
   * If absent, no portal session may call the route.
   */
  readonly capability?: PortalCapability | "any";
  /** Counts against the portal session's limit on tests per minute. */
  readonly isTest?: boolean;
  /** Parameters that do not match the schema cannot name an existing resource, so the response is 404. */
  readonly params?: Schema;
  readonly query?: Schema;
  readonly body?: Schema;
  /** An absent body is treated as `{}`. */
  readonly bodyOptional?: boolean;
  /** Accepts and discards a body of any media type, for clients that send an arbitrary POST body. */
  readonly bodyIgnored?: boolean;
  /** This GET changes something, so it has no HEAD route: link checkers and previews use HEAD. */
  readonly changesByGet?: boolean;
  /** The response never ends, so the route has no HEAD route either. */
  readonly isStream?: boolean;
  readonly bodyBytesMax?: number;
  readonly bodyBounds?: JsonBounds;
  /**
   * The body member whose elements are validated separately. An element with invalid text (duplicate names,
   * `__proto__`, too deep, not UTF-8) becomes a PosthornError, and the others are read.
   */
  readonly bodyElements?: string;
  /** A second form of the route, for raw bodies. */
  readonly raw?: RawForm;
  /** Accepts `traceparent` and `tracestate`. */
  readonly traced?: boolean;
  readonly answers: Readonly<Record<number, AnswerDescription>>;
  /** Errors in addition to those of every route. */
  readonly errors: readonly ErrorCode[];
  /** The response contains a secret and is encrypted when stored for an Idempotency-Key. */
  readonly answerIsSecret?: boolean;
  /** How the audit log records this route. Required on every mutating route (audited-routes.test.ts). */
  readonly audit?: AuditedAction | NotAudited;
  handle(call: Call): Promise<Answer>;
}

export interface AuditedAction {
  /** Such as `webhook.update`. */
  readonly action: string;
  /** Type of the changed resource. */
  readonly target: string;
  /** The property of path, response or body that contains the resource id; `id` if omitted. */
  readonly idFrom?: string;
  /** Returns the resource before the change, as the API shows it. */
  readonly before?: (call: Call<never, never>) => Promise<object>;
  /** Fields that the route sets implicitly. */
  readonly sets?: (call: Call<never>) => Readonly<Record<string, unknown>>;
  /** Fields whose removal by the route is recorded. */
  readonly removes?: readonly string[];
}

/** Why the audit log omits this mutating route. */
export interface NotAudited {
  readonly none: string;
}

/**
 * Selected by a query parameter: the body then consists of bytes of any media type, including JSON, and the other
 * fields of `body` are given in the query.
 */
export interface RawForm {
  readonly parameter: string;
  /** Schema of the query, in which the parameter is required. */
  readonly query: Schema;
  readonly bodyBytesMax: number;
  readonly description: string;
  handle(call: Call<unknown, unknown, RawContent>): Promise<Answer>;
}

/**
 * Whether the route supports `Idempotency-Key`. Keys belong to a caller: without an API key, callers could read each
 * other's responses, and could fill the store with their own.
 */
export function takesIdempotencyKey({ method, access }: Pick<Route, "method" | "access">): boolean {
  return method === "POST" && access !== "public";
}

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/**
 * Who may call: `public` needs no key, `any` accepts every key, `session` accepts only portal sessions, the others are
 * roles; see authentication.ts.
 */
export type Access = "public" | "any" | "read" | "publish" | "manage" | "admin" | "session";

export interface AnswerDescription {
  readonly description: string;
  /** Absent for a response without a body. */
  readonly schema?: Schema;
  readonly contentType?: string;
}

export interface Call<Params = unknown, Query = unknown, Body = unknown> {
  /** For public routes, an empty tenant, which owns no resources. */
  readonly scope: Scope;
  readonly principal: Principal | null;
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** The bytes from which `body` was parsed; empty without a body. */
  readonly bodyBytes: Uint8Array;
  /** For routes that need particular headers; never stored or shown as a whole. */
  readonly headers: IncomingHttpHeaders;
  /** The connection of the request. */
  readonly connection: Pick<Socket, "remoteAddress">;
}

export interface Answer {
  readonly status: number;
  /** Serialised as JSON unless `text` is given; null sends no body. */
  readonly body?: unknown;
  /** A serialised body. */
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Writes the body itself, without a time limit. It is called after the head is written and must end the response. */
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

/** Like {@link defineRoute}, but for the second form of a route. */
export function defineRawForm<Q extends Schema>(form: TypedRawForm<Q>): RawForm {
  return form;
}

/** Derives the types of the handler from its schemas. The dispatcher validates first, which makes the cast safe. */
export function defineRoute<P extends Schema, Q extends Schema, B extends Schema>(
  route: TypedRoute<P, Q, B>,
): Route {
  return route;
}
