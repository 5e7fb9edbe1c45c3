import type { DeadLetterQuery, DeliveryQuery } from "../../../ports/store/history.ts";
import { categoryCodes, stateCodes } from "../codes.ts";
import { isStoredId, numbers } from "./columns.ts";
import type { Value } from "./database.ts";
import type { StringTable } from "./string-table.ts";

/** Conditions of a listing as SQL with their values; null when no row can match. */
export interface Filter {
  readonly where: string;
  readonly values: readonly Value[];
}

/** Collects conditions; a string that was never stored makes the whole filter empty. */
class FilterDraft {
  readonly #conditions: string[] = ["true"];
  readonly #values: Value[] = [];
  #empty = false;

  equal(column: string, value: number | null): void {
    if (value === null) this.#empty = true;
    else this.add(`${column} = ?`, value);
  }

  oneOf(column: string, values: readonly (number | null)[]): void {
    const known = values.filter((value) => value !== null);
    if (known.length === 0) this.#empty = true;
    else this.add(`${column} = ANY (?::int[])`, numbers(known));
  }

  created(from: number | null, to: number | null): void {
    if (from !== null) this.add("d.created_at >= ?", from);
    if (to !== null) this.add("d.created_at <= ?", to);
  }

  ofEvent(id: string): void {
    if (!isStoredId(id)) this.#empty = true;
    else this.add("d.event = (SELECT seq FROM posthorn.events WHERE id = ?::uuid LIMIT 1)", id);
  }

  add(condition: string, value: Value): void {
    this.#values.push(value);
    this.#conditions.push(condition.replace("?", `$${this.#values.length}`));
  }

  done(): Filter | null {
    return this.#empty ? null : { where: this.#conditions.join(" AND "), values: this.#values };
  }
}

/** The listed table is `d`. */
export async function deliveryFilter(
  strings: StringTable,
  query: Omit<DeliveryQuery, "page">,
): Promise<Filter | null> {
  await strings.lookUp([query.tenantId, query.webhookId].filter((string) => string !== null));
  const draft = new FilterDraft();
  if (query.tenantId !== null) draft.equal("d.tenant", strings.find(query.tenantId));
  if (query.webhookId !== null) draft.equal("d.webhook", strings.find(query.webhookId));
  if (query.eventId !== null) draft.ofEvent(query.eventId);
  if (query.states !== null) {
    draft.oneOf(
      "d.state",
      query.states.map((state) => stateCodes.encode[state]),
    );
  }
  draft.created(query.from, query.to);
  return draft.done();
}

/** The listed tables are `l` (dead letters), `d` and `e`. */
export async function deadLetterFilter(
  strings: StringTable,
  query: Omit<DeadLetterQuery, "page">,
): Promise<Filter | null> {
  const { tenantId, webhookIds, eventTypes, categories } = query;
  await strings.lookUp([
    ...(tenantId === null ? [] : [tenantId]),
    ...(webhookIds ?? []),
    ...(eventTypes ?? []),
  ]);
  const draft = new FilterDraft();
  const find = (string: string) => strings.find(string);
  if (tenantId !== null) draft.equal("l.tenant", find(tenantId));
  if (webhookIds !== null) draft.oneOf("d.webhook", webhookIds.map(find));
  if (eventTypes !== null) draft.oneOf("e.event_type", eventTypes.map(find));
  if (categories !== null) {
    draft.oneOf(
      "d.category",
      categories.map((category) => categoryCodes.encode[category]),
    );
  }
  draft.created(query.from, query.to);
  return draft.done();
}
