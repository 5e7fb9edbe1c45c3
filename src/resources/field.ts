/**
 * One description of every field that callers may set. The API schemas, the validation in the services, the mapping
 * between API and library names, the command-line options and their texts are all derived from these descriptions.
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
  /** A regular expression for the `u` flag. */
  readonly pattern: string;
  /** Describes the pattern in words, following "must be". */
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
  /** Its name among the components of the OpenAPI document. */
  readonly title: string | null;
  readonly fields: Fields;
  /** A string is accepted as shorthand for an object with only this member. */
  readonly shorthand: string | null;
}

declare const valueType: unique symbol;

/** One field; `Value` is its type in the library. */
export interface Field<Value = unknown> {
  readonly kind: Kind;
  /** Its API name, if it is not the library name in snake_case. */
  readonly api: string | null;
  /** The API object that contains it; in the library it is at the top level. */
  readonly within: Group | null;
  readonly isNullable: boolean;
  readonly isRequired: boolean;
  /** Always optional when a resource is changed: an absent field keeps its value. */
  readonly isRequiredToCreate: boolean;
  readonly isOnlyForCreation: boolean;
  /** Accepted but never shown: `writeOnly` in the schema, and masked in the audit log. */
  readonly isSecret: boolean;
  /** Members of a secret object that are not secret. */
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

/** Keyed by library name. */
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

/** What is stored and shown of fields: all of them have a value. */
export type StoredOf<F extends Fields> = { readonly [Name in keyof F]: Whole<ValueOf<F[Name]>> };
type Whole<Value> = Value extends readonly (infer Item)[]
  ? readonly Whole<Item>[]
  : Value extends object
    ? { readonly [Name in keyof Value]-?: Whole<Value[Name]> }
    : Value;

/** Options of every field in addition to its kind. */
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

/** Text of several lines. */
export function text(bounds: Lengths & Notes<string>): Field<string> {
  const { lengthMin = 0, lengthMax } = bounds;
  const pattern = "^[^\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f]*$";
  const rule = "text without control characters other than line breaks and tabs";
  return field({ is: "text", lengthMin, lengthMax, pattern, rule }, bounds);
}

/** Text that matches a pattern; `rule` describes it in words, following "must be". */
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

/** For parameters where a plain date is convenient (WDS-109). */
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

/** Null restores the default. */
export function nullable<Value>(one: Field<Value>): Field<Value | null> {
  return { ...(one as Field<never>), isNullable: true };
}

export function required<Value>(one: Field<Value>): RequiredField<Value> {
  return { ...(one as Field<never>), isRequired: true };
}

export function requiredToCreate<Value>(one: Field<Value>): Field<Value> {
  return { ...one, isRequiredToCreate: true };
}

/** Cannot be changed later, or only by other means. */
export function onlyForCreation<Value>(one: Field<Value>): Field<Value> {
  return { ...one, isOnlyForCreation: true };
}

/** Accepted and never shown again, except for the object members named here. */
export function secret<F extends Field>(one: F, openMembers: readonly string[] = []): F {
  return { ...one, isSecret: true, openMembers };
}

/** The same field with a different description. */
export function described<Value>(one: Field<Value>, doc: string): Field<Value> {
  return { ...one, doc };
}

/** The default of a field that has one. */
export function defaultOf<Value>(one: Field<Value>): NonNullable<Value> {
  return one.default as NonNullable<Value>;
}

/** The fields except these. */
export function without<F extends Fields, const Name extends keyof F & string>(
  fields: F,
  names: readonly Name[],
): Omit<F, Name> {
  const kept = Object.entries(fields).filter(([name]) => !(names as readonly string[]).includes(name));
  return Object.fromEntries(kept) as Omit<F, Name>;
}

/** The API name without the object that contains it. */
export function apiName(name: string, { api }: Pick<Field, "api">): string {
  return api ?? name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The path in an API body. */
export function apiPath(name: string, one: Pick<Field, "api" | "within">): string {
  const own = apiName(name, one);
  return one.within === null ? own : `${one.within.api}.${own}`;
}
