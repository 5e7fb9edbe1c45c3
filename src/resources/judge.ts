import type { FieldError } from "../domain/errors.ts";
import { isRecord, jsonBytes } from "../domain/plain-record.ts";
import { isUuid } from "../domain/uuid.ts";
import {
  apiPath,
  type Field,
  type Fields,
  type Kind,
  type ListKind,
  type NumberKind,
  type ObjectKind,
  type TextKind,
} from "./field.ts";

/** A value and its path in the API. */
interface Placed {
  readonly path: string;
  readonly value: unknown;
}

/**
 * Everything that violates the description of a field. URLs, headers and schemas have separate validation; here only
 * their type is checked. Values never appear in messages.
 */
export function judgeField(field: Field, { path, value }: Placed): readonly FieldError[] {
  if (value === null && field.isNullable) return [];
  const found = judge(field.kind, { path, value });
  if (!field.isNullable) return found;
  return found.map(({ field: at, message }) => ({
    field: at,
    message: at === path ? `${message}, or null` : message,
  }));
}

/** Validates all members of an object; unknown ones are ignored. */
function judgeMembers(
  fields: Fields,
  given: { readonly path: string; readonly value: Readonly<Record<string, unknown>> },
): readonly FieldError[] {
  return Object.entries(fields).flatMap(([name, field]) => {
    const own = apiPath(name, field);
    const path = given.path === "" ? own : `${given.path}.${own}`;
    const value = given.value[name];
    if (value !== undefined) return judgeField(field, { path, value });
    return field.isRequired ? [{ field: path, message: "is required" }] : [];
  });
}

function judge(kind: Kind, { path, value }: Placed): readonly FieldError[] {
  if (kind.is === "list") return judgeList(kind, { path, value });
  if (kind.is === "object") return judgeObject(kind, { path, value });
  const message = (isKept(kind) ? textsProblem(value) : null) ?? problemOf(kind, value);
  return message === null ? [] : [{ field: path, message }];
}

/** Whether the value is stored as given and contains text without a pattern. Event bodies are bytes. */
function isKept(kind: Exclude<Kind, ListKind | ObjectKind>): boolean {
  if (kind.is === "document") return kind.bytesMax !== null;
  return kind.is === "url" || kind.is === "headers" || kind.is === "schema";
}

/** Problems of texts in stored values. PostgreSQL accepts neither of these in JSON, so every store refuses them. */
function textsProblem(value: unknown): string | null {
  if (typeof value === "string") {
    if (!value.isWellFormed()) return loneSurrogate;
    return value.includes("\0") ? nullCharacter : null;
  }
  if (typeof value !== "object" || value === null) return null;
  for (const [name, member] of Object.entries(value)) {
    const problem = textsProblem(name) ?? textsProblem(member);
    if (problem !== null) return problem;
  }
  return null;
}

function problemOf(kind: Exclude<Kind, ListKind | ObjectKind>, value: unknown): string | null {
  switch (kind.is) {
    case "text":
      return textProblem(kind, value);
    case "number":
      return numberProblem(kind, value);
    case "choice":
      return kind.values.includes(value as string) ? null : choiceSentence(kind.values);
    case "flag":
      return typeof value === "boolean" ? null : flagSentence;
    case "time":
      return Number.isInteger(value) && Math.abs(Number(value)) <= timeMax
        ? null
        : "must be a time in Unix milliseconds";
    case "id":
      return typeof value === "string" && isUuid(value) ? null : `must be an id such as ${exampleId}`;
    case "url":
      return typeof value === "string" ? null : "must be a string";
    case "headers":
      return isRecord(value) ? null : "must be an object of names and values";
    case "json":
      return null;
    case "schema":
      return isRecord(value) ? null : "must be a JSON Schema, which is an object";
    default:
      return documentProblem(kind.bytesMax, value);
  }
}

// One sentence for each bound. The API uses them too, although it checks bounds by schema.

