import { matches } from "../../../domain/event-type.ts";
import { relayedKeyPrefix } from "../../../features/gateway/relayed.ts";
import type { DeliveryFilter, EventFilter, HttpStatusFilter } from "../../../ports/store/search.ts";
import { categoryCodes, exhausted, originCodes, stateCodes } from "../../column-values.ts";
import { asksForDeadLetters } from "../../history-rows.ts";
import { type ChunkKind, chunkKinds } from "../driver/chunks.ts";
import type { StringTable } from "../driver/string-table.ts";

type Value = number | string;

/** A table to search. */
export interface SearchTable {
  readonly kind: ChunkKind;
  readonly name: "events" | "deliveries";
  /** The index on the chunk and the owner of the row. */
  readonly ownerIndex: string;
  /** SQL for the event type of a row `d`. */
  readonly eventType: string;
}

/** Events are large and stored separately from their deliveries, so the type is read only when it is needed. */
export const deliveryTable: SearchTable = {
  kind: chunkKinds.deliveries,
  name: "deliveries",
  ownerIndex: "deliveries_owner",
  eventType: "(SELECT event_type FROM events WHERE seq = d.event)",
};
export const eventTable: SearchTable = {
  kind: chunkKinds.events,
  name: "events",
  ownerIndex: "events_tenant",
  eventType: "d.event_type",
};

/** Compiled filters of listings, searches and bulk work: conditions on rows `d` of a table. */
export interface SearchFilter {
  readonly table: SearchTable;
  readonly conditions: readonly string[];
  readonly values: readonly Value[];
  /** Matches the number of an event type; null if all types match. */
  readonly takesType: ((eventType: number) => boolean) | null;
  /** Conditions for the index on (chunk, tenant, webhook), if it can be used. */
  readonly owner: { readonly conditions: readonly string[]; readonly values: readonly Value[] } | null;
}

const oneOf = "IN (SELECT value FROM json_each(?))";
/** Beyond this number of pairs of tenant and webhook, the seeks in a chunk cost more than reading its rows. */
const ownersMax = 400;

class Draft {
  readonly conditions: string[] = [];
  readonly values: Value[] = [];

  add(condition: string, ...values: readonly Value[]): void {
    this.conditions.push(condition);
    this.values.push(...values);
  }

  /** One parameter for any list length, so that the statement can be cached. */
  among(column: string, values: readonly number[]): void {
    this.add(`${column} ${oneOf}`, JSON.stringify(values));
  }
}

/**
 * Returns null if no row can match. `tenantIds` are the tenants whose rows may be shown: the tenants of the webhooks if
 * only webhooks were given, or null for all tenants.
 */
export function searchFilter(
  strings: StringTable,
  filter: DeliveryFilter,
  tenantIds: readonly string[] | null,
): SearchFilter | null {
  const known = (words: readonly string[] | null): readonly number[] | null =>
    words?.map((word) => strings.find(word)).filter((ref) => ref !== null) ?? null;
  const tenants = known(tenantIds);
  const webhooks = known(filter.webhookIds);
  if (tenants?.length === 0 || webhooks?.length === 0) return null;
  const owner = new Draft();
  if (tenants !== null) owner.among("d.tenant", tenants);
  if (webhooks !== null) owner.among("d.webhook", webhooks);
  const draft = new Draft();
  addColumns(draft, filter);
  addLastAttempt(draft, filter);
  const owners = (tenants?.length ?? 1) * (webhooks?.length ?? 1);
  const isIndexed = owner.conditions.length > 0 && owners <= ownersMax;
  if (!isIndexed) draft.add([...owner.conditions, "true"].join(" AND "), ...owner.values);
  return {
    table: deliveryTable,
    conditions: draft.conditions,
    values: draft.values,
    takesType: filter.eventTypes === null ? null : typeTaker(strings, filter.eventTypes),
    owner: isIndexed ? owner : null,
  };
}

