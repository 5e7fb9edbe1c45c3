import type { ServerResponse } from "node:http";
import type { ErrorObject } from "ajv/dist/2020.js";
import { closestName } from "../domain/closest-name.ts";
import {
  DuplicateEventError,
  type ErrorCode,
  errorTable,
  type FieldError,
  InvalidRequestError,
  NotFoundError,
  PosthornError,
} from "../domain/errors.ts";
import { idempotencyProblems } from "../domain/http/idempotency-key.ts";
import { storeTroubles, StoreUnavailableError } from "../ports/store.ts";
import { missing, repeated, sentenceOf } from "../resources/field.ts";
import { sentenceIn } from "../resources/schema.ts";
import { UnauthenticatedError } from "./authentication.ts";

/** Translates ajv errors into messages for API callers. Values are never included, because they may be secrets. */

const fieldErrorsMax = 50;
const fieldLengthMax = 200;

/** Contains at most {@link fieldErrorsMax} errors, one per field and message. */
export function describeFieldErrors(errors: readonly ErrorObject[]): readonly FieldError[] {
  const described = new Map<string, FieldError>();
  for (const error of errors) {
    if (described.size === fieldErrorsMax) break;
    const fieldError = describe(error);
    if (fieldError !== null) described.set(`${fieldError.field}\n${fieldError.message}`, fieldError);
  }
  return [...described.values()];
}

function describe(error: ErrorObject): FieldError | null {
  // Errors of the individual branches would be confusing; the union itself reports one error.
  if (/\/(anyOf|oneOf)\/\d+\//.test(error.schemaPath)) return null;
  const path = fieldPath(error.instancePath);
  return { field: clip(placeOf(error, path)), message: boundOf(error) ?? messageOf(error) };
}

/**
 * Returns the path of the invalid value. Some keywords report the object or list although one of its members is
 * invalid.
 */
function placeOf({ keyword, params }: ErrorObject, path: string): string {
  const { missingProperty, additionalProperty, propertyName, i, j } = params as Record<string, unknown>;
  // Which of the two indexes comes first depends on the type of the items.
  if (keyword === "uniqueItems") return `${path}[${Math.max(Number(i), Number(j))}]`;
  const name = missingProperty ?? additionalProperty ?? propertyName;
  return typeof name === "string" ? join(path, name) : path;
}

type Describer = (params: Record<string, unknown>, error: ErrorObject) => string;

const describers: Readonly<Record<string, Describer>> = {
  required: () => missing,
  additionalProperties: (params, error) => describeUnknown(String(params["additionalProperty"]), error),
  type: (params) => `must be ${describeTypes(params["type"])}`,
  enum: (params) => `must be one of ${describeChoices(params["allowedValues"])}`,
  const: (params) => `must be ${JSON.stringify(params["allowedValue"])}`,
  minLength: (params) => `must have at least ${count(params["limit"], "character")}`,
  maxLength: (params) => `must have at most ${count(params["limit"], "character")}`,
  maxItems: (params) => `must have at most ${count(params["limit"], "item")}`,
  minProperties: (params) => `must have at least ${count(params["limit"], "member")}`,
  maxProperties: (params) => `must have at most ${count(params["limit"], "member")}`,
  uniqueItems: () => repeated,
  format: (params) =>
    params["format"] === "uuid"
      ? sentenceOf({ is: "id" })
      : "must be an RFC 3339 time such as 2026-01-31T09:30:00.000Z",
  pattern: (_, error) => `must be ${ruleOf(error)}`,
  propertyNames: () => "is not an allowed name",
};

function messageOf(error: ErrorObject): string {
  const describer = describers[error.keyword];
  return describer === undefined ? "is not valid" : describer(error.params as Record<string, unknown>, error);
}

/** Keywords whose errors use the field's own rule text, as the library and the CLI do. */
const boundKeywords: ReadonlySet<string> = new Set([
  "type",
  "enum",
  "minimum",
  "maximum",
  "minLength",
  "maxLength",
  "pattern",
  "format",
  "minItems",
  "maxItems",
]);

function boundOf({ keyword, parentSchema }: ErrorObject): string | null {
  return parentSchema === undefined || !boundKeywords.has(keyword) ? null : sentenceIn(parentSchema);
}

/** Names that other products use for these fields. */
const synonyms: Readonly<Record<string, string>> = {
  type: "event_type",
  event: "event_type",
  topic: "event_type",
  name: "event_type",
  payload: "data",
  body: "data",
  message: "data",
  endpoint: "url",
  target: "url",
  types: "events",
  topics: "events",
  event_types: "events",
  filter_types: "events",
};

function describeUnknown(name: string, error: ErrorObject): string {
  const known = Object.keys((error.parentSchema?.["properties"] ?? {}) as object);
  const synonym = synonyms[name.toLowerCase()];
  const nearest = synonym !== undefined && known.includes(synonym) ? synonym : closestName(name, known);
  return nearest === null ? "is not a known field" : `is not a known field; did you mean "${nearest}"?`;
}

function describeTypes(type: unknown): string {
  const names = Array.isArray(type) ? type.map(String) : String(type).split(",");
  return names
    .map((name) => (name === "null" ? "null" : `${/^[aeio]/.test(name) ? "an" : "a"} ${name}`))
    .join(" or ");
}

function describeChoices(values: unknown): string {
  if (!Array.isArray(values)) return "the allowed values";
  return values.map((value) => (value === null ? "null" : String(value))).join(", ");
}

/** A schema with a pattern describes the pattern in `x-rule`. */
function ruleOf(error: ErrorObject): string {
  const rule: unknown = error.parentSchema?.["x-rule"];
  return typeof rule === "string" ? rule : "in the documented form";
}

function count(limit: unknown, unit: string): string {
  return `${String(limit)} ${unit}${limit === 1 ? "" : "s"}`;
}

/** Converts `/retry_config/schedule_ms/3` to `retry_config.schedule_ms[3]`. */
function fieldPath(pointer: string): string {
  let path = "";
  for (const part of pointer.split("/").slice(1)) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    path = /^\d+$/.test(name) ? `${path}[${name}]` : join(path, name);
  }
  return path;
}

