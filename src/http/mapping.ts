import { apiName, type Fields, type InputOf, type Kind, type ValueOf } from "../resources/field.ts";
import type { Schema, Static } from "../resources/schema.ts";

/** `{ [key]: value }`, or `{}` if the value is absent: the services distinguish absent from undefined. */
export function present<const K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } {
  return (value === undefined ? {} : { [key]: value }) as { readonly [P in K]?: V };
}

// Times at the boundary of the API: Unix milliseconds internally, RFC 3339 in UTC with milliseconds externally.

const pattern =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?([Zz]|[+-]\d{2}:\d{2}))?$/;

/** Parses an RFC 3339 date-time, or a date, which stands for its start in UTC. Null for any other input. */
export function parseInstant(text: string): number | null {
  const match = pattern.exec(text);
  if (match === null) return null;
  const [, year, month, day, hour, minute, second, fraction, zone] = match;
  if (!isDay(Number(year), Number(month), Number(day))) return null;
  const midnight = Date.parse(`${year}-${month}-${day}T00:00:00.000Z`);
  if (hour === undefined || zone === undefined) return midnight;
  const offsetMinutes = zoneMinutes(zone);
  // Count a leap second as the preceding second, as system clocks do.
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60 || offsetMinutes === null) return null;
  const seconds = Number(hour) * 3_600 + Number(minute) * 60 + Math.min(Number(second), 59);
  const milliseconds = Number((fraction ?? "").padEnd(3, "0").slice(0, 3));
  return midnight + seconds * 1_000 + milliseconds - offsetMinutes * 60_000;
}

/** Whether the text is a full date-time, which bodies require. */
export function isDateTime(text: string): boolean {
  return text.length > 10 && parseInstant(text) !== null;
}

export function formatInstant(unixMs: number): string {
  return new Date(unixMs).toISOString();
}

export function formatInstantOrNull(unixMs: number | null): string | null {
  return unixMs === null ? null : formatInstant(unixMs);
}

function isDay(year: number, month: number, day: number): boolean {
  if (month < 1 || month > 12 || day < 1) return false;
  return day <= new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
}

function zoneMinutes(zone: string): number | null {
  if (zone === "Z" || zone === "z") return 0;
  const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(4, 6))];
  if (hours > 23 || minutes > 59) return null;
  return (hours * 60 + minutes) * (zone.startsWith("-") ? -1 : 1);
}

// Converts between the names and times of the API and those of the library, using the definitions in resources/.

type Json = Readonly<Record<string, unknown>>;

/** Converts a validated body to the input of the services; absent fields remain absent. */
export function inputOf<F extends Fields>(fields: F, body: unknown): InputOf<F> {
  return renamed(fields, body as Json) as InputOf<F>;
}

/** Null means that the value is omitted. */
export type FiltersOf<F extends Fields> = {
  readonly [Name in keyof F]: Exclude<ValueOf<F[Name]>, undefined> | null;
};

/** Converts a validated query to the filters of a listing. A filter that is not given is null. */
export function filtersOf<F extends Fields>(fields: F, query: object): FiltersOf<F> {
  const none = Object.fromEntries(Object.keys(fields).map((name) => [name, null]));
  return { ...none, ...renamed(fields, query as Json) } as FiltersOf<F>;
}

function renamed(fields: Fields, body: Json): Json {
  const input: Record<string, unknown> = {};
  for (const [key, field] of Object.entries(fields)) {
    const place = field.within === null ? body : ((body[field.within.api] ?? {}) as Json);
    const value = place[apiName(key, field)];
    if (value !== undefined) input[key] = value === null ? null : read(field.kind, value);
  }
  return input;
}

function read(kind: Kind, value: unknown): unknown {
  if (kind.is === "time") return parseInstant(String(value));
  if (kind.is === "object" && typeof value === "object") return renamed(kind.fields, value as Json);
  if (kind.is === "list" && kind.item.is === "object" && Array.isArray(value)) {
    const { item } = kind;
    return value.map((one) => read(item, one));
  }
  return value;
}

/** The input of `jsonOf`: the fields of a schema under their library names. Optional fields may be absent. */
type ValuesOf<Json> = { readonly [Name in keyof Json as CamelCase<Name & string>]: unknown };
type CamelCase<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name;

/**
 * A response in the form of its schema, at any depth: its fields in snake_case, and times as RFC 3339. Fields that the
 * schema does not have are omitted, so a value may contain more than is shown. Keys that are data, such as the counts
 * by reason of an operation, are already in snake_case.
 */
export function jsonOf<S extends Schema>(
  schema: S & Schema<object>,
  values: ValuesOf<Static<S>>,
): Record<string, unknown> {
  return partOf(schema as Shape, values) as Record<string, unknown>;
}

function partOf(schema: Shape, value: unknown): unknown {
  if (value === null || value === undefined) return null;
  if (schema.format === "date-time") return formatInstant(value as number);
  const { items, properties } = schema;
  if (items !== undefined && Array.isArray(value)) return value.map((item) => partOf(items, item));
  if (properties === undefined || typeof value !== "object") return value;
  const json: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(properties)) {
    const own = (value as Json)[camelCase(name)] ?? (value as Json)[name];
    if (own !== undefined || schema.required?.includes(name) === true) json[name] = partOf(member, own);
  }
  return json;
}

/** The parts of a JSON Schema that lead to the schemas of nested values. */
interface Shape {
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
  readonly items?: Shape;
}

const camelNames = new Map<string, string>();

function camelCase(name: string): string {
  let found = camelNames.get(name);
  if (found === undefined) {
    found = name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
    camelNames.set(name, found);
  }
  return found;
}

/** Converts every name of a plain data object, such as a profile, to snake_case. Values are unchanged. */
export function snakeCaseJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(snakeCaseJson);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, child]) => [snakeCase(name), snakeCaseJson(child)]),
  );
}

export function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
