/**
 * The services as the library offers them: nothing has to be null, every list takes and answers the same shape, and
 * errors name fields as the caller wrote them.
 */
import { closestName } from "../core/closest-name.ts";
import { type FieldError, InvalidRequestError, PosthornError } from "../core/errors.ts";
import { apiKeyFields } from "../core/fields/api-key.ts";
import { apiPath, defaultOf } from "../core/fields/field.ts";
import type { Fields } from "../core/fields/field.ts";
import { judgeField } from "../core/fields/judge.ts";
import { pageLimitField } from "../core/fields/page.ts";
import {
  circuitActionFields,
  deliveryRetryFields,
  incidentFields,
  recoverFields,
  replayFields,
  retryBatchFields,
  rotateFields,
  testFields,
} from "../core/fields/actions.ts";
import { webhookFields } from "../core/fields/webhook.ts";
import type {
  ApiKeyInput,
  ApiKeyService,
  CircuitCommand,
  DeadLetterService,
  DeliveryListQuery,
  DeliveryService,
  DeliveryView,
  EventListQuery,
  EventService,
  EventTypeListQuery,
  EventTypeService,
  RecoverCommand,
  ReportIncidentCommand,
  RetryBatchCommand,
  RotateSecretCommand,
  Scope,
  Services,
  WebhookListQuery,
  WebhookService,
  WebhookView,
} from "../engine/services.ts";
import type { Page } from "../ports/store.ts";
import type { DeadLetterQuery, StoredEvent } from "../ports/store/history.ts";
import type { EventType, EventTypeKey } from "../ports/store/registry.ts";

/** What every list takes, beside its filters. */
export interface ListQuery {
  /** Rows of one page, 1 to 250; 50 when left out. */
  readonly limit?: number | undefined;
  /** `next` of the page before. */
  readonly cursor?: string | undefined;
}

/** What every list answers, newest first. */
export interface List<Row> {
  readonly rows: readonly Row[];
  /** Where the next page begins; null when there is none. */
  readonly next: string | null;
}

/** Whatever may be null may be left out, and so may what is named. */
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

/** Filters of a list with the shape of every list. */
export type Filters<Query> = Lenient<Omit<Query, "page" | "limit" | "offset" | "after">> & ListQuery;

/** A service without its first parameter, the scope, which the library fills in. */
export type Scoped<Service> = {
  readonly [Method in keyof Service as Service[Method] extends (scope: Scope, ...rest: never) => unknown
    ? Method
    : never]: Service[Method] extends (scope: Scope, ...rest: infer Rest) => infer Result
    ? (...rest: Rest) => Result
    : never;
};

type Replaced<Service, Calls> = Omit<Scoped<Service>, keyof Calls> & Calls;
type CommandOf<Call extends (...args: never) => unknown> = Parameters<Call>[1];

export type LibraryEvents = Replaced<Omit<EventService, "publish" | "publishMany">, EventCalls>;
export type LibraryWebhooks = Replaced<WebhookService, WebhookCalls>;
export type LibraryDeliveries = Replaced<DeliveryService, DeliveryCalls>;
export type LibraryDeadLetters = Replaced<DeadLetterService, DeadLetterCalls>;
export type LibraryEventTypes = Replaced<EventTypeService, EventTypeCalls>;
export type LibraryApiKeys = Replaced<Omit<ApiKeyService, "authenticate">, ApiKeyCalls>;

interface EventCalls {
  list(query?: Filters<EventListQuery>): Promise<List<StoredEvent>>;
  deliveries(query: { readonly eventId: string } & ListQuery): Promise<List<DeliveryView>>;
  /** To the named webhooks, or to all that now subscribe to its type. */
  replay(command: CommandOf<EventService["replay"]>): ReturnType<EventService["replay"]>;
}

interface WebhookCalls {
  list(query?: Filters<WebhookListQuery>): Promise<List<WebhookView>>;
  circuit(command: CircuitCommand): ReturnType<WebhookService["circuit"]>;
  rotateSecret(command: RotateSecretCommand): ReturnType<WebhookService["rotateSecret"]>;
  reportIncident(command: ReportIncidentCommand): ReturnType<WebhookService["reportIncident"]>;
  test(command: CommandOf<WebhookService["test"]>): ReturnType<WebhookService["test"]>;
  recover(command: RecoverCommand): ReturnType<WebhookService["recover"]>;
}

