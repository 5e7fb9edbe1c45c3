import { exhausted, waitingMax } from "../codes.ts";
import { chunkBits, chunkKinds } from "./chunks.ts";

const countedWaiting = (priority: number): string =>
  `(SELECT count(*) FROM deliveries WHERE state <= ${waitingMax} AND priority = ${priority})`;

const timesOfChunks = (table: "events" | "deliveries"): string =>
  `INSERT INTO chunks SELECT ${chunkKinds[table]}, seq >> ${chunkBits}, min(created_at), max(created_at)
   FROM ${table} GROUP BY seq >> ${chunkBits}`;

/** Deliveries of each event in order; contiguous ones have the same `run`. */
const placed = `WITH placed AS (
  SELECT event, seq, number, seq - number AS run, first FROM (
    SELECT event, seq, row_number() OVER (PARTITION BY event ORDER BY seq) AS number,
      min(seq) OVER (PARTITION BY event) AS first FROM deliveries))`;

/** Retries draw their order positions from the same sequence as deliveries. */
const lastPosition = "max(coalesce(max(seq), 0), coalesce(max(order_position), 0))";

/** Derives the remaining tables from the rows, in one transaction; afterwards the file can be served from. */
export const finishing: readonly string[] = [
  "INSERT INTO lane_entries SELECT lane, rank, seq FROM deliveries WHERE rank IS NOT NULL",
  timesOfChunks("events"),
  timesOfChunks("deliveries"),
  // Deliveries written with the event and contiguous are its range; all others were added later.
  `${placed} UPDATE events SET delivery_first = together.first, delivery_count = together.number FROM (
     SELECT event, p.first, max(number) AS number FROM placed p JOIN events e ON e.seq = p.event
     WHERE run = p.first - 1 AND number <= e.delivery_count GROUP BY event, p.first) AS together
   WHERE events.seq = together.event`,
  "UPDATE events SET delivery_count = 0 WHERE delivery_first = 0",
  `INSERT INTO event_requeues SELECT event, d.seq FROM deliveries d JOIN events e ON e.seq = d.event
   WHERE d.seq < e.delivery_first OR d.seq >= e.delivery_first + e.delivery_count`,
  `UPDATE events SET requeue_count = (SELECT count(*) FROM event_requeues WHERE event = events.seq)
   WHERE requeue_count > 0 OR seq IN (SELECT event FROM event_requeues)`,
  `UPDATE tally SET waiting_high = ${countedWaiting(0)}, waiting_normal = ${countedWaiting(1)},
     waiting_low = ${countedWaiting(2)}, event_last = (SELECT coalesce(max(seq), 0) FROM events),
     delivery_last = (SELECT ${lastPosition} FROM deliveries),
     fresh_floor = (SELECT ${lastPosition} + 1 FROM deliveries)`,
  `INSERT INTO tenant_tallies SELECT tenant, 0, count(*) FROM deliveries
   WHERE state = ${exhausted} GROUP BY tenant
   ON CONFLICT (tenant) DO UPDATE SET dead_letters = excluded.dead_letters`,
  "DELETE FROM gateway_requests_unfiled",
  "DELETE FROM gateway_requests_by_source",
  "INSERT INTO gateway_requests_by_source SELECT source, id FROM gateway_requests ORDER BY source, id",
  "DROP TABLE moving",
  "DELETE FROM meta WHERE key = 'moving'",
];
