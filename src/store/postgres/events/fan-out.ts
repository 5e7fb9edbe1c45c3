import type { FanOutPart, PublishCommand, PublishResult } from "../../../ports/store/deliveries.ts";
import { partsOf, unpackPart } from "../../publish-rows.ts";
import { numbers, plainWords, texts } from "../driver/columns.ts";
import { Deltas } from "./lane-counters.ts";
import type { Transaction } from "../driver/database.ts";
import { DeliveryRows } from "./event-rows.ts";
import { drawNumbers } from "./positions.ts";
import type { StoreState } from "../state.ts";

type PartRow = [event: number, part: number, document: string, tenant: number, bodyBytes: number];

const partSql = (more: string): string =>
  `SELECT p.event, p.part, p.document, e.tenant, coalesce(octet_length(e.body), 0)
   FROM posthorn.fan_out_parts p JOIN posthorn.events e ON e.seq = p.event ${more}`;

const nextSql = partSql("ORDER BY p.event, p.part LIMIT 1 OFFSET $1");
/** Locks the part against other writers, and skips it if another process holds it. */
const lockSql = partSql("WHERE p.event = $1 AND p.part = $2 FOR UPDATE OF p SKIP LOCKED");

/** Upkeep may already have cancelled the waiting deliveries of a deleted webhook. */
const cancelAgainSql = `UPDATE posthorn.webhooks SET cancel_due = true
  WHERE deleted_at IS NOT NULL AND NOT cancel_due AND id = ANY ($1::text[])`;

/** Stores the parts to be written later, after the events are written. */
export async function keepParts(
  transaction: Transaction,
  publishes: readonly PublishCommand[],
  results: readonly PublishResult[],
): Promise<void> {
  for (const [at, command] of publishes.entries()) {
    if (command.later === undefined || results[at]?.kind !== "accepted") continue;
    const parts = partsOf(command);
    await transaction.rows(
      `INSERT INTO posthorn.fan_out_parts (event, part, document)
       SELECT e.seq, g.part, g.document FROM posthorn.events e,
         unnest($2::int[], $3::text[]) AS g (part, document) WHERE e.id = $1::uuid`,
      [command.event.id, numbers(parts.map((_, part) => part)), texts(parts.map(({ document }) => document))],
    );
  }
}

/** Writes the first part that no other process is writing. */
export async function fanOut(state: StoreState): Promise<FanOutPart | null> {
  const { database, announcer, lanes } = state;
  for (let passed = 0; ; passed += 1) {
    const [found] = await database.rows<PartRow>(nextSql, [passed]);
    if (found === undefined) return null;
    const [event, part, document, tenant, bodyBytes] = found;
    const deliveries = unpackPart(document);
    await lanes.ensure(deliveries.map(({ lane }) => lane));
    const rows = new DeliveryRows(state.processNumber, new Deltas());
    const isWritten = await database.transaction(async (transaction) => {
      const locked = await transaction.rows<PartRow>(lockSql, [event, part]);
      if (locked.length === 0) return false;
      const { nextDelivery } = await drawNumbers(transaction, new Map(), deliveries.length);
      const stored = { seq: event, tenant, bodyBytes };
      for (const delivery of deliveries)
        rows.add(delivery, {
          seq: nextDelivery(),
          event: stored,
          lane: lanes.get(delivery.lane),
          leased: false,
        });
      await rows.insert(transaction);
      await transaction.rows("DELETE FROM posthorn.fan_out_parts WHERE event = $1 AND part = $2", [
        event,
        part,
      ]);
      await transaction.rows(cancelAgainSql, [plainWords(deliveries.map(({ lane }) => lane.webhookId))]);
      return true;
    });
    if (!isWritten) continue;
    announcer.announce(rows.lanesWithFree);
    return { deliveries };
  }
}
