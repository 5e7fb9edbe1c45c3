import type { FieldError } from "../domain/errors.ts";
import { isRecord, jsonBytes } from "../domain/plain-record.ts";
import { isUuid } from "../domain/uuid.ts";

/**
 * The single description of every field that callers may set. The API schemas, the validation in the services, the
 * mapping between API and library names, and the command-line options with their help are all derived from these
 * descriptions.
 */

/** The values that a field accepts, with their bounds. */
export type Kind =
  | TextKind
  | NumberKind
  | { readonly is: "choice"; readonly values: readonly string[] }
  | { readonly is: "flag" }
  | { readonly is: "id" }
  /**
   * Unix milliseconds in the library, RFC 3339 in the API; with `takesDates`, a date is accepted for its start in UTC.
   */
  | { readonly is: "time"; readonly takesDates: boolean }
  | ListKind
  | ObjectKind
  /** Validated by domain/egress/url-policy.ts. */
  | { readonly is: "url"; readonly lengthMax: number }
  /** Names and values, validated by domain/http/request-headers.ts. */
  | { readonly is: "headers"; readonly countMax: number; readonly valueLengthMax: number }
  /** Any JSON object. */
  | { readonly is: "document"; readonly bytesMax: number | null }
  /** Any JSON value. */
  | { readonly is: "json" }
  /** JSON Schema, validated by its compiler. */
  | { readonly is: "schema" };

export interface TextKind {
  readonly is: "text";
  readonly lengthMin: number;
  readonly lengthMax: number;
  /** A regular expression with the `u` flag. */
  readonly pattern: string;
  /** Describes the pattern in words that follow "must be". */
  readonly rule: string;
}

export interface NumberKind {
  readonly is: "number";
  readonly min: number;
  readonly max: number;
  readonly whole: boolean;
}

export interface ListKind {
  readonly is: "list";
  readonly item: Kind;
  readonly itemExample: unknown;
  readonly countMin: number;
  readonly countMax: number;
  /** Items must be unique. */
  readonly isSet: boolean;
  readonly bytesMax: number | null;
}

export interface ObjectKind {
  readonly is: "object";
  /** Name of the object among the components of the OpenAPI document. */
  readonly title: string | null;
  readonly fields: Fields;
  /** A string is accepted as shorthand for an object with only this member. */
  readonly shorthand: string | null;
}

declare const valueType: unique symbol;

/** One field; `Value` is its type in the library. */
export interface Field<Value = unknown> {
  readonly kind: Kind;
  /** The API name, if it is not the library name in snake_case. */
  readonly api: string | null;
  /** The API object that contains the field. In the library, the field is not nested. */
  readonly within: Group | null;
  readonly isNullable: boolean;
  readonly isRequired: boolean;
  /**
   * Whether the field is required when the resource is created. For changes, all fields are optional: an absent field
   * keeps its value.
   */
  readonly isRequiredToCreate: boolean;
  readonly isOnlyForCreation: boolean;
  /** The field is accepted but never shown: `writeOnly` in the schema, and masked in the audit log. */
  readonly isSecret: boolean;
  /** Properties of a secret object that are not secret themselves. */
  readonly openMembers: readonly string[];
  /** The value if the field is omitted; undefined if that depends on other fields. */
  readonly default: unknown;
  /** One or two sentences for documentation and help. */
  readonly doc: string | null;
  readonly examples: readonly unknown[];
  readonly [valueType]?: Value;
}

export interface Group {
  readonly api: string;
  readonly title?: string;
  readonly doc?: string;
  /** If the object is given, all its members must be given. */
  readonly isComplete?: boolean;
}

/** Keyed by the name in the library. */
export type Fields = Readonly<Record<string, Field>>;

type RequiredField<Value> = Field<Value> & { readonly isRequired: true };
type RequiredNames<F extends Fields> = {
  [Name in keyof F]: F[Name] extends { readonly isRequired: true } ? Name : never;
}[keyof F];
export type ValueOf<F extends Field> = F extends Field<infer Value> ? Value : never;
type Flat<T> = { [Name in keyof T]: T[Name] };

/** The input type of the library. */
export type InputOf<F extends Fields> = Flat<
  { readonly [Name in RequiredNames<F>]: ValueOf<F[Name]> } & {
    readonly [Name in Exclude<keyof F, RequiredNames<F>>]?: ValueOf<F[Name]>;
  }
>;

/** The stored and shown form of fields: all of them have a value. */
export type StoredOf<F extends Fields> = { readonly [Name in keyof F]: Whole<ValueOf<F[Name]>> };
type Whole<Value> = Value extends readonly (infer Item)[]
  ? readonly Whole<Item>[]
  : Value extends object
    ? { readonly [Name in keyof Value]-?: Whole<Value[Name]> }
    : Value;

/** Options that every field has in addition to its kind. */
export interface Notes<Value> {
  readonly api?: string;
  readonly within?: Group;
  readonly default?: Value;
  readonly doc?: string;
  readonly examples?: readonly unknown[];
}

