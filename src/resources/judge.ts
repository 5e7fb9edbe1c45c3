import type { FieldError } from "../domain/errors.ts";
import { isRecord, jsonBytes } from "../domain/plain-record.ts";
import { isUuid } from "../domain/uuid.ts";
import {
  apiPath,
  type Field,
  type Kind,
  type ListKind,
  type NumberKind,
  type ObjectKind,
  type TextKind,
} from "./field.ts";

/**
 * Everything that violates the description of a field; `path` is that of the API. Headers and schemas have separate
 * validation; here only their type is checked. Values never appear in messages.
 */
export function judgeField(field: Field, path: string, value: unknown): readonly FieldError[] {
  if (value === null && field.isNullable) return [];
  const found = judge(field.kind, path, value);
  if (!field.isNullable) return found;
  return found.map(({ field: at, message }) => ({
    field: at,
    message: at === path ? orNull(message) : message,
  }));
}

export function orNull(sentence: string): string {
  return `${sentence}, or null`;
}

/** What a value of this kind must be, in one sentence for the API, the library and the commands. */
export function sentenceOf(kind: Kind): string {
  switch (kind.is) {
    case "text":
      return `must be ${kind.rule}, of ${kind.lengthMin} to ${kind.lengthMax} characters`;
    case "number":
      return `must be a ${kind.whole ? "whole " : ""}number from ${kind.min} to ${kind.max}`;
    case "choice":
      return `must be one of ${kind.values.join(", ")}`;
    case "flag":
      return "must be true or false";
    case "list":
      return listSentence(kind.countMin, kind.countMax);
    case "id":
      return "must be an id such as 0198c3f2-7a4e-7c11-9d3e-5b0a6f1e2d3c";
    case "time":
      return "must be a time in Unix milliseconds";
    case "url":
      return `must be a URL of 1 to ${kind.lengthMax} characters`;
    case "headers":
      return "must be an object of names and values";
    case "schema":
      return "must be a JSON Schema, which is an object";
    case "json":
      return "must be JSON";
    case "document":
      return `must be an object${kind.bytesMax === null ? "" : ` of at most ${kind.bytesMax} bytes as JSON`}`;
    default:
      return "must be an object";
  }
}

export function listSentence(countMin: number, countMax: number): string {
  return `must be a list of ${countMin} to ${countMax} items`;
}

export const missing = "is required";
export const repeated = "is listed twice";

function judge(kind: Kind, path: string, value: unknown): readonly FieldError[] {
  const message = textProblem(kind, value) ?? (isValid(kind, value) ? null : sentenceOf(kind));
  if (message !== null) return [{ field: path, message }];
  if (kind.is === "list") return judgeItems(kind, path, value as readonly unknown[]);
  return kind.is === "object" ? judgeObject(kind, path, value) : [];
}

/** Problems of texts that no pattern restricts, in values that are stored as given. Event bodies are bytes. */
function textProblem(kind: Kind, value: unknown): string | null {
  if (kind.is === "text") return typeof value === "string" && !value.isWellFormed() ? loneSurrogate : null;
  const isKept = kind.is === "document" ? kind.bytesMax !== null : keptKinds.has(kind.is);
  return isKept ? textsProblem(value) : null;
}

const keptKinds: ReadonlySet<Kind["is"]> = new Set<Kind["is"]>(["url", "headers", "schema"]);
// In UTF-8 half a pair would be replaced by another character, and a URL cannot contain one.
const loneSurrogate = "must be valid Unicode text; it contains half of a surrogate pair";

/** PostgreSQL accepts neither of these in JSON, so every store refuses them. */
function textsProblem(value: unknown): string | null {
  if (typeof value === "string") {
    if (!value.isWellFormed()) return loneSurrogate;
    return value.includes("\0") ? "must not contain the character U+0000" : null;
  }
  if (typeof value !== "object" || value === null) return null;
  for (const [name, member] of Object.entries(value)) {
    const problem = textsProblem(name) ?? textsProblem(member);
    if (problem !== null) return problem;
  }
  return null;
}

/** The range of `Date`. */
const timeMax = 8.64e15;

function isValid(kind: Kind, value: unknown): boolean {
  switch (kind.is) {
    case "text":
      return typeof value === "string" && isText(kind, value);
    case "number":
      return isNumber(kind, value);
    case "choice":
      return kind.values.includes(value as string);
    case "flag":
      return typeof value === "boolean";
    case "list":
      return Array.isArray(value) && value.length >= kind.countMin && value.length <= kind.countMax;
    case "time":
      return Number.isInteger(value) && Math.abs(Number(value)) <= timeMax;
    case "id":
      return typeof value === "string" && isUuid(value);
    case "url":
      return typeof value === "string" && value !== "" && value.length <= kind.lengthMax;
    case "json":
      return true;
    case "object":
      return isRecord(value) || (kind.shorthand !== null && typeof value === "string");
    case "document":
      return isRecord(value) && (kind.bytesMax === null || bytesOf(value) <= kind.bytesMax);
    default:
      return isRecord(value);
  }
}

function bytesOf(value: unknown): number {
  return jsonBytes(value) ?? Infinity;
}

const patterns = new Map<string, RegExp>();

function isText({ lengthMin, lengthMax, pattern }: TextKind, value: string): boolean {
  let compiled = patterns.get(pattern);
  if (compiled === undefined) patterns.set(pattern, (compiled = new RegExp(pattern, "u")));
  // Characters as JSON Schema counts them: a surrogate pair counts once. Most texts need no counting.
  const units = value.length;
  const isPlain = (units <= lengthMax && units >= 2 * lengthMin) || units > 2 * lengthMax;
  const length = isPlain ? units : Array.from(value).length;
  return length >= lengthMin && length <= lengthMax && compiled.test(value);
}

function isNumber({ min, max, whole }: NumberKind, value: unknown): boolean {
  return typeof value === "number" && value >= min && value <= max && (!whole || Number.isInteger(value));
}

function judgeItems(
  { item, isSet, bytesMax }: ListKind,
  path: string,
  value: readonly unknown[],
): readonly FieldError[] {
  if (bytesMax !== null && bytesOf(value) > bytesMax) {
    return [{ field: path, message: `must have at most ${bytesMax} bytes as JSON` }];
  }
  const seen = new Set<unknown>();
  // Not flatMap, which would skip the holes of a sparse array.
  return Array.from(value, (one: unknown, index): readonly FieldError[] => {
    const field = `${path}[${index}]`;
    if (isSet && seen.has(one)) return [{ field, message: repeated }];
    seen.add(one);
    return judge(item, field, one);
  }).flat();
}

/** Unknown members are ignored. */
function judgeObject({ fields, shorthand }: ObjectKind, path: string, value: unknown): readonly FieldError[] {
  const named = shorthand === null ? undefined : fields[shorthand];
  if (named !== undefined && typeof value === "string") return judgeField(named, path, value);
  return Object.entries(fields).flatMap(([name, field]) => {
    const own = apiPath(name, field);
    const at = path === "" ? own : `${path}.${own}`;
    const member = (value as Readonly<Record<string, unknown>>)[name];
    if (member !== undefined) return judgeField(field, at, member);
    return field.isRequired ? [{ field: at, message: missing }] : [];
  });
}
