/** Converts between the names and times of the API and those of the library, using the definitions in core/fields. */
import { apiName } from "../../core/fields/field.ts";
import type { Fields, InputOf, Kind, ValueOf } from "../../core/fields/field.ts";
import { formatInstant, parseInstant } from "./instant.ts";

type Json = Readonly<Record<string, unknown>>;

/** Input of the services from a validated body; absent fields stay absent. */
export function inputOf<F extends Fields>(fields: F, body: unknown): InputOf<F> {
  return renamed(fields, body as Json) as InputOf<F>;
}

/** Filters of a listing from a validated query; null without filters. */
export function filtersOf<F extends Fields>(
  fields: F,
  query: object,
): { readonly [Name in keyof F]: Exclude<ValueOf<F[Name]>, undefined> | null } {
  const none = Object.fromEntries(Object.keys(fields).map((name) => [name, null]));
  return { ...none, ...renamed(fields, query as Json) } as ReturnType<typeof filtersOf<F>>;
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

/** These fields in a response; all of them have a value, which may be null. */
export function shownJson<F extends Fields>(
  fields: F,
  values: { readonly [Name in keyof F]: unknown },
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([key, field]) => [apiName(key, field), show(field.kind, values[key])]),
  );
}

function show(kind: Kind, value: unknown): unknown {
  if (value === null || value === undefined) return null;
  if (kind.is === "time") return formatInstant(value as number);
  if (kind.is === "object") return shownJson(kind.fields, value as Json);
  return value;
}