function field<Value>(kind: Kind, notes: Notes<Value>): Field<Value> {
  return {
    kind,
    api: notes.api ?? null,
    within: notes.within ?? null,
    isNullable: false,
    isRequired: false,
    isRequiredToCreate: false,
    isOnlyForCreation: false,
    isSecret: false,
    openMembers: [],
    default: notes.default,
    doc: notes.doc ?? null,
    examples: notes.examples ?? [],
  };
}

interface Lengths {
  readonly lengthMin?: number;
  readonly lengthMax: number;
}

/** A single line of text. */
export function line(bounds: Lengths & Notes<string>): Field<string> {
  const { lengthMin = 0, lengthMax } = bounds;
  const pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f]*$";
  return field(
    { is: "text", lengthMin, lengthMax, pattern, rule: "text without control characters" },
    bounds,
  );
}

/** Text with several lines. */
export function text(bounds: Lengths & Notes<string>): Field<string> {
  const { lengthMin = 0, lengthMax } = bounds;
  const pattern = "^[^\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f]*$";
  const rule = "text without control characters other than line breaks and tabs";
  return field({ is: "text", lengthMin, lengthMax, pattern, rule }, bounds);
}

/** Text that matches a pattern; `rule` describes the pattern in words that follow "must be". */
export function word(form: Lengths & Notes<string> & Pick<TextKind, "pattern" | "rule">): Field<string> {
  const { lengthMin = 1, lengthMax, pattern, rule } = form;
  return field({ is: "text", lengthMin, lengthMax, pattern, rule }, form);
}

interface Range {
  readonly min: number;
  readonly max: number;
}

export function integer(range: Range & Notes<number>): Field<number> {
  return field({ is: "number", min: range.min, max: range.max, whole: true }, range);
}

export function decimal(range: Range & Notes<number>): Field<number> {
  return field({ is: "number", min: range.min, max: range.max, whole: false }, range);
}

export function choice<const Value extends string>(
  values: readonly Value[],
  notes: Notes<Value> = {},
): Field<Value> {
  return field({ is: "choice", values }, notes);
}

export function flag(notes: Notes<boolean> = {}): Field<boolean> {
  return field({ is: "flag" }, notes);
}

export function time(notes: Notes<number>): Field<number> {
  return field({ is: "time", takesDates: false }, notes);
}

/** A time that may also be given as a plain date, which is convenient for some parameters (WDS-109). */
export function timeOrDate(notes: Notes<number>): Field<number> {
  return field({ is: "time", takesDates: true }, notes);
}

/** A UUID. */
export function id(notes: Notes<string> = {}): Field<string> {
  return field({ is: "id" }, notes);
}

interface Counts {
  readonly countMin?: number;
  readonly countMax: number;
  readonly isSet?: boolean;
  readonly bytesMax?: number;
}

export function list<Value>(
  item: Field<Value>,
  bounds: Counts & Notes<readonly Value[]>,
): Field<readonly Value[]> {
  const { countMin = 1, countMax, isSet = false, bytesMax = null } = bounds;
  const [itemExample] = item.examples;
  return field({ is: "list", item: item.kind, itemExample, countMin, countMax, isSet, bytesMax }, bounds);
}

export function object<F extends Fields>(
  fields: F,
  notes: Notes<InputOf<F>> & { readonly title?: string } = {},
): Field<InputOf<F>> {
  return field({ is: "object", fields, title: notes.title ?? null, shorthand: null }, notes);
}

/** An object, or a string as shorthand for an object with only this member. */
export function objectOrText<F extends Fields, Name extends keyof F & string>(
  fields: F,
  notes: Notes<InputOf<F>> & { readonly shorthand: Name },
): Field<InputOf<F> | ValueOf<F[Name]>> {
  return field({ is: "object", fields, title: null, shorthand: notes.shorthand }, notes as object);
}

export function url(bounds: { readonly lengthMax: number } & Notes<string>): Field<string> {
  return field({ is: "url", lengthMax: bounds.lengthMax }, bounds);
}

export function headers(
  bounds: { readonly countMax: number; readonly valueLengthMax: number } & Notes<never>,
): Field<Readonly<Record<string, string>>> {
  const { countMax, valueLengthMax } = bounds;
  return field({ is: "headers", countMax, valueLengthMax }, bounds);
}

export function document(
  notes: Notes<never> & { readonly bytesMax?: number } = {},
): Field<Readonly<Record<string, unknown>>> {
  return field({ is: "document", bytesMax: notes.bytesMax ?? null }, notes);
}

export function anyJson(notes: Notes<never>): Field {
  return field({ is: "json" }, notes);
}

export function jsonSchema(notes: Notes<unknown>): Field {
  return field({ is: "schema" }, notes);
}

/** Also accepts null, which restores the default. */
export function nullable<Value>(one: Field<Value>): Field<Value | null> {
  return { ...(one as Field<never>), isNullable: true };
}

