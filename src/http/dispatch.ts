/**
 * Turns a route into a Fastify handler: parse, validate, run once, respond. Authentication runs earlier, in server.ts.
 */

import type { IncomingMessage } from "node:http";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import type { FastifyReply, FastifyRequest } from "fastify";
import { type FieldError, InvalidRequestError, NotFoundError, PosthornError } from "../domain/errors.ts";
import { defaultBounds, parseElements, parseJson } from "../domain/json/guard.ts";
import { withExactDocuments } from "../domain/json/lossless.ts";
import { isUuid } from "../domain/uuid.ts";
import type { Principal, RawContent, Scope } from "../features/services.ts";
import type { Logger } from "../ports/telemetry.ts";
import type { Schema } from "../resources/schema.ts";
import type { Auditing } from "./audit.ts";
import type { Session } from "./dashboard-sessions.ts";
import { fingerprintOf, type IdempotencyDependencies, readIdempotencyKey, runOnce } from "./idempotency.ts";
import { isDateTime, parseInstant } from "./mapping.ts";
import {
  describeFieldErrors,
  knownError,
  type Rendered,
  renderProblem,
  unexpectedError,
} from "./problems.ts";
import { type Answer, type Call, type RawForm, type Route, takesIdempotencyKey } from "./route.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Set by the authentication hook; null on public routes. */
    principal: Principal | null;
    /** Set for calls from the dashboard. */
    dashboardSession: Session | null;
  }
}

export type RouteHandler = (request: FastifyRequest, reply: FastifyReply) => void;

const noTenant: Scope = { tenantId: "" };
const emptyBody = Buffer.alloc(0);
const jsonHeaders = { "content-type": "application/json", "x-content-type-options": "nosniff" };

/** One way to call a route. A route with a raw form has two. */
interface Form {
  readonly route: Route;
  readonly readCall: (request: FastifyRequest) => Call;
  /**
   * A header that determines the meaning of the body, so a repeat must send it too; null if the body is self-contained.
   */
  readonly bodyHeader: "content-type" | null;
  handle(call: Call): Promise<Answer>;
}

export interface HandlerDependencies extends IdempotencyDependencies {
  readonly auditing: Auditing;
  readonly basePath?: string;
}

export function createHandler(route: Route, dependencies: HandlerDependencies): RouteHandler {
  const plain = createFormHandler(
    {
      route,
      readCall: createCallReader(route, route.query, createBodyReader(route)),
      bodyHeader: null,
      handle: (call) => route.handle(call),
    },
    dependencies,
  );
  const { raw } = route;
  if (raw === undefined) return plain;
  const handleRaw = createFormHandler(
    {
      route,
      readCall: createCallReader(route, raw.query, createRawReader(raw)),
      bodyHeader: "content-type",
      handle: (call) => raw.handle(call as Call<unknown, unknown, RawContent>),
    },
    dependencies,
  );
  return (request, reply) => (isRaw(request, raw) ? handleRaw : plain)(request, reply);
}

/** Whether a request uses the raw form. */
export function isRaw(request: FastifyRequest, { parameter }: Pick<RawForm, "parameter">): boolean {
  return (request.query as Readonly<Record<string, unknown>>)[parameter] !== undefined;
}

/** The returned handler never rejects, because errors are rendered as problem documents. */
function createFormHandler(form: Form, dependencies: HandlerDependencies): RouteHandler {
  const isOnce = takesIdempotencyKey(form.route);
  const { log, basePath = "" } = dependencies;

  return (request, reply) => {
    let running: Promise<Rendered>;
    try {
      const header = isOnce ? request.headers["idempotency-key"] : undefined;
      const key = header === undefined ? null : readIdempotencyKey(header);
      const call = form.readCall(request);
      const asked = { form, call, request, dependencies };
      running = key === null ? run(asked) : once(key, asked);
    } catch (error) {
      send(reply, renderError(error, log, request.id, basePath));
      return;
    }
    running.then(
      (rendered) => send(reply, rendered),
      (error: unknown) => send(reply, renderError(error, log, request.id, basePath)),
    );
  };
}

interface Asked {
  readonly form: Form;
  readonly call: Call;
  readonly request: FastifyRequest;
  readonly dependencies: HandlerDependencies;
}

