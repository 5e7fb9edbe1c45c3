import type { PublishCommand } from "../../../ports/store/deliveries.ts";
import { isKeyed } from "../earlier-publish.ts";
import { numbers } from "./columns.ts";
import type { Transaction } from "./database.ts";
import { type DeliveryRows, insertDeliveriesSteps } from "./delivery-rows.ts";
import { type EventRows, insertEventsSql } from "./event-rows.ts";
import { blockSize, bumpedSql } from "./positions.ts";

/**
 * Writes new events with their deliveries in one statement, if nothing has to be read first; it draws the numbers as
 * well. This saves three statements, which is most of the cost of a single event.
 *
 * The tenants are locked first, because the positions are drawn from what `bumped` returned. The counters come last,
 * because steps that no other step reads run last.
 */
const insertSql = `WITH bumped AS (${bumpedSql}),
  blocks AS MATERIALIZED (
    SELECT nextval('posthorn.event_blocks') * ${blockSize} AS event,
      nextval('posthorn.delivery_blocks') * ${blockSize} AS delivery
    FROM (SELECT count(*) FROM bumped) AS locked),
  stored AS (${shifted(
    insertEventsSql(
      "b.event + g.seq",
      "s.last + g.sequence_number",
      "CROSS JOIN blocks b JOIN bumped s ON s.tenant = g.tenant",
    ),
    2,
  )}),
  ${shifted(insertDeliveriesSteps("b.delivery + g.seq", "b.event + g.event", "CROSS JOIN blocks b"), 20)}
  SELECT b.event, b.delivery, s.tenant, s.last FROM blocks b CROSS JOIN bumped s`;

/** The positions of the written rows. */
interface Placed {
  /** Position of the first event. */
  readonly event: number;
  /** Position of the first delivery. */
  readonly delivery: number;
  /** The last sequence number of each tenant. */
  readonly lasts: ReadonlyMap<number, number>;
}

/** Writes rows whose numbers are relative (`relativeNumbers`). There must be at least one event. */
export async function writeNewEvents(
  transaction: Transaction,
  events: EventRows,
  deliveries: DeliveryRows,
): Promise<Placed> {
  const counts = [...events.countsByTenant];
  const rows = await transaction.rows<[event: number, delivery: number, tenant: number, last: number]>(
    insertSql,
    [
      numbers(counts.map(([tenant]) => tenant)),
      numbers(counts.map(([, count]) => count)),
      ...events.columns(),
      ...deliveries.columns(),
    ],
  );
  const [[event, delivery] = [0, 0]] = rows;
  return { event, delivery, lasts: new Map(rows.map(([, , tenant, last]) => [tenant, last])) };
}

/** Whether these can be written without reading stored keys or waiting deliveries of ordered lanes. */
export function areNew(publishes: readonly PublishCommand[]): boolean {
  let deliveries = 0;
  for (const command of publishes) {
    if (isKeyed(command)) return false;
    deliveries += command.deliveries.length;
    for (const { lane, claim, state } of command.deliveries)
      if (claim && state === "pending" && lane.ordering !== "none") return false;
  }
  return publishes.length > 0 && publishes.length <= blockSize && deliveries <= blockSize;
}

/** The same statement with shifted parameter numbers. */
function shifted(sql: string, by: number): string {
  return sql.replaceAll(/\$(\d+)/g, (_, number) => `$${Number(number) + by}`);
}