export function required<Value>(one: Field<Value>): RequiredField<Value> {
  return { ...(one as Field<never>), isRequired: true };
}

export function requiredToCreate<Value>(one: Field<Value>): Field<Value> {
  return { ...one, isRequiredToCreate: true };
}

/** The field cannot be changed later, or only by other operations. */
export function onlyForCreation<Value>(one: Field<Value>): Field<Value> {
  return { ...one, isOnlyForCreation: true };
}

/** The field is accepted and never shown again, except for the object properties named here. */
export function secret<F extends Field>(one: F, openMembers: readonly string[] = []): F {
  return { ...one, isSecret: true, openMembers };
}

/** Returns the same field with a different description. */
export function described<Value>(one: Field<Value>, doc: string): Field<Value> {
  return { ...one, doc };
}

/** The default of a field that has one. */
export function defaultOf<Value>(one: Field<Value>): NonNullable<Value> {
  return one.default as NonNullable<Value>;
}

/** Returns the fields except these. */
export function without<F extends Fields, const Name extends keyof F & string>(
  fields: F,
  names: readonly Name[],
): Omit<F, Name> {
  const kept = Object.entries(fields).filter(([name]) => !(names as readonly string[]).includes(name));
  return Object.fromEntries(kept) as Omit<F, Name>;
}

/** The name in the API, without the object that contains the field. */
export function apiName(name: string, { api }: Pick<Field, "api">): string {
  return api ?? name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The path in an API body. */
export function apiPath(name: string, one: Pick<Field, "api" | "within">): string {
  const own = apiName(name, one);
  return one.within === null ? own : `${one.within.api}.${own}`;
}

/**
 * Returns every violation of the description of a field; `path` is the path in the API. Headers and schemas are
 * validated separately; here only their type is checked. Values never appear in messages.
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

/**
 * Checks text that is not restricted by a pattern, in values that are stored as given. Event bodies are excluded,
 * because they are bytes.
 */
function textProblem(kind: Kind, value: unknown): string | null {
  if (kind.is === "text") return typeof value === "string" && !value.isWellFormed() ? loneSurrogate : null;
  const isKept = kind.is === "document" ? kind.bytesMax !== null : keptKinds.has(kind.is);
  return isKept ? textsProblem(value) : null;
}

const keptKinds: ReadonlySet<Kind["is"]> = new Set<Kind["is"]>(["url", "headers", "schema"]);
// In UTF-8, half a surrogate pair would be replaced by another character, and a URL cannot contain one.
const loneSurrogate = "must be valid Unicode text; it contains half of a surrogate pair";

/** Finds lone surrogates and U+0000. PostgreSQL accepts neither of these in JSON, so every store refuses them. */
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

/** The range of times that `Date` supports. */
const timeMax = 8.64e15;

type Check<K extends Kind> = (kind: K, value: unknown) => boolean;

const checks: { readonly [K in Kind as K["is"]]: Check<K> } = {
  text: (kind, value) => typeof value === "string" && isText(kind, value),
  number: ({ min, max, whole }, value) =>
    typeof value === "number" && value >= min && value <= max && (!whole || Number.isInteger(value)),
  choice: ({ values }, value) => values.includes(value as string),
  flag: (_, value) => typeof value === "boolean",
  list: ({ countMin, countMax }, value) =>
    Array.isArray(value) && value.length >= countMin && value.length <= countMax,
  time: (_, value) => Number.isInteger(value) && Math.abs(Number(value)) <= timeMax,
  id: (_, value) => typeof value === "string" && isUuid(value),
  url: ({ lengthMax }, value) => typeof value === "string" && value !== "" && value.length <= lengthMax,
  object: ({ shorthand }, value) => isRecord(value) || (shorthand !== null && typeof value === "string"),
  headers: (_, value) => isRecord(value),
  schema: (_, value) => isRecord(value),
  document: ({ bytesMax }, value) => isRecord(value) && (bytesMax === null || bytesOf(value) <= bytesMax),
  json: () => true,
};

function isValid(kind: Kind, value: unknown): boolean {
  const check = (checks as Readonly<Record<string, Check<never>>>)[kind.is];
  return check?.(kind as never, value) === true;
}

function bytesOf(value: unknown): number {
  return jsonBytes(value) ?? Infinity;
}

const patterns = new Map<string, RegExp>();

function isText({ lengthMin, lengthMax, pattern }: TextKind, value: string): boolean {
  let compiled = patterns.get(pattern);
  if (compiled === undefined) patterns.set(pattern, (compiled = new RegExp(pattern, "u")));
  // Counts characters as JSON Schema does: a surrogate pair counts once. Most strings need no counting.
  const units = value.length;
  const isPlain = (units <= lengthMax && units >= 2 * lengthMin) || units > 2 * lengthMax;
  const length = isPlain ? units : Array.from(value).length;
  return length >= lengthMin && length <= lengthMax && compiled.test(value);
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
  // `flatMap` is not suitable, because it would skip the holes of a sparse array.
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