function join(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

function clip(field: string): string {
  return field.length > fieldLengthMax ? `${field.slice(0, fieldLengthMax)}…` : field;
}

// Renders errors as RFC 9457 problem details.

const problemContentType = "application/problem+json";

/** A complete response, as sent and as stored for an Idempotency-Key. */
export interface Rendered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** See `Answer`; not stored. */
  readonly open?: (response: ServerResponse) => void;
}

interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: ErrorCode;
  readonly errors?: readonly FieldError[];
  /** If an idempotency key of an event was reused, the id of the event to which it belongs. */
  readonly event_id?: string;
}

/** `basePath` of the server for the link in `type`; empty for none. */
export function problemOf(error: PosthornError, basePath: string): Problem {
  const { status, title } = errorTable[error.code];
  return {
    type: basePath + problemType(error.code),
    title,
    status,
    detail: error.message,
    code: error.code,
    ...(error.fields.length > 0 && { errors: error.fields.slice(0, fieldErrorsMax) }),
    ...(error instanceof DuplicateEventError && { event_id: error.eventId }),
  };
}

export function renderProblem(error: PosthornError, basePath: string): Rendered {
  return {
    status: error.status,
    headers: {
      "content-type": problemContentType,
      "x-content-type-options": "nosniff",
      ...extraHeaders(error, basePath),
    },
    text: JSON.stringify(problemOf(error, basePath)),
  };
}

const idempotencyCodes: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "idempotency_key_malformed",
  "idempotency_key_in_progress",
  "idempotency_key_reused",
]);

function problemType(code: ErrorCode): string {
  return idempotencyCodes.has(code) ? "/docs/idempotency" : `/docs/errors#${code}`;
}

function extraHeaders(error: PosthornError, basePath: string): Record<string, string> {
  const headers: Record<string, string> = {};
  if (error.retryAfterSeconds !== null) headers["retry-after"] = String(error.retryAfterSeconds);
  if (error instanceof UnauthenticatedError) headers["www-authenticate"] = error.challenge;
  if (error instanceof MethodNotAllowedError) headers["allow"] = error.allow.join(", ");
  if (idempotencyCodes.has(error.code)) {
    headers["link"] = `<${basePath}/docs/idempotency>; rel="describedby"; type="text/html"`;
    headers["content-language"] = "en";
  }
  return headers;
}

export class MethodNotAllowedError extends PosthornError {
  override readonly name = "MethodNotAllowedError";
  readonly allow: readonly string[];
  constructor(allow: readonly string[]) {
    super("method_not_allowed", `This path supports ${allow.join(", ")}.`);
    this.allow = allow;
  }
}

export function keyReusedError(): PosthornError {
  return new PosthornError("idempotency_key_reused", idempotencyProblems.reused.detail);
}

export function keyOutstandingError(): PosthornError {
  return new PosthornError("idempotency_key_in_progress", idempotencyProblems.outstanding.detail, {
    retryAfterSeconds: 1,
  });
}

/**
 * Converts a thrown value to an error with a code. Returns null for unexpected errors, which are logged; the response
 * contains no details about them.
 */
export function knownError(error: unknown): PosthornError | null {
  if (error instanceof PosthornError) return error;
  if (error instanceof StoreUnavailableError) {
    return new PosthornError("unavailable", unavailableDetail(error), { retryAfterSeconds: 1, cause: error });
  }
  return frameworkError(error);
}

function unavailableDetail({ trouble, outcome }: StoreUnavailableError): string {
  if (outcome === "unknown") {
    return "The store did not confirm whether the change was written. Check, or repeat the call with the same Idempotency-Key.";
  }
  if (trouble === "away") return "The store is unavailable. Nothing was changed.";
  return `Nothing was changed: ${storeTroubles[trouble]}.`;
}

export function unexpectedError(requestId: string): PosthornError {
  return new PosthornError(
    "internal_error",
    `The request failed. The log has details under the request id ${requestId}.`,
  );
}

/** Errors that Fastify raises before a handler runs. */
function frameworkError(error: unknown): PosthornError | null {
  if (!(error instanceof Error) || !("code" in error) || !("statusCode" in error)) return null;
  switch (error.code) {
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
      return new PosthornError(
        "unsupported_media_type",
        "Content-Type is not a media type such as application/json.",
      );
    case "FST_ERR_BAD_URL":
      return new InvalidRequestError("The path is not a valid URL path.", []);
    case "FST_ERR_MAX_PARAM_LENGTH":
      return new NotFoundError("this path");
    default:
      return Number(error.statusCode) < 500 ? new InvalidRequestError("The request is malformed.", []) : null;
  }
}
