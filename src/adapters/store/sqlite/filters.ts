import type { DeadLetterQuery, DeliveryQuery } from "../../../ports/store/history.ts";
import { categoryCodes, exhausted, stateCodes } from "../codes.ts";
import type { StringTable } from "./string-table.ts";

/** Conditions of a listing as SQL with their values; null when no row can match. */
export interface Filter {
  readonly conditions: readonly string[];
  readonly values: readonly (number | string)[];
}

/** Collects conditions; a string that was never stored makes the whole filter empty. */
class FilterDraft {
  readonly conditions: string[] = [];
  readonly values: (number | string)[] = [];
  empty = false;

  equal(column: string, value: number | null): void {
    if (value === null) this.empty = true;
    else this.add(`${column} = ?`, value);
  }

  oneOf(column: string, values: readonly (number | null)[]): void {
    const known = values.filter((value) => value !== null);
    if (known.length === 0) this.empty = true;
    // One parameter for any list length, so that the statement can be cached.
    else this.add(`${column} IN (SELECT value FROM json_each(?))`, JSON.stringify(known));
  }

  created(from: number | null, to: number | null): void {
    if (from !== null) this.add("d.created_at >= ?", from);
    if (to !== null) this.add("d.created_at <= ?", to);
  }

  add(condition: string, ...values: (number | string)[]): void {
    this.conditions.push(condition);
    this.values.push(...values);
  }

  done(): Filter | null {
    return this.empty ? null : { conditions: this.conditions, values: this.values };
  }
}

/**
 * The listed table is `d`. `tenantId` is the webhook's tenant when only the webhook was given, so that the index on
 * both can be used.
 */
export function deliveryFilter(
  strings: StringTable,
  query: Omit<DeliveryQuery, "page">,
  tenantIds: readonly string[],
): Filter | null {
  const draft = new FilterDraft();
  for (const tenantId of tenantIds) draft.equal("d.tenant", strings.find(tenantId));
  if (query.webhookId !== null) draft.equal("d.webhook", strings.find(query.webhookId));
  if (query.states !== null) {
    const codes = query.states.map((state) => stateCodes.encode[state]);
    draft.add(`d.state IN (${codes.join(", ")})`);
  }
  draft.created(query.from, query.to);
  return draft.done();
}

export function deadLetterFilter(strings: StringTable, query: Omit<DeadLetterQuery, "page">): Filter | null {
  const draft = new FilterDraft();
  draft.add(`d.state = ${exhausted}`);
  if (query.tenantId !== null) draft.equal("d.tenant", strings.find(query.tenantId));
  if (query.webhookIds !== null)
    draft.oneOf(
      "d.webhook",
      query.webhookIds.map((id) => strings.find(id)),
    );
  if (query.eventTypes !== null) {
    draft.oneOf(
      "(SELECT event_type FROM events WHERE seq = d.event)",
      query.eventTypes.map((name) => strings.find(name)),
    );
  }
  if (query.categories !== null) {
    draft.oneOf(
      "d.category",
      query.categories.map((category) => categoryCodes.encode[category]),
    );
  }
  draft.created(query.from, query.to);
  return draft.done();
}
