/** Parameters of library lists and commands: null values may be omitted, and unknown names are rejected by name. */
import { closestName } from "../domain/closest-name.ts";
import { type FieldError, InvalidRequestError, PosthornError } from "../domain/errors.ts";
import { placeWords, type SearchedPage } from "../features/searched-pages.ts";
import type { Page } from "../ports/store.ts";
import { defaultOf } from "../resources/field.ts";
import { judgeField } from "../resources/judge.ts";
import { pageLimitField } from "../resources/names.ts";

/** Paging parameters of every list, in addition to its filters. */
export interface ListQuery {
  /** Rows per page, 1 to 250; default 50. */
  readonly limit?: number | undefined;
  /** `next` of the previous page. */
  readonly cursor?: string | undefined;
}

/** The result of every list, newest first. */
export interface List<Row> {
  readonly rows: readonly Row[];
  /** Cursor of the next page; null if there is none. */
  readonly next: string | null;
}

/** The result of a search. A page ends after a quarter of a second, however many rows it found. */
export interface FoundList<Row> extends List<Row> {
  /** Unix milliseconds: older rows have not been searched yet. Null if all were, or if sorted by next attempt. */
  readonly searchedTo: number | null;
  /** False if the page ended before it was full: more rows may match. */
  readonly isComplete: boolean;
}

/** Fields that may be null are optional, and so are the `Named` fields. */
export type Lenient<Command, Named extends keyof Command = never> = {
  readonly [Key in keyof Command as null extends Command[Key]
    ? never
    : Key extends Named
      ? never
      : Key]: Command[Key];
} & {
  readonly [Key in keyof Command as null extends Command[Key] ? Key : Key extends Named ? Key : never]?:
    | Command[Key]
    | undefined;
};

/** Filters of a list, with the paging parameters of every list. */
export type Filters<Query> = Lenient<Omit<Query, "page" | "limit" | "offset" | "after">> & ListQuery;

/** Splits a query into its filters, with defaults filled in, and the page. */
export function listOf<Query extends object, Defaults extends object, Required extends string = never>(
  query: Query | undefined,
  defaults: Defaults,
  required: readonly Required[] = [],
) {
  const given = filled(
    query ?? {},
    { ...defaults, limit: defaultOf(pageLimitField), cursor: null },
    required,
  ) as Filled<Query, Defaults> & { readonly limit: number; readonly cursor: string | null };
  const { limit, cursor, ...filters } = given;
  const problems = judgeField(pageLimitField, { path: "limit", value: limit });
  if (problems.length > 0) throw refused(problems);
  return {
    filters: filters as Filled<Omit<Query, "limit" | "cursor">, Defaults>,
    page: pageOf(limit, cursor),
  };
}

/** Like `listOf`, for searches. */
export function searchOf<Query extends object, Defaults extends object, Required extends string = never>(
  query: Query | undefined,
  defaults: Defaults,
  required: readonly Required[] = [],
) {
  const { cursor = null, ...rest } = (query ?? {}) as Query & ListQuery;
  const after = cursor === null ? null : placeWords.placeOf(cursor);
  if (cursor !== null && after === null) throw notACursor();
  const { filters, page } = listOf(rest as Omit<Query, "cursor">, defaults, required);
  return { filters, page: { limit: page.limit, offset: 0, after } };
}

export function allNull<Names extends object>(names: Names): { readonly [Name in keyof Names]: null } {
  return Object.fromEntries(Object.keys(names).map((name) => [name, null])) as {
    readonly [Name in keyof Names]: null;
  };
}

export function foundOf<Row>({ rows, next, searchedTo, isComplete }: SearchedPage<Row>): FoundList<Row> {
  return { rows, next: next === null ? null : placeWords.wordOf(next), searchedTo, isComplete };
}

export function notACursor(): PosthornError {
  return new PosthornError("invalid_cursor", "the cursor is not the `next` of a page");
}

function pageOf(limit: number, cursor: string | null) {
  if (cursor !== null && !/^\d{1,15}$/.test(cursor)) throw notACursor();
  return { limit, before: cursor === null ? null : Number(cursor), offset: 0 };
}

export function answerOf<Row>({ rows, next }: Page<Row>): List<Row> {
  return { rows, next: next === null ? null : String(next) };
}

/** The fields after defaults were filled in. */
type Filled<Given, Defaults> = {
  readonly [Key in keyof Given | keyof Defaults]: Key extends keyof Defaults
    ?
        | Exclude<Key extends keyof Given ? Given[Key] : never, undefined>
        | (undefined extends (Key extends keyof Given ? Given[Key] : undefined) ? Defaults[Key] : never)
    : Key extends keyof Given
      ? Given[Key]
      : never;
};

const times: ReadonlySet<string> = new Set(["from", "to"]);

/** A command with defaults filled in. Unknown and missing fields are rejected by name. */
export function filled<Given extends object, Defaults extends object>(
  given: Given,
  defaults: Defaults,
  required: readonly string[] = [],
): Filled<Given, Defaults> {
  const problems: FieldError[] = [];
  const values = Object.entries(given as Readonly<Record<string, unknown>>).filter(
    ([, value]) => value !== undefined,
  );
  const known = [...Object.keys(defaults), ...required];
  for (const [field, value] of values) {
    if (!known.includes(field)) problems.push({ field, message: unknownField(field, known) });
    else if (times.has(field) && value !== null && !Number.isFinite(value))
      problems.push({ field, message: "must be a time in Unix milliseconds" });
  }
  for (const field of required)
    if (!values.some(([name]) => name === field)) problems.push({ field, message: "is required" });
  if (problems.length > 0) throw refused(problems);
  return { ...defaults, ...Object.fromEntries(values) } as Filled<Given, Defaults>;
}

export const needed = { isRequired: true };

/** The unchanged command. Unknown and missing fields are rejected by name. */
export function withKnownNames<Given extends object>(
  given: Given,
  fields: Readonly<Record<string, { readonly isRequired: boolean }>>,
): Given {
  const required = Object.keys(fields).filter((name) => fields[name]?.isRequired === true);
  const others = Object.keys(fields).filter((name) => fields[name]?.isRequired !== true);
  filled(given, Object.fromEntries(others.map((name) => [name, null])), required);
  return given;
}

function unknownField(field: string, known: readonly string[]): string {
  const nearest = closestName(field, known);
  return nearest === null
    ? `is not a known field; known fields: ${known.join(", ")}`
    : `is not a known field; did you mean ${nearest}?`;
}

function refused(problems: readonly FieldError[]): InvalidRequestError {
  const text = problems.map(({ field, message }) => `${field} ${message}`).join("; ");
  return new InvalidRequestError(`the call is not valid: ${text}`, problems);
}
