import type { OperationalEvent } from "../../features/notifications/operational-event.ts";
import { batch, type Call, sql } from "./statement.ts";

const insert = sql(
  `INSERT INTO posthorn.operational_events (key, at, document)
   SELECT key, at, document FROM unnest($1::text[], $2::bigint[], $3::text[]) AS g (key, at, document) WHERE true
   ON CONFLICT (key) DO NOTHING`,
);

/**
 * Writes events whose keys are new, each key only once. Every transaction writes them in the order of their keys, which
 * prevents deadlocks.
 */
export function eventCalls(events: readonly OperationalEvent[] = []): readonly Call[] {
  const byKey = new Map(events.toReversed().map((event) => [event.key, event]));
  const ordered = [...byKey.values()].toSorted((left, right) => (left.key < right.key ? -1 : 1));
  return batch(
    insert,
    ordered.map((event) => [event.key, event.at, JSON.stringify(event)]),
  );
}
