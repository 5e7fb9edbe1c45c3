/**
 * The services as library calls: null values may be omitted, unknown names are rejected, all lists have the same shape,
 * and errors use the field names of the library.
 */
import { closestName } from "../domain/closest-name.ts";
import { type FieldError, InvalidRequestError, PosthornError } from "../domain/errors.ts";
import type { DeadLetterQuery } from "../features/deliveries/dead-letter-service.ts";
import type { EventTypeListQuery } from "../features/event-types/event-type-service.ts";
import { placeWords, type SearchedPage } from "../features/searched-pages.ts";
import type {
  ApiKeyService,
  DeadLetterService,
  DeliveryFiltersWithin,
  DeliveryListQuery,
  DeliveryProblemView,
  DeliveryService,
  DeliveryView,
  EventListQuery,
  EventMatch,
  EventService,
  EventTypeInput,
  EventTypeName,
  EventTypeService,
  ListedDelivery,
  ProblemListQuery,
  ProblemService,
  RetryBatchCommand,
  Scope,
  Services,
  WebhookListQuery,
  WebhookService,
  WebhookView,
} from "../features/services.ts";
import type { EventSummary } from "../ports/store/history.ts";
import type { EventType, EventTypeKey } from "../ports/store/registry.ts";
import type { StoredHistoryEntry } from "../ports/store/webhooks.ts";
import type { Page } from "../ports/store.ts";
import {
  circuitActionFields,
  deliveryRetryFields,
  incidentFields,
  recoverFields,
  replayFields,
  retryBatchFields,
  rotateFields,
  testFields,
} from "../resources/actions.ts";
import { apiKeyFields } from "../resources/api-key.ts";
import { deliveryFilterFields, deliveryListFields } from "../resources/delivery.ts";
import { problemChangeFields, problemFilters } from "../resources/delivery-problem.ts";
import { eventListFields } from "../resources/event.ts";
import { apiPath, defaultOf, type Fields, judgeField, missing, sentenceOf } from "../resources/field.ts";
import { pageLimitField } from "../resources/names.ts";
import {
  cancelDeliveriesFields,
  deadLetterFilters,
  discardFields,
  operationChangeFields,
  retryDeliveriesFields,
} from "../resources/operation.ts";
import { webhookFields, webhookFilters } from "../resources/webhook.ts";

/** A service without its first parameter, the scope, which the library fills in. */
export type Scoped<Service> = {
  readonly [Method in keyof Service as Service[Method] extends (scope: Scope, ...rest: never) => unknown
    ? Method
    : never]: Service[Method] extends (scope: Scope, ...rest: infer Rest) => infer Result
    ? (...rest: Rest) => Result
    : never;
};

export interface LibraryEvents
  extends Omit<Scoped<EventService>, "publish" | "publishMany" | "list" | "deliveries" | "matches"> {
  /** The events do not include their bodies. */
  list(query?: Filters<EventListQuery>): Promise<FoundList<EventSummary>>;
  deliveries(
    query: { readonly eventId: string } & Filters<DeliveryFiltersWithin>,
  ): Promise<FoundList<ListedDelivery>>;
  /**
   * Deliveries of the event, and why other webhooks did not receive it. One entry per webhook, newest webhook first.
   */
  matches(query: { readonly eventId: string } & ListQuery): Promise<List<EventMatch>>;
}

export interface LibraryWebhooks extends Omit<Scoped<WebhookService>, "list" | "history"> {
  list(query?: Filters<WebhookListQuery>): Promise<List<WebhookView>>;
  /** History of a webhook, or only its configuration revisions, newest first. */
  history(
    query: { readonly webhookId: string; readonly revisionsOnly?: boolean } & ListQuery,
  ): Promise<List<StoredHistoryEntry>>;
}

export interface LibraryDeliveries extends Omit<Scoped<DeliveryService>, "list" | "listOfWebhook"> {
  list(query?: Filters<DeliveryListQuery>): Promise<FoundList<ListedDelivery>>;
  listOfWebhook(
    query: { readonly webhookId: string } & Filters<DeliveryFiltersWithin>,
  ): Promise<FoundList<ListedDelivery>>;
}

