/** Translates ajv errors into messages for API callers. Values are never included, because they may be secrets. */
import type { ErrorObject } from "ajv/dist/2020.js";
import type { FieldError } from "../core/errors.ts";
import { closestName } from "../core/closest-name.ts";

export const fieldErrorsMax = 50;
const fieldLengthMax = 200;

/** At most {@link fieldErrorsMax}, one per field and keyword. */
export function describeFieldErrors(errors: readonly ErrorObject[]): readonly FieldError[] {
  const described = new Map<string, FieldError>();
  for (const error of errors) {
    if (described.size === fieldErrorsMax) break;
    const fieldError = describe(error);
    if (fieldError !== null) described.set(`${fieldError.field}\n${error.keyword}`, fieldError);
  }
  return [...described.values()];
}

function describe(error: ErrorObject): FieldError | null {
  // Errors of individual branches are confusing; the union itself reports one.
  if (/\/(anyOf|oneOf)\/\d+\//.test(error.schemaPath)) return null;
  const path = fieldPath(error.instancePath);
  const message = messageOf(error);
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