interface DeliveryCalls {
  list(query: Filters<DeliveryListQuery>): Promise<List<DeliveryView>>;
  retry(command: CommandOf<DeliveryService["retry"]>): ReturnType<DeliveryService["retry"]>;
}

interface DeadLetterCalls {
  list(query?: Filters<DeadLetterQuery>): Promise<List<DeliveryView>>;
  retryBatch(command?: RetryBatchCommand): ReturnType<DeadLetterService["retryBatch"]>;
}

interface EventTypeCalls {
  /** By tenant and name, not by age. */
  list(query?: Filters<EventTypeListQuery>): Promise<List<EventType>>;
  get(query: Lenient<CommandOf<EventTypeService["get"]>>): ReturnType<EventTypeService["get"]>;
  put(command: Lenient<CommandOf<EventTypeService["put"]>>): ReturnType<EventTypeService["put"]>;
  delete(query: Lenient<CommandOf<EventTypeService["delete"]>>): ReturnType<EventTypeService["delete"]>;
}

interface ApiKeyCalls {
  create(input: ApiKeyInput): ReturnType<ApiKeyService["create"]>;
}

export function libraryEvents({ events }: Services, scope: Scope): LibraryEvents {
  return withCalls<LibraryEvents>(events, scope, {
    list: (query) => {
      const { filters, page } = listOf(query, { eventType: null, from: null, to: null, tenantId: null });
      return events.list(scope, { ...filters, page }).then(answerOf);
    },
    deliveries: (query) => {
      const { filters, page } = listOf(query, {}, ["eventId"]);
      return events.deliveries(scope, { eventId: filters.eventId, page }).then(answerOf);
    },
    replay: (command) => events.replay(scope, withKnownNames(command, { eventId: needed, ...replayFields })),
  } satisfies EventCalls);
}

export function libraryWebhooks({ webhooks }: Services, scope: Scope): LibraryWebhooks {
  return withCalls<LibraryWebhooks>(webhooks, scope, {
    list: async (query) => {
      const { cursor = null, ...rest } = query ?? {};
      const { filters, page } = listOf(rest, { active: null, eventType: null, tenantId: null });
      const { limit } = page;
      const { views, next } = await webhooks.list(scope, { ...filters, limit, offset: 0, after: cursor });
      return { rows: views, next };
    },
    circuit: (command) =>
      webhooks.circuit(scope, withKnownNames(command, { id: needed, ...circuitActionFields })),
    rotateSecret: (command) =>
      webhooks.rotateSecret(scope, withKnownNames(command, { id: needed, ...rotateFields })),
    reportIncident: (command) =>
      webhooks.reportIncident(scope, withKnownNames(command, { id: needed, ...incidentFields })),
    test: (command) => webhooks.test(scope, withKnownNames(command, { id: needed, ...testFields })),
    recover: (command) => webhooks.recover(scope, withKnownNames(command, { id: needed, ...recoverFields })),
  } satisfies WebhookCalls);
}

export function libraryDeliveries({ deliveries }: Services, scope: Scope): LibraryDeliveries {
  return withCalls<LibraryDeliveries>(deliveries, scope, {
    list: (query) => {
      const { filters, page } = listOf(query, { status: null, from: null, to: null }, ["webhookId"]);
      return deliveries.list(scope, { ...filters, page }).then(answerOf);
    },
    retry: (command) =>
      deliveries.retry(
        scope,
        withKnownNames(command, { webhookId: needed, deliveryId: needed, ...deliveryRetryFields }),
      ),
  } satisfies DeliveryCalls);
}

export function libraryDeadLetters({ deadLetters }: Services, scope: Scope): LibraryDeadLetters {
  return withCalls<LibraryDeadLetters>(deadLetters, scope, {
    list: (query) => {
      const filter = { webhookIds: null, eventTypes: null, categories: null, from: null, to: null };
      const { filters, page } = listOf(query, { ...filter, tenantId: null });
      return deadLetters.list(scope, { ...filters, page }).then(answerOf);
    },
    retryBatch: (command = {}) => deadLetters.retryBatch(scope, withKnownNames(command, retryBatchFields)),
  } satisfies DeadLetterCalls);
}