function once(key: string, asked: Asked): Promise<Rendered> {
  const { form, call, request, dependencies } = asked;
  const { route, bodyHeader } = form;
  const { log, basePath = "" } = dependencies;
  const body = Buffer.isBuffer(request.body) ? request.body : emptyBody;
  const mediaType = bodyHeader === null ? null : (request.headers[bodyHeader] ?? null);
  const idempotent = {
    scope: `${call.principal?.keyId ?? ""}:${route.method} ${route.path}`,
    key,
    fingerprint: fingerprintOf(route.method, request.raw.url ?? "", mediaType, body),
    answerIsSecret: route.answerIsSecret === true,
  };
  const produce = (): Promise<Rendered> =>
    run(asked).catch((error: unknown) => renderError(error, log, request.id, basePath));
  return runOnce(idempotent, produce, dependencies);
}

async function run({ form, call, request, dependencies }: Asked): Promise<Rendered> {
  const { audit } = form.route;
  if (audit === undefined || "none" in audit || isDryRun(call.body))
    return renderAnswer(await form.handle(call));
  const { auditing } = dependencies;
  return renderAnswer(await auditing.run(form.route, audit, call, request, (own) => form.handle(own)));
}

function isDryRun(body: unknown): boolean {
  return (body as { readonly dry_run?: unknown } | null | undefined)?.dry_run === true;
}

function renderAnswer(answer: Answer): Rendered {
  if (answer.open !== undefined)
    return { status: answer.status, headers: answer.headers ?? {}, text: "", open: answer.open };
  const text = answer.text ?? (answer.body === undefined ? "" : JSON.stringify(answer.body));
  if (answer.headers !== undefined) {
    const headers = text === "" ? answer.headers : { ...jsonHeaders, ...answer.headers };
    return { status: answer.status, headers, text };
  }
  return { status: answer.status, headers: text === "" ? {} : jsonHeaders, text };
}

export function renderError(error: unknown, log: Logger, requestId: string, basePath: string): Rendered {
  const known = knownError(error);
  if (known !== null) return renderProblem(known, basePath);
  const fields =
    error instanceof Error ? { error: error.message, stack: error.stack } : { error: String(error) };
  log.error({ requestId, ...fields }, "request failed unexpectedly");
  return renderProblem(unexpectedError(requestId), basePath);
}

/** Bypasses Fastify's reply, which would add a charset that JSON does not have and costs a microsecond. */
export function send(reply: FastifyReply, rendered: Rendered): void {
  reply.hijack();
  const { raw } = reply;
  // Fastify would set this header; without it, a kept-alive connection would delay a stopping server by its grace
  // period.
  if (!reply.server.server.listening) raw.setHeader("connection", "close");
  if (rendered.open !== undefined) {
    raw.writeHead(rendered.status, rendered.headers);
    rendered.open(raw);
    return;
  }
  // No length is sent without a body, because RFC 9110 forbids `content-length: 0` on 204.
  if (rendered.text === "") raw.writeHead(rendered.status, rendered.headers);
  else
    raw.writeHead(rendered.status, {
      ...rendered.headers,
      "content-length": Buffer.byteLength(rendered.text),
    });
  raw.end(rendered.text);
}

/** Prepares everything once per route, so that a request only runs compiled checks. */
function createCallReader(
  route: Route,
  query: Route["query"],
  readBody: (request: FastifyRequest) => unknown,
): (request: FastifyRequest) => Call {
  const checkParams = route.params === undefined ? null : compileValidator(route.params, "path");
  const checkQuery = compileValidator(query ?? { type: "object", additionalProperties: false }, "query");
  // If PUT creates the resource, an invalid name is a validation error rather than a missing resource.
  const creates = route.method === "PUT" && 201 in route.answers;

  return (request) => {
    const paramErrors = checkParams === null ? null : checkParams(request.params);
    if (paramErrors !== null) {
      if (!creates) throw new NotFoundError("this resource");
      throw new InvalidRequestError("The path of the URL is not valid.", paramErrors);
    }
    const { query: given } = request;
    const queryErrors = checkQuery(given);
    if (queryErrors !== null)
      throw new InvalidRequestError("The query of the URL is not valid.", queryErrors);
    const { principal } = request;
    if (principal !== null) refuseForeignTenant(principal, given);
    return {
      scope: principal ?? noTenant,
      principal,
      params: request.params,
      query: given,
      body: readBody(request),
      bodyBytes: Buffer.isBuffer(request.body) ? request.body : emptyBody,
      headers: request.headers,
      connection: request.socket,
    };
  };
}

/**
 * Rejects the id of another tenant. The error reveals nothing, because it does not depend on whether that tenant
 * exists.
 */
