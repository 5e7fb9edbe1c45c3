import { Buffer } from "node:buffer";
import { relayedKeyPrefix } from "../../../features/gateway/relayed.ts";
import type { DeliveryFilter, EventFilter, HttpStatusFilter } from "../../../ports/store/search.ts";
import { categoryCodes, originCodes, stateCodes, storable } from "../../column-values.ts";
import type { Value } from "../driver/database.ts";
import { numbers, texts } from "../driver/sql.ts";

/** Collects the parameters of a statement; each `add` returns the number of a parameter. */
export class Parameters {
  readonly values: Value[] = [];

  add(value: Value): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }
}

/**
 * A compiled filter of listings, searches and bulk work: conditions on deliveries `d`, their last attempts `a`, and
 * their events `e`.
 */
export interface SearchConditions {
  readonly onRow: readonly string[];
  readonly onAttempt: readonly string[];
  readonly onEvent: readonly string[];
}

export function searchConditions(filter: DeliveryFilter, parameters: Parameters): SearchConditions {
  return {
    onRow: columnConditions(filter, parameters),
    onAttempt: attemptConditions(filter, parameters),
    onEvent: [
      ...(filter.eventTypes === null ? [] : [typeCondition(filter.eventTypes, parameters)]),
      ...(typeof filter.sourceId === "string"
        ? [`starts_with(e.idempotency_key, ${parameters.add(relayedKeyPrefix(filter.sourceId))})`]
        : []),
    ],
  };
}

/** Conditions on events `e`, which have the columns of a window; bodies require a lookup. */
export function eventConditions(filter: EventFilter, parameters: Parameters): readonly string[] {
  const { source, unmatched, dataContains, from, to, eventTypes } = filter;
  const conditions: string[] = [];
  if (source !== null) conditions.push(`e.source = ${parameters.add(storable(source))}`);
  if (unmatched !== null) conditions.push(`(e.deliveries = 0) = ${parameters.add(unmatched)}`);
  if (from !== null) conditions.push(`e.created_at >= ${parameters.add(from)}`);
  if (to !== null) conditions.push(`e.created_at <= ${parameters.add(to)}`);
  if (eventTypes !== null) conditions.push(typeCondition(eventTypes, parameters));
  if (dataContains !== null) {
    const bytes = parameters.add(Buffer.from(dataContains));
    conditions.push(
      `(SELECT position(${bytes}::bytea IN b.body) > 0 FROM posthorn.events b WHERE b.seq = e.seq)`,
    );
  }
  return conditions;
}

function columnConditions(filter: DeliveryFilter, parameters: Parameters): readonly string[] {
  const { states, categories, origins, attemptMin, from, to } = filter;
  const among = (column: string, codes: readonly number[]) =>
    `${column} = ANY (${parameters.add(numbers(codes))}::int[])`;
  const conditions: string[] = [];
  if (states !== null)
    conditions.push(
      among(
        "d.state",
        states.map((state) => stateCodes.encode[state]),
      ),
    );
  if (categories !== null)
    conditions.push(
      among(
        "d.category",
        categories.map((category) => categoryCodes.encode[category]),
      ),
    );
  if (origins !== null)
    conditions.push(
      among(
        "d.origin",
        origins.map((origin) => originCodes.encode[origin]),
      ),
    );
  if (attemptMin !== null) conditions.push(`d.attempt_count >= ${parameters.add(attemptMin)}`);
  if (from !== null) conditions.push(`d.created_at >= ${parameters.add(from)}`);
  if (to !== null) conditions.push(`d.created_at <= ${parameters.add(to)}`);
  return conditions;
}

function attemptConditions(
  { httpStatuses, errorText }: DeliveryFilter,
  parameters: Parameters,
): readonly string[] {
  const conditions: string[] = [];
  if (httpStatuses !== null) conditions.push(statusCondition(httpStatuses, parameters));
  if (errorText !== null) {
    const text = parameters.add(storable(errorText));
    const holds = (column: string) => `strpos(lower(${column}), lower(${text}::text)) > 0`;
    conditions.push(`(${holds("a.error_message")} OR ${holds("a.response_sample")})`);
  }
  return conditions;
}

function statusCondition({ codes, classes, none }: HttpStatusFilter, parameters: Parameters): string {
  const given = `a.status_code = ANY (${parameters.add(numbers(codes))}::int[])
    OR a.status_code / 100 = ANY (${parameters.add(numbers(classes))}::int[])`;
  return `(${given}${none ? " OR a.number IS NOT NULL AND a.status_code IS NULL" : ""})`;
}

/** Equivalent to `matches` of domain/event-type.ts. */
function typeCondition(patterns: readonly string[], parameters: Parameters): string {
  const exact = patterns.filter((pattern) => !pattern.endsWith("*"));
  const beginnings = patterns
    .filter((pattern) => pattern.endsWith(".*"))
    .map((pattern) => pattern.slice(0, -1));
  const any = patterns.includes("*") ? " OR NOT w.string ^@ 'posthorn.'" : "";
  return `EXISTS (SELECT FROM posthorn.strings w WHERE w.ref = e.event_type AND (w.string = ANY
    (${parameters.add(texts(exact))}::text[])
    OR w.string ^@ ANY (${parameters.add(texts(beginnings))}::text[])${any}))`;
}