export interface LibraryDeadLetters extends Omit<Scoped<DeadLetterService>, "list" | "retryBatch"> {
  list(query?: Filters<DeadLetterQuery>): Promise<List<DeliveryView>>;
  retryBatch(command?: RetryBatchCommand): ReturnType<DeadLetterService["retryBatch"]>;
}

export interface LibraryProblems extends Omit<Scoped<ProblemService>, "list"> {
  /** Most recently changed first. */
  list(query?: Filters<ProblemListQuery>): Promise<FoundList<DeliveryProblemView>>;
}

export interface LibraryEventTypes extends Omit<Scoped<EventTypeService>, "list" | "get" | "put" | "delete"> {
  /** Sorted by tenant and name, not by age. */
  list(query?: Filters<EventTypeListQuery>): Promise<List<EventType>>;
  get(query: Lenient<EventTypeName>): ReturnType<EventTypeService["get"]>;
  put(command: Lenient<EventTypeInput>): ReturnType<EventTypeService["put"]>;
  delete(query: Lenient<EventTypeName>): ReturnType<EventTypeService["delete"]>;
}

export type LibraryApiKeys = Omit<Scoped<ApiKeyService>, "authenticate">;

/** Paging parameters of every list, which are accepted in addition to its filters. */
export interface ListQuery {
  /** Rows per page, 1 to 250; default 50. */
  readonly limit?: number | undefined;
  /** The value of `next` from the previous page. */
  readonly cursor?: string | undefined;
}

/** The result of every list, newest first. */
export interface List<Row> {
  readonly rows: readonly Row[];
  /** Cursor of the next page; null on the last page. */
  readonly next: string | null;
}

/** The result of a search. A page ends after a quarter of a second, regardless of how many rows were found. */
export interface FoundList<Row> extends List<Row> {
  /**
   * Unix milliseconds: rows older than this have not been searched yet. Null if all rows have been searched, or if the
   * rows are sorted by next attempt.
   */
  readonly searchedTo: number | null;
  /** False if the page ended before it was full. In that case, more rows may match. */
  readonly isComplete: boolean;
}

/** Makes the `Named` fields and all nullable fields optional. */
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

/** Converts a library call to a call of a service whose scope is already filled in. */
type Adapter = (call: (argument: object) => Promise<unknown>, given: object | undefined) => Promise<unknown>;

/** Calls without an adapter receive their arguments unchanged. */
type Adapters<Service> = { readonly [Method in keyof Service]?: Adapter };

/** The services that the library offers. */
type ServiceName =
  | "events"
  | "webhooks"
  | "deliveries"
  | "deadLetters"
  | "problems"
  | "eventTypes"
  | "tenants"
  | "apiKeys";

/** Adapters for the calls of each service, derived from the fields of its resources. */
const adapters: { readonly [Name in ServiceName]: Adapters<Services[Name]> } = {
  events: {
    list: lists(byPlace(), allNull(eventListFields)),
    deliveries: lists(byPlace(), allNull(deliveryFilterFields), "eventId"),
    matches: lists(
      {
        pageOf: (limit, cursor) => ({ page: { limit, offset: 0, after: cursor } }),
        resultOf: (found: List<EventMatch>) => found,
      },
      {},
      "eventId",
    ),
    replay: takes(replayFields, "eventId"),
  },
  webhooks: {
    list: lists(
      {
        pageOf: (limit, cursor) => ({ limit, offset: 0, after: cursor }),
        resultOf: ({ views, next }: Awaited<ReturnType<WebhookService["list"]>>) => ({ rows: views, next }),
      },
      allNull(webhookFilters),
    ),
    history: lists(byNumber(), { revisionsOnly: false }, "webhookId"),
    circuit: takes(circuitActionFields, "id"),
    rotateSecret: takes(rotateFields, "id"),
    reportIncident: takes(incidentFields, "id"),
    test: takes(testFields, "id"),
    recover: takes(recoverFields, "id"),
  },
  deliveries: {
    list: lists(byPlace(), allNull(deliveryListFields)),
    listOfWebhook: lists(byPlace(), allNull(deliveryFilterFields), "webhookId"),
    retry: takes(deliveryRetryFields, "webhookId", "deliveryId"),
    retryBatch: inBulkWords(takes(retryDeliveriesFields)),
    cancelBatch: inBulkWords(takes(cancelDeliveriesFields)),
  },
  deadLetters: {
    list: lists(byNumber(), allNull(deadLetterFilters)),
    retryBatch: takes(retryBatchFields),
    discardBatch: inBulkWords(takes(discardFields)),
    change: takes(operationChangeFields, "id"),
  },
  problems: { list: lists(byPlace(), allNull(problemFilters)), change: takes(problemChangeFields, "id") },
  eventTypes: {
    list: lists(
      {
        pageOf: (limit, cursor) => ({ limit, after: cursor === null ? null : eventTypeKeyOf(cursor) }),
        resultOf: ({ rows, next }: Awaited<ReturnType<EventTypeService["list"]>>) => ({
          rows,
          next: next && `${next.tenantId}/${next.name}`,
        }),
      },
      { tenantId: null },
    ),
    get: (call, query = {}) => call(filled(query, { tenantId: null }, ["name"])),
    put: (call, command) => call({ ...command, tenantId: (command as EventTypeInput).tenantId ?? null }),
    delete: (call, query = {}) => call(filled(query, { tenantId: null }, ["name"])),
  },
  tenants: {},
  apiKeys: { create: takes(apiKeyFields) },
};