function refuseForeignTenant({ tenantId }: Principal, query: unknown): void {
  const asked = (query as { readonly tenant_id?: unknown }).tenant_id;
  if (tenantId === null || asked === undefined || asked === tenantId) return;
  const message = "is not the tenant of this API key";
  throw new InvalidRequestError("The query of the URL is not valid.", [{ field: "tenant_id", message }]);
}

function createBodyReader(route: Route): (request: FastifyRequest) => unknown {
  if (route.body === undefined) return () => undefined;
  const check = compileValidator(route.body, "body");
  const bounds = route.bodyBounds ?? defaultBounds;
  return (request) => {
    const raw = request.body as RequestBody | undefined;
    if (raw === bodyTooLarge) throw tooLarge(route.bodyBytesMax ?? bodyBytesMaxDefault);
    if (raw === undefined || raw.length === 0) {
      if (route.bodyOptional === true) return {};
      throw new InvalidRequestError("A JSON body is required.", [{ field: "", message: "is required" }]);
    }
    const { bodyElements } = route;
    const body =
      bodyElements === undefined ? parseJson(raw, bounds) : parseElements(raw, bounds, bodyElements);
    const errors = check(body);
    if (errors !== null) throw new InvalidRequestError("The body is not valid.", errors);
    // Events are read from the raw text, so exact numbers need no special handling here.
    return bounds.hugeNumbers === "kept" ? body : withExactDocuments(raw.toString("utf8"), body);
  };
}

/**
 * Reads the bytes and their media type. The service checks the media type, whether the body is empty, and the size of a
 * JSON body. The server reads a JSON body up to the limit of the plain form (CEW-2.1-4).
 */
function createRawReader({ bodyBytesMax }: RawForm): (request: FastifyRequest) => RawContent {
  return (request) => {
    const contentType = request.headers["content-type"];
    if (contentType === undefined) throw new PosthornError("unsupported_media_type", missingContentType);
    const body = (request.body as RequestBody | undefined) ?? emptyBody;
    if (body === bodyTooLarge) throw tooLarge(bodyBytesMax);
    return { contentType, body };
  };
}

/** For bodies whose media type is chosen by the sender. */
export const missingContentType = "Set the media type of the body in Content-Type.";

function tooLarge(bytesMax: number): PosthornError {
  return new PosthornError("payload_too_large", `The body has more than ${bytesMax} bytes.`);
}

/**
 * Memory for request bodies in flight, shared by all callers. Without a limit, a caller could fill the process by
 * sending many bodies and finishing none. A caller may reserve more only while its share is smaller than the remaining
 * memory. One caller can therefore hold no more than half, and another caller can always get memory.
 */
