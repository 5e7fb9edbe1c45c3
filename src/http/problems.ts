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
import {
  choiceSentence,
  flagSentence,
  listSentence,
  numberSentence,
  textSentence,
} from "../resources/judge.ts";
import { UnauthenticatedError } from "./authentication.ts";

/** Translates ajv errors into messages for API callers. Values are never included, because they may be secrets. */

const fieldErrorsMax = 50;
const fieldLengthMax = 200;

/** At most {@link fieldErrorsMax}, one per field and message. */
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
  // Errors of individual branches are confusing; the union itself reports one.
  if (/\/(anyOf|oneOf)\/\d+\//.test(error.schemaPath)) return null;
  const path = fieldPath(error.instancePath);
  const message = boundOf(error) ?? messageOf(error);
  const inner = innerName(error);
  return { field: clip(inner === null ? path : join(path, inner)), message };
}

/** Some keywords report the object although one of its members is invalid. */
function innerName(error: ErrorObject): string | null {
  const params = error.params as Record<string, unknown>;
  const name = params["missingProperty"] ?? params["additionalProperty"] ?? params["propertyName"];
  return typeof name === "string" ? name : null;
}

type Describer = (params: Record<string, unknown>, error: ErrorObject) => string;

const describers: Readonly<Record<string, Describer>> = {
  required: () => "is required",
  additionalProperties: (params, error) => describeUnknown(String(params["additionalProperty"]), error),
  type: (params) => `must be ${describeTypes(params["type"])}`,
  enum: (params) => `must be one of ${describeChoices(params["allowedValues"])}`,
  const: (params) => `must be ${JSON.stringify(params["allowedValue"])}`,
  minLength: (params) => `must have at least ${count(params["limit"], "character")}`,
  maxLength: (params) => `must have at most ${count(params["limit"], "character")}`,
  minItems: (params) => `must have at least ${count(params["limit"], "item")}`,
  maxItems: (params) => `must have at most ${count(params["limit"], "item")}`,
  minProperties: (params) => `must have at least ${count(params["limit"], "member")}`,
  maxProperties: (params) => `must have at most ${count(params["limit"], "member")}`,
  minimum: (params) => `must be at least ${String(params["limit"])}`,
  maximum: (params) => `must be at most ${String(params["limit"])}`,
  exclusiveMinimum: (params) => `must be more than ${String(params["limit"])}`,
  uniqueItems: () => "must not have the same item twice",
  format: (params) =>
    params["format"] === "uuid"
      ? "must be an id such as 0198c3f2-7a4e-7c11-9d3e-5b0a6f1e2d3c"
      : "must be an RFC 3339 time such as 2026-01-31T09:30:00.000Z",
  pattern: (_, error) => `must be ${ruleOf(error)}`,
  propertyNames: () => "is not an allowed name",
};

function messageOf(error: ErrorObject): string {
  const describer = describers[error.keyword];
  return describer === undefined ? "is not valid" : describer(error.params as Record<string, unknown>, error);
}

const boundKeywords: ReadonlySet<string> = new Set([
  "type",
  "enum",
  "minimum",
  "maximum",
  "minLength",
  "maxLength",
  "pattern",
  "minItems",
  "maxItems",
]);

/** The sentence that the library and the commands have for the bounds of a field; null for other schemas. */
function boundOf({ keyword, parentSchema }: ErrorObject): string | null {
  if (parentSchema === undefined || !boundKeywords.has(keyword)) return null;
  const types = [parentSchema["type"]].flat() as readonly unknown[];
  const sentence = sentenceOf(parentSchema, types);
  return sentence === null || !types.includes("null") ? sentence : `${sentence}, or null`;
}

function sentenceOf(schema: Readonly<Record<string, unknown>>, types: readonly unknown[]): string | null {
  const bounds = (low: string, high: string): readonly [number, number] | null =>
    schema[low] === undefined || schema[high] === undefined
      ? null
      : [Number(schema[low]), Number(schema[high])];
  const { enum: values, "x-rule": rule } = schema;
  if (Array.isArray(values)) return choiceSentence(values.filter((value) => value !== null));
  const numbers = bounds("minimum", "maximum");
  if (numbers !== null) return numberSentence(types.includes("integer"), ...numbers);
  const counts = bounds("minItems", "maxItems");
  if (counts !== null) return listSentence(...counts);
  const lengths = bounds("minLength", "maxLength");
  if (lengths !== null && typeof rule === "string") return textSentence(rule, ...lengths);
  return types.includes("boolean") ? flagSentence : null;
}

/** Names of these fields in other products. */
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

/** A schema with a pattern describes it in `x-rule`. */
function ruleOf(error: ErrorObject): string {
  const rule: unknown = error.parentSchema?.["x-rule"];
  return typeof rule === "string" ? rule : "in the documented form";
}

function count(limit: unknown, unit: string): string {
  return `${String(limit)} ${unit}${limit === 1 ? "" : "s"}`;
}

/** `/retry_config/schedule_ms/3` as `retry_config.schedule_ms[3]`. */
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

// Errors as RFC 9457 problem details.

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
  /** For a reused idempotency key of an event: the event it belongs to. */
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
 * Converts a thrown value to an error with a code. Returns null for unexpected errors, which are logged and answered
 * without details.
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