/** Null if no row can match. */
export function eventSearchFilter(strings: StringTable, filter: EventFilter): SearchFilter | null {
  const tenant = filter.tenantId === null ? null : strings.find(filter.tenantId);
  if (filter.tenantId !== null && tenant === null) return null;
  const draft = new Draft();
  const { source, unmatched, dataContains, from, to } = filter;
  if (from !== null) draft.add("d.created_at >= ?", from);
  if (to !== null) draft.add("d.created_at <= ?", to);
  if (source !== null) draft.add("d.source = ?", source);
  if (unmatched !== null) draft.add(`(d.delivery_count + d.requeue_count = 0) = ?`, unmatched ? 1 : 0);
  if (dataContains !== null) draft.add("instr(d.body, CAST(? AS BLOB)) > 0", dataContains);
  return {
    table: eventTable,
    conditions: draft.conditions,
    values: draft.values,
    takesType: filter.eventTypes === null ? null : typeTaker(strings, filter.eventTypes),
    owner: tenant === null ? null : { conditions: ["d.tenant = ?"], values: [tenant] },
  };
}

export const isDeadLetter = `d.state = ${exhausted}`;

function addColumns(draft: Draft, filter: DeliveryFilter): void {
  const { states, categories, origins, attemptMin, sourceId, from, to } = filter;
  // A constant, so that the partial index of dead letters covers it.
  if (asksForDeadLetters(filter)) draft.add(isDeadLetter);
  else if (states !== null)
    draft.among(
      "d.state",
      states.map((state) => stateCodes.encode[state]),
    );
  if (categories !== null)
    draft.among(
      "d.category",
      categories.map((category) => categoryCodes.encode[category]),
    );
  if (origins !== null)
    draft.among(
      "d.origin",
      origins.map((origin) => originCodes.encode[origin]),
    );
  if (attemptMin !== null) draft.add("d.attempt_count >= ?", attemptMin);
  if (typeof sourceId === "string") {
    const prefix = relayedKeyPrefix(sourceId);
    const key = "(SELECT idempotency_key FROM events WHERE seq = d.event)";
    draft.add(`substr(${key}, 1, ?) = ?`, prefix.length, prefix);
  }
  if (from !== null) draft.add("d.created_at >= ?", from);
  if (to !== null) draft.add("d.created_at <= ?", to);
}

function addLastAttempt(draft: Draft, { httpStatuses, errorText }: DeliveryFilter): void {
  const attempt = new Draft();
  if (httpStatuses !== null) addStatuses(attempt, httpStatuses);
  if (errorText !== null) {
    const holds = (column: string) => `instr(lower(${column}), lower(?)) > 0`;
    attempt.add(`(${holds("a.error_message")} OR ${holds("a.response_sample")})`, errorText, errorText);
  }
  if (attempt.conditions.length === 0) return;
  const ofLast = ["a.key = (d.seq << 16) | d.attempt_count", ...attempt.conditions].join(" AND ");
  draft.add(`d.attempt_count > 0 AND EXISTS (SELECT 1 FROM attempts a WHERE ${ofLast})`, ...attempt.values);
}

function addStatuses(draft: Draft, { codes, classes, none }: HttpStatusFilter): void {
  const given = `a.status_code ${oneOf} OR a.status_code / 100 ${oneOf}`;
  draft.add(
    `(${given}${none ? " OR a.status_code IS NULL" : ""})`,
    JSON.stringify(codes),
    JSON.stringify(classes),
  );
}

/** Each type is checked only once, regardless of how many rows have it. */
function typeTaker(strings: StringTable, patterns: readonly string[]): (eventType: number) => boolean {
  const judged = new Map<number, boolean>();
  return (eventType) => {
    let takes = judged.get(eventType);
    if (takes === undefined) {
      const type = strings.text(eventType);
      takes = patterns.some((pattern) => matches(pattern, type));
      judged.set(eventType, takes);
    }
    return takes;
  };
}