export const flagSentence = "must be true or false";

export function choiceSentence(values: readonly unknown[]): string {
  return `must be one of ${values.join(", ")}`;
}

export function numberSentence(whole: boolean, min: number, max: number): string {
  return `must be a ${whole ? "whole " : ""}number from ${min} to ${max}`;
}

/** `rule` follows "must be". */
export function textSentence(rule: string, lengthMin: number, lengthMax: number): string {
  return `must be ${rule}, of ${lengthMin} to ${lengthMax} characters`;
}

export function listSentence(countMin: number, countMax: number): string {
  return `must be a list of ${countMin} to ${countMax} items`;
}

const exampleId = "0198c3f2-7a4e-7c11-9d3e-5b0a6f1e2d3c";
/** The range of `Date`. */
const timeMax = 8.64e15;

const patterns = new Map<string, RegExp>();
const loneSurrogate = "must be valid Unicode text; it contains half of a surrogate pair";
const nullCharacter = "must not contain the character U+0000";

function textProblem(kind: TextKind, value: unknown): string | null {
  const { lengthMin, lengthMax, pattern, rule } = kind;
  // In UTF-8 a lone surrogate would be replaced by another character, and a URL cannot contain one.
  if (typeof value === "string" && !value.isWellFormed()) return loneSurrogate;
  const isText = typeof value === "string";
  const length = isText ? lengthOf(value, kind) : 0;
  let compiled = patterns.get(pattern);
  if (compiled === undefined) patterns.set(pattern, (compiled = new RegExp(pattern, "u")));
  if (isText && length >= lengthMin && length <= lengthMax && compiled.test(value)) return null;
  return textSentence(rule, lengthMin, lengthMax);
}

/** Characters as JSON Schema counts them: a surrogate pair counts once. Most texts need no counting. */
function lengthOf(value: string, { lengthMin, lengthMax }: TextKind): number {
  const units = value.length;
  const isPlain = (units <= lengthMax && units >= 2 * lengthMin) || units > 2 * lengthMax;
  return isPlain ? units : Array.from(value).length;
}

function numberProblem({ min, max, whole }: NumberKind, value: unknown): string | null {
  const isFitting = typeof value === "number" && value >= min && value <= max;
  if (isFitting && (!whole || Number.isInteger(value))) return null;
  return numberSentence(whole, min, max);
}

function documentProblem(bytesMax: number | null, value: unknown): string | null {
  if (bytesMax === null) return isRecord(value) ? null : "must be an object";
  if (isRecord(value) && (jsonBytes(value) ?? Infinity) <= bytesMax) return null;
  return `must be an object of at most ${bytesMax} bytes as JSON`;
}

function judgeList(kind: ListKind, { path, value }: Placed): readonly FieldError[] {
  const { item, countMin, countMax, isSet, bytesMax } = kind;
  if (!Array.isArray(value) || value.length < countMin || value.length > countMax) {
    return [{ field: path, message: listSentence(countMin, countMax) }];
  }
  if (bytesMax !== null && (jsonBytes(value) ?? Infinity) > bytesMax) {
    return [{ field: path, message: `must have at most ${bytesMax} bytes as JSON` }];
  }
  const seen = new Set<unknown>();
  // Not flatMap, which would skip the holes of a sparse array.
  return Array.from(value, (one: unknown, index): readonly FieldError[] => {
    const field = `${path}[${index}]`;
    if (isSet && seen.has(one)) return [{ field, message: "is listed twice" }];
    seen.add(one);
    return judge(item, { path: field, value: one });
  }).flat();
}

function judgeObject({ fields, shorthand }: ObjectKind, { path, value }: Placed): readonly FieldError[] {
  const named = shorthand === null ? undefined : fields[shorthand];
  if (named !== undefined && typeof value === "string") return judgeField(named, { path, value });
  if (!isRecord(value)) return [{ field: path, message: "must be an object" }];
  return judgeMembers(fields, { path, value });
}
