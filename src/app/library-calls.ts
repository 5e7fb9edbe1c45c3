/**
 * The services as library calls: null values may be omitted, all lists have the same shape, and errors use the field
 * names of the library.
 */
import { PosthornError } from "../domain/errors.ts";
import type {
  ApiKeyInput,
  ApiKeyService,
  BulkDeliveriesCommand,
  ChangeOperationCommand,
  ChangeProblem,
  CircuitCommand,
  DeadLetterService,
  DeliveryFiltersWithin,
  DeliveryListQuery,
  DeliveryProblemView,
  DeliveryService,
  DeliveryView,
  DiscardCommand,
  EventListQuery,
  EventMatch,
  EventService,
  EventTypeInput,
  EventTypeName,
  EventTypeService,
  ListedDelivery,
  ProblemListQuery,
  ProblemService,
  RecoverCommand,
  ReplayCommand,
  ReportIncidentCommand,
  RetryBatchCommand,
  RetryDeliveryCommand,
  RotateSecretCommand,
  Scope,
  Services,
  TestWebhookCommand,
  WebhookListQuery,
  WebhookService,
  WebhookView,
} from "../features/services.ts";
import type { EventTypeListQuery } from "../features/event-types/event-type-service.ts";
import type { DeadLetterQuery } from "../features/deliveries/dead-letter-service.ts";
import type { EventSummary } from "../ports/store/history.ts";
import type { EventType, EventTypeKey } from "../ports/store/registry.ts";
import type { StoredHistoryEntry } from "../ports/store/webhooks.ts";
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
import { problemChangeFields, problemFilters } from "../resources/delivery-problem.ts";
import { deliveryFilterFields, deliveryListFields } from "../resources/delivery.ts";
import { eventListFields } from "../resources/event.ts";
import { apiPath, type Fields } from "../resources/field.ts";
import {
  cancelDeliveriesFields,
  discardFields,
  operationChangeFields,
  retryDeliveriesFields,
} from "../resources/operation.ts";
import { webhookFields, webhookFilters } from "../resources/webhook.ts";
import {
  allNull,
  answerOf,
  filled,
  type Filters,
  type FoundList,
  foundOf,
  type Lenient,
  type List,
  listOf,
  type ListQuery,
  needed,
  notACursor,
  searchOf,
  withKnownNames,
} from "./library-queries.ts";

export type { Filters, Lenient, List, ListQuery };

/** A service without its first parameter, the scope, which the library fills in. */
export type Scoped<Service> = {
  readonly [Method in keyof Service as Service[Method] extends (scope: Scope, ...rest: never) => unknown
    ? Method
    : never]: Service[Method] extends (scope: Scope, ...rest: infer Rest) => infer Result
    ? (...rest: Rest) => Result
    : never;
};

type Replaced<Service, Calls> = Omit<Scoped<Service>, keyof Calls> & Calls;

export type LibraryEvents = Replaced<Omit<EventService, "publish" | "publishMany">, EventCalls>;
export type LibraryWebhooks = Replaced<WebhookService, WebhookCalls>;
export type LibraryDeliveries = Replaced<DeliveryService, DeliveryCalls>;
export type LibraryDeadLetters = Replaced<DeadLetterService, DeadLetterCalls>;
export type LibraryEventTypes = Replaced<EventTypeService, EventTypeCalls>;
export type LibraryProblems = Replaced<ProblemService, ProblemCalls>;
export type LibraryApiKeys = Replaced<Omit<ApiKeyService, "authenticate">, ApiKeyCalls>;

interface EventCalls {
  /** Without bodies. */
  list(query?: Filters<EventListQuery>): Promise<FoundList<EventSummary>>;
  deliveries(
    query: { readonly eventId: string } & Filters<DeliveryFiltersWithin>,
  ): Promise<FoundList<ListedDelivery>>;
  /** Deliveries of the event, and why other webhooks got none: by webhook, newest first. */
  matches(query: { readonly eventId: string } & ListQuery): Promise<List<EventMatch>>;
  /** To the named webhooks, or to all that subscribe to its type now. */
  replay(command: ReplayCommand): ReturnType<EventService["replay"]>;
}

interface WebhookCalls {
  list(query?: Filters<WebhookListQuery>): Promise<List<WebhookView>>;
  /** History of a webhook, or only its configuration revisions, newest first. */
  history(
    query: { readonly webhookId: string; readonly revisionsOnly?: boolean } & ListQuery,
  ): Promise<List<StoredHistoryEntry>>;
  circuit(command: CircuitCommand): ReturnType<WebhookService["circuit"]>;
  rotateSecret(command: RotateSecretCommand): ReturnType<WebhookService["rotateSecret"]>;
  reportIncident(command: ReportIncidentCommand): ReturnType<WebhookService["reportIncident"]>;
  test(command: TestWebhookCommand): ReturnType<WebhookService["test"]>;
  recover(command: RecoverCommand): ReturnType<WebhookService["recover"]>;
}

interface DeliveryCalls {
  list(query?: Filters<DeliveryListQuery>): Promise<FoundList<ListedDelivery>>;
  listOfWebhook(
    query: { readonly webhookId: string } & Filters<DeliveryFiltersWithin>,
  ): Promise<FoundList<ListedDelivery>>;
  retry(command: RetryDeliveryCommand): ReturnType<DeliveryService["retry"]>;
  retryBatch(command: BulkDeliveriesCommand): ReturnType<DeliveryService["retryBatch"]>;
  cancelBatch(command: Omit<BulkDeliveriesCommand, "priority">): ReturnType<DeliveryService["cancelBatch"]>;
}