export class BodyMemory {
  readonly #bytesMax: number;
  readonly #held = new Map<string, number>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Reserves `bytes` more for a caller. Returns false and reserves nothing if that would exceed the limit. */
  take(caller: string, bytes: number): boolean {
    const held = (this.#held.get(caller) ?? 0) + bytes;
    const free = this.#bytesMax - this.#bytes - bytes;
    if (free < 0 || held > free) return false;
    this.#held.set(caller, held);
    this.#bytes += bytes;
    return true;
  }

  giveBack(caller: string, bytes: number): void {
    const held = (this.#held.get(caller) ?? 0) - bytes;
    if (held > 0) this.#held.set(caller, held);
    else this.#held.delete(caller);
    this.#bytes -= bytes;
  }
}

// Reads a body into one buffer with a size limit. Fastify's own reader resets the connection at the limit, so a client
// that is still sending often does not receive the 413. Here, the rest is read and discarded, up to a limit.

/** Result for a body that exceeds its limit. */
export const bodyTooLarge: unique symbol = Symbol("body too large");
export type RequestBody = Buffer | typeof bodyTooLarge;

const droppedBytesMax = 32 * 1024 * 1024;

export interface BodyBounds {
  /** The limit of this body. */
  readonly bytesMax: number;
  /** The memory shared by all bodies in flight. */
  readonly memory: BodyMemory;
  /** The caller to whom the memory is charged. */
  readonly caller: string;
}

/** Smaller bodies (nearly all of them) are not counted, because the limit on connections bounds them too. */
const countedFrom = 16 * 1024;

/**
 * Calls back exactly once. If the limit is exceeded, calls back immediately with `bodyTooLarge`, so that the response
 * can be sent.
 */
export function readBody(
  payload: IncomingMessage,
  { bytesMax, memory, caller }: BodyBounds,
  done: (error: Error | null, body?: RequestBody) => void,
): void {
  if (Number(payload.headers["content-length"]) > bytesMax) {
    dropBody(payload);
    done(null, bodyTooLarge);
    return;
  }
  let kept: Buffer = emptyBody;
  let bytes = 0;
  let counted = 0;
  let isDone = false;
  const finish = (error: Error | null, body?: RequestBody): void => {
    isDone = true;
    payload.off("data", onData).off("end", onEnd);
    kept = emptyBody;
    if (counted > 0) memory.giveBack(caller, counted);
    done(error, body);
  };
  const onData = (chunk: Buffer): void => {
    bytes += chunk.length;
    const room = roomFor(kept, bytes);
    const isCounted = room <= countedFrom || room <= counted || memory.take(caller, room - counted);
    if (isCounted && bytes <= bytesMax) {
      if (room > countedFrom) counted = Math.max(counted, room);
      kept = withChunk(kept, chunk, bytes);
      return;
    }
    dropBody(payload);
    if (bytes > bytesMax) finish(null, bodyTooLarge);
    else finish(new PosthornError("unavailable", crowded, { retryAfterSeconds: 1 }));
  };
  const onEnd = (): void => finish(null, kept.subarray(0, bytes));
  payload.on("data", onData);
  payload.on("end", onEnd);
  payload.on("error", () => {
    // The client closed the connection, which is not a server error.
    if (!isDone) finish(new InvalidRequestError("The body ended too early.", []));
  });
}

const crowded = "Too many large bodies are in flight. Retry in a moment.";

/**
 * Appends a chunk. `bytes` is the new length; the buffer may have spare capacity. Chunks are not collected in a list,
 * because the caller controls their size: one object per byte would take a hundred times the memory.
 */
function withChunk(kept: Buffer, chunk: Buffer, bytes: number): Buffer {
  const end = bytes - chunk.length;
  if (end === 0) return chunk;
  // The first chunk may belong to a shared buffer and has no spare capacity, so it is never written to.
  const isRoomy = kept.length >= bytes;
  const roomy = isRoomy ? kept : Buffer.allocUnsafeSlow(roomFor(kept, bytes));
  if (!isRoomy) kept.copy(roomy, 0, 0, end);
  chunk.copy(roomy, end);
  return roomy;
}

/** Returns the buffer size for this many bytes. */
function roomFor(kept: Buffer, bytes: number): number {
  if (kept.length === 0) return bytes;
  return kept.length >= bytes ? kept.length : 2 * bytes;
}

/** Drains and discards an unused body, up to a limit. */
export function dropBody(payload: IncomingMessage): void {
  let bytes = 0;
  payload.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > droppedBytesMax) payload.destroy();
  });
  payload.on("error", () => {});
  payload.resume();
}

/** Enough for every resource except events and event types. */
export const bodyBytesMaxDefault = 131_072;

/**
 * Validates requests against their schemas. The quick check stops at the first error, so only invalid requests pay for
 * a complete one.
 */

/** Null if valid. Converts query and path values from text in place, as the schema requires. */
export type Validator = (value: unknown) => readonly FieldError[] | null;

export type ValueSource = "body" | "query" | "path";

export function compileValidator(schema: Schema, source: ValueSource): Validator {
  // Compiled on first use, because compiling all schemas at startup would take longer than the rest of the startup.
  let quick: ValidateFunction | undefined;
  let thorough: ValidateFunction | undefined;
  return (value) => {
    quick ??= createAjv(source, false).compile(schema);
    if (quick(value)) return null;
    thorough ??= createAjv(source, true).compile(schema);
    thorough(value);
    // Coercion during the first check may have made the value valid; in that case, report the first error.
    return describeFieldErrors(thorough.errors ?? quick.errors ?? []);
  };
}

function createAjv(source: ValueSource, allErrors: boolean): Ajv2020 {
  const ajv = new Ajv2020({
    logger: false,
    allErrors,
    verbose: true,
    strict: false,
    // The schemas are our own, and tests check them. Checking them here would compile the meta-schema for each, which
    // takes ten times as long as everything else.
    meta: false,
    validateSchema: false,
    coerceTypes: source === "body" ? false : "array",
    ownProperties: true,
    formats: {
      "date-time": isDateTime,
      uuid: isUuid,
      instant: (text: string) => parseInstant(text) !== null,
    },
  });
  ajv.addKeyword("x-rule");
  return ajv;
}