/** A service with its scope filled in. Calls reject and never throw. */
export function libraryOf<Library extends object>(
  services: Services,
  name: ServiceName,
  scope: Scope,
): Library {
  const adapted: Readonly<Record<string | symbol, Adapter | undefined>> = adapters[name];
  return new Proxy(services[name], {
    get: (target, member) => {
      const method: unknown = Reflect.get(target, member);
      if (typeof method !== "function") return undefined;
      const call = (...rest: unknown[]): unknown => Reflect.apply(method, target, [scope, ...rest]);
      return async (...rest: unknown[]) => {
        try {
          const adapter = adapted[member];
          if (adapter === undefined) return await call(...rest);
          return await adapter(async (argument) => call(argument), rest[0] as object | undefined);
        } catch (error) {
          throw inLibraryWords(error);
        }
      };
    },
  }) as unknown as Library;
}

/** Adapter for a command with these fields and ids, which is passed on unchanged. */
function takes(fields: Fields, ...ids: readonly string[]): Adapter {
  const names = Object.keys(fields);
  const required = [...ids, ...names.filter((name) => fields[name]?.isRequired === true)];
  const optional = allNull(names.filter((name) => !required.includes(name)));
  return async (call, command = {}) => {
    filled(command, optional, required);
    return call(command);
  };
}

/** How a service pages its lists. */
interface Paging<Found> {
  readonly pageOf: (limit: number, cursor: string | null) => object;
  readonly resultOf: (found: Found) => List<unknown>;
}

function lists<Found>(
  { pageOf, resultOf }: Paging<Found>,
  defaults: object,
  ...required: readonly string[]
): Adapter {
  const known = { ...defaults, limit: defaultOf(pageLimitField), cursor: null };
  return async (call, query = {}) => {
    const { limit, cursor, ...filters } = filled(query, known, required) as {
      readonly limit: number;
      readonly cursor: string | null;
    };
    const problems = judgeField(pageLimitField, "limit", limit);
    if (problems.length > 0) throw refused(problems);
    return resultOf((await call({ ...filters, ...pageOf(limit, cursor) })) as Found);
  };
}

/** Paging of searches. */
function byPlace(): Paging<SearchedPage<unknown>> {
  return {
    pageOf: (limit, cursor) => {
      const after = cursor === null ? null : placeWords.placeOf(cursor);
      if (cursor !== null && after === null) throw notACursor();
      return { page: { limit, offset: 0, after } };
    },
    resultOf: (page): FoundList<unknown> => ({
      rows: page.rows,
      next: page.next === null ? null : placeWords.wordOf(page.next),
      searchedTo: page.searchedTo,
      isComplete: page.isComplete,
    }),
  };
}

function byNumber(): Paging<Page<unknown>> {
  return {
    pageOf: (limit, cursor) => {
      if (cursor !== null && !/^\d{1,15}$/.test(cursor)) throw notACursor();
      return { page: { limit, before: cursor === null ? null : Number(cursor), offset: 0 } };
    },
    resultOf: ({ rows, next }) => ({ rows, next: next === null ? null : String(next) }),
  };
}