interface DeadLetterCalls {
  list(query?: Filters<DeadLetterQuery>): Promise<List<DeliveryView>>;
  retryBatch(command?: RetryBatchCommand): ReturnType<DeadLetterService["retryBatch"]>;
  discardBatch(command: DiscardCommand): ReturnType<DeadLetterService["discardBatch"]>;
  change(command: ChangeOperationCommand): ReturnType<DeadLetterService["change"]>;
}

interface ProblemCalls {
  /** Most recently changed first. */
  list(query?: Filters<ProblemListQuery>): Promise<FoundList<DeliveryProblemView>>;
  change(command: ChangeProblem): ReturnType<ProblemService["change"]>;
}

interface EventTypeCalls {
  /** Sorted by tenant and name, not by age. */
  list(query?: Filters<EventTypeListQuery>): Promise<List<EventType>>;
  get(query: Lenient<EventTypeName>): ReturnType<EventTypeService["get"]>;
  put(command: Lenient<EventTypeInput>): ReturnType<EventTypeService["put"]>;
  delete(query: Lenient<EventTypeName>): ReturnType<EventTypeService["delete"]>;
}

interface ApiKeyCalls {
  create(input: ApiKeyInput): ReturnType<ApiKeyService["create"]>;
}

export function libraryEvents({ events }: Services, scope: Scope): LibraryEvents {
  return withCalls<LibraryEvents>(events, scope, {
    list: (query) => {
      const { filters, page } = searchOf(query, allNull(eventListFields));
      return events.list(scope, { ...filters, page }).then(foundOf);
    },
    deliveries: (query) => {
      const { filters, page } = searchOf(query, withinOne, ["eventId"]);
      return events.deliveries(scope, { ...filters, page }).then(foundOf);
    },
    matches: ({ cursor = null, ...query }) => {
      const { filters, page } = listOf(query, {}, ["eventId"]);
      const { limit } = page;
      return events.matches(scope, { ...filters, page: { limit, offset: 0, after: cursor } });
    },
    replay: (command) => events.replay(scope, withKnownNames(command, { eventId: needed, ...replayFields })),
  } satisfies EventCalls);
}

export function libraryWebhooks({ webhooks }: Services, scope: Scope): LibraryWebhooks {
  return withCalls<LibraryWebhooks>(webhooks, scope, {
    list: async (query) => {
      const { cursor = null, ...rest } = query ?? {};
      const { filters, page } = listOf(rest, allNull(webhookFilters));
      const { limit } = page;
      const { views, next } = await webhooks.list(scope, { ...filters, limit, offset: 0, after: cursor });
      return { rows: views, next };
    },
    history: (query) => {
      const { filters, page } = listOf(query, { revisionsOnly: false }, ["webhookId"]);
      return webhooks.history(scope, { ...filters, page }).then(answerOf);
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
      const { filters, page } = searchOf(query, allNull(deliveryListFields));
      return deliveries.list(scope, { ...filters, page }).then(foundOf);
    },
    listOfWebhook: (query) => {
      const { filters, page } = searchOf(query, withinOne, ["webhookId"]);
      return deliveries.listOfWebhook(scope, { ...filters, page }).then(foundOf);
    },
    retry: (command) =>
      deliveries.retry(
        scope,
        withKnownNames(command, { webhookId: needed, deliveryId: needed, ...deliveryRetryFields }),
      ),
    retryBatch: (command) =>
      inBulkWords(deliveries.retryBatch(scope, withKnownNames(command, retryDeliveriesFields))),
    cancelBatch: (command) =>
      inBulkWords(deliveries.cancelBatch(scope, withKnownNames(command, cancelDeliveriesFields))),
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
    discardBatch: (command) =>
      inBulkWords(deadLetters.discardBatch(scope, withKnownNames(command, discardFields))),
    change: (command) =>
      deadLetters.change(scope, withKnownNames(command, { id: needed, ...operationChangeFields })),
  } satisfies DeadLetterCalls);
}

export function libraryProblems({ problems }: Services, scope: Scope): LibraryProblems {
  return withCalls<LibraryProblems>(problems, scope, {
    list: (query) => {
      const { filters, page } = searchOf(query, allNull(problemFilters));
      return problems.list(scope, { ...filters, page }).then(foundOf);
    },
    change: (command) =>
      problems.change(scope, withKnownNames(command, { id: needed, ...problemChangeFields })),
  } satisfies ProblemCalls);
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

/** `tenant/name`: neither can contain a slash. */
function eventTypeKeyOf(cursor: string): EventTypeKey {
  const [tenantId, name, ...more] = cursor.split("/");
  if (tenantId === undefined || name === undefined || more.length > 0) throw notACursor();
  return { tenantId, name };
}

const withinOne = allNull(deliveryFilterFields);

type AnyCall = (...rest: unknown[]) => unknown;

/** The service with its scope filled in and with these calls overridden. Calls reject and never throw. */
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

/**
 * Services use the field names of the API; this renames them to those of the library. The error stays the same
 * object.
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

/** API paths that have a different name in the library. */
const namesOfFields: OtherNames = new Map(
  [webhookFields, retryBatchFields, recoverFields].flatMap((fields) => otherNamesOf(fields)),
);

/** Bulk calls have a filter object in the library too. */
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

/** Some names mean something else in bulk calls. */
async function inBulkWords<Result>(call: Promise<Result>): Promise<Result> {
  try {
    return await call;
  } catch (error) {
    throw inLibraryWords(error, namesOfBulk);
  }
}

function nameIn(otherNames: OtherNames, path: string): string {
  let name = path;
  for (const [api, own] of otherNames) {
    const rest = path.slice(api.length);
    if (path.startsWith(api) && /^(?:[.[]|$)/.test(rest)) name = `${own}${rest}`;
  }
  return name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