export function libraryEventTypes({ eventTypes }: Services, scope: Scope): LibraryEventTypes {
  const tenant = { tenantId: null };
  return withCalls<LibraryEventTypes>(eventTypes, scope, {
    list: async (query) => {
      const { cursor = null, ...rest } = query ?? {};
      const { filters, page } = listOf(rest, tenant);
      const after = cursor === null ? null : eventTypeKeyOf(cursor);
      const { rows, next } = await eventTypes.list(scope, { ...filters, limit: page.limit, after });
      return { rows, next: next && `${next.tenantId}/${next.name}` };
    },
    get: (query) => eventTypes.get(scope, filled(query, tenant, ["name"])),
    put: ({ tenantId = null, ...command }) => eventTypes.put(scope, { ...command, tenantId }),
    delete: (query) => eventTypes.delete(scope, filled(query, tenant, ["name"])),
  } satisfies EventTypeCalls);
}

export function libraryApiKeys({ apiKeys }: Services, scope: Scope): LibraryApiKeys {
  return withCalls<LibraryApiKeys>(apiKeys, scope, {
    create: (input) => apiKeys.create(scope, withKnownNames(input, apiKeyFields)),
  } satisfies ApiKeyCalls);
}

type AnyCall = (...rest: unknown[]) => unknown;

/** The service with its scope filled in, and with these calls in place of its own. Every call rejects, none throws. */
export function withCalls<Library extends object>(service: object, scope: Scope, calls: object): Library {
  return new Proxy(service, {
    get: (target, name) => {
      const own: unknown = Reflect.get(calls, name);
      const method: unknown = own ?? Reflect.get(target, name);
      if (typeof method !== "function") return undefined;
      return async (...rest: unknown[]) => {
        try {
          const args = own === undefined ? [scope, ...rest] : rest;
          return await (method as AnyCall).apply(target, args);
        } catch (error) {
          throw inLibraryWords(error);
        }
      };
    },
  }) as unknown as Library;
}

/** Splits a query into its filters, all of them there, and the page. */
function listOf<Query extends object, Defaults extends object, Required extends string = never>(
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

function pageOf(limit: number, cursor: string | null) {
  if (cursor !== null && !/^\d{1,15}$/.test(cursor))
    throw new PosthornError("invalid_cursor", "the cursor is not the `next` of a page");
  return { limit, before: cursor === null ? null : Number(cursor), offset: 0 };
}

/** `tenant/name`: neither can hold a slash. */
function eventTypeKeyOf(cursor: string): EventTypeKey {
  const [tenantId, name, ...more] = cursor.split("/");
  if (tenantId === undefined || name === undefined || more.length > 0)
    throw new PosthornError("invalid_cursor", "the cursor is not the `next` of a page");
  return { tenantId, name };
}

function answerOf<Row>({ rows, next }: Page<Row>): List<Row> {
  return { rows, next: next === null ? null : String(next) };
}

/** What is there after the defaults were filled in. */
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

/** A command with what was left out. A name that means nothing, and what has to be there, is refused by name. */
function filled<Given extends object, Defaults extends object>(
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

const needed = { isRequired: true };

/** A command as it was given. A name that means nothing, and what has to be there, is refused by name. */
function withKnownNames<Given extends object>(
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
    ? `is not a known field; there is ${known.join(", ")}`
    : `is not a known field; did you mean ${nearest}?`;
}

function refused(problems: readonly FieldError[]): InvalidRequestError {
  const text = problems.map(({ field, message }) => `${field} ${message}`).join("; ");
  return new InvalidRequestError(`the call is not valid: ${text}`, problems);
}

/** Services name fields as the API does; here they have the names of the library. The error stays the same object. */
export function inLibraryWords(error: unknown): unknown {
  if (!(error instanceof PosthornError) || error.fields.length === 0) return error;
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

/** Paths of the API that the library has under another name. */
const otherNames: ReadonlyMap<string, string> = new Map(
  [webhookFields, retryBatchFields, recoverFields].flatMap((fields: Fields) =>
    Object.entries(fields)
      .filter(([, { api, within }]) => api !== null || within !== null)
      .map(([name, field]) => [apiPath(name, field), name] as const),
  ),
);

function libraryName(path: string): string {
  let name = path;
  for (const [api, own] of otherNames) {
    const rest = path.slice(api.length);
    if (path.startsWith(api) && /^(?:[.[]|$)/.test(rest)) name = `${own}${rest}`;
  }
  return name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