/** Parses `tenant/name`; neither part can contain a slash. */
function eventTypeKeyOf(cursor: string): EventTypeKey {
  const [tenantId, name, ...more] = cursor.split("/");
  if (tenantId === undefined || name === undefined || more.length > 0) throw notACursor();
  return { tenantId, name };
}

function notACursor(): PosthornError {
  return new PosthornError("invalid_cursor", "the cursor is not the `next` value of a page");
}

function allNull(names: object): object {
  const known = Array.isArray(names) ? (names as string[]) : Object.keys(names);
  return Object.fromEntries(known.map((name) => [name, null]));
}

const times: ReadonlySet<string> = new Set(["from", "to"]);

/** A command with defaults applied. Unknown and missing fields are rejected; the error names them. */
function filled(given: object, defaults: object, required: readonly string[]): object {
  const problems: FieldError[] = [];
  const values = Object.entries(given as Readonly<Record<string, unknown>>).filter(
    ([, value]) => value !== undefined,
  );
  const known = [...Object.keys(defaults), ...required];
  for (const [field, value] of values) {
    if (!known.includes(field)) problems.push({ field, message: unknownField(field, known) });
    else if (times.has(field) && value !== null && !Number.isFinite(value))
      problems.push({ field, message: sentenceOf({ is: "time", takesDates: false }) });
  }
  for (const field of required)
    if (!values.some(([name]) => name === field)) problems.push({ field, message: missing });
  if (problems.length > 0) throw refused(problems);
  return { ...defaults, ...Object.fromEntries(values) };
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

/**
 * Services use the API's field names; this renames them to those of the library. The error object itself stays the
 * same.
 */
export function inLibraryWords(error: unknown, otherNames = namesOfFields): unknown {
  if (!(error instanceof PosthornError) || error.fields.length === 0 || renamedErrors.has(error))
    return error;
  const libraryName = (path: string): string => nameIn(otherNames, path);
  renamedErrors.add(error);
  const names = new Map<string, string>();
  const fields = error.fields.map(({ field, message }) => {
    for (const part of [field, ...field.split(/[.[]/)]) names.set(part, libraryName(part));
    return { field: libraryName(field), message };
  });
  const longestFirst = [...names].toSorted(([a], [b]) => b.length - a.length);
  const rename = (text: string): string => {
    let renamed = text;
    for (const [api, own] of longestFirst) if (api !== own) renamed = renamed.replaceAll(api, own);
    return renamed;
  };
  const inWords = fields.map(({ field, message }) => ({ field, message: rename(message) }));
  return Object.assign(error, { message: rename(error.message), fields: inWords });
}

const renamedErrors = new WeakSet<PosthornError>();

type OtherNames = ReadonlyMap<string, string>;

/** Maps API paths of fields to their library names, where these differ. */
const namesOfFields: OtherNames = new Map(
  [webhookFields, retryBatchFields, recoverFields].flatMap((fields) => otherNamesOf(fields)),
);

/** Bulk calls have a filter object in the library as well as in the API. */
const namesOfBulk: OtherNames = new Map(
  [retryDeliveriesFields, discardFields].flatMap((fields) => {
    const within = fields.filter.kind.is === "object" ? fields.filter.kind.fields : {};
    return otherNamesOf(fields).concat(otherNamesOf(within, "filter."));
  }),
);

function otherNamesOf(fields: Fields, prefix = ""): readonly (readonly [api: string, own: string])[] {
  return Object.entries(fields)
    .filter(([, { api, within }]) => api !== null || within !== null)
    .map(([name, field]) => [`${prefix}${apiPath(name, field)}`, `${prefix}${name}`] as const);
}

/** Translates field names in errors of bulk calls, where some names have a different meaning. */
function inBulkWords(adapter: Adapter): Adapter {
  return async (call, given) => {
    try {
      return await adapter(call, given);
    } catch (error) {
      throw inLibraryWords(error, namesOfBulk);
    }
  };
}

function nameIn(otherNames: OtherNames, path: string): string {
  let name = path;
  for (const [api, own] of otherNames) {
    const rest = path.slice(api.length);
    if (path.startsWith(api) && /^(?:[.[]|$)/.test(rest)) name = `${own}${rest}`;
  }
  return name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
