import { endings } from "../../../domain/delivery-state.ts";
import { Counts } from "../../../domain/statistics/counts.ts";
import { endingKey } from "../../../domain/statistics/facts.ts";
import type { EndCommand, EndResult } from "../../../ports/store/deliveries.ts";
import { endingSql, isStoredId, waitingMax } from "../../column-values.ts";
import {
  endedBuckets,
  type EndedDeliveries,
  statisticsTables,
  stepCode,
  storeWriter,
} from "../../statistics-rows.ts";
import { byteColumn } from "../documents/statistics-sql.ts";
import { numbers, plainWords } from "../driver/sql.ts";
import type { Transaction } from "../driver/database.ts";
import type { StoreState } from "../state.ts";
import { addToCounters, deadLetterKind } from "./lane-counters.ts";
import { endedUnder } from "./settle.ts";

const table = `posthorn.${statisticsTables.delivery}`;
const ofStore = `${stepCode("minute")}, u.bucket, u.tenant, u.subject, ${storeWriter}, 0, 0`;

/** Creates missing rows, locks all of them in the order of their names, and returns their contents. */
const lockSql = `INSERT INTO ${table} AS s (step, bucket, tenant, subject, writer, part, counted_to, counts)
  SELECT ${ofStore}, ''::bytea
  FROM unnest($1::bigint[], $2::int[], $3::int[]) AS u (bucket, tenant, subject) ORDER BY 2, 3, 4
  ON CONFLICT (step, bucket, tenant, subject, writer, part) DO UPDATE SET counted_to = s.counted_to
  RETURNING s.tenant, s.subject, s.counts`;

const writeSql = `UPDATE ${table} AS s SET counts = u.counts
  FROM unnest($1::bigint[], $2::int[], $3::int[], $4::bytea[]) AS u (bucket, tenant, subject, counts)
  WHERE s.step = ${stepCode("minute")} AND s.bucket = u.bucket AND s.tenant = u.tenant AND s.subject = u.subject
    AND s.writer = ${storeWriter} AND s.part = 0`;

/**
 * Counts deliveries that this transaction ended without a settlement. Must come last: other processes wait for these
 * rows, so the transaction must not wait for anything afterwards.
 */
export async function writeEnded(
  transaction: Transaction,
  ended: readonly EndedDeliveries[],
  at: number,
): Promise<void> {
  if (ended.length === 0) return;
  const buckets = endedBuckets(ended, at);
  const names = [
    numbers(buckets.map(({ bucket }) => bucket.start)),
    numbers(buckets.map(({ bucket }) => bucket.tenant)),
    numbers(buckets.map(({ bucket }) => bucket.subject)),
  ];
  const rows = await transaction.rows<[tenant: number, subject: number, counts: Uint8Array]>(lockSql, names);
  const stored = new Map(rows.map(([tenant, subject, counts]) => [`${tenant} ${subject}`, counts]));
  for (const { bucket, counts } of buckets) {
    const before = stored.get(`${bucket.tenant} ${bucket.subject}`);
    if (before !== undefined) counts.addAll(Counts.unpack(before));
  }
  await transaction.rows(writeSql, [...names, byteColumn(buckets.map(({ counts }) => counts.pack()))]);
}

/** Column of a statement that contains, as text, the number of ended deliveries per tenant and webhook. */
export const endedColumn = (rows: string): string =>
  `(SELECT coalesce(json_agg(json_build_array(tenant, webhook, ended)), '[]')::text
    FROM (SELECT tenant, webhook, count(*) AS ended FROM ${rows} GROUP BY tenant, webhook) AS g)`;

export function endedFrom(column: string, key: number): readonly EndedDeliveries[] {
  const rows = JSON.parse(column) as readonly (readonly [tenant: number, webhook: number, count: number])[];
  return rows.map(([tenant, webhook, count]) => ({ tenant, webhook, key, count }));
}

type Row = [
  id: string,
  seq: number,
  tenant: number,
  state: number,
  lane: number,
  leaseUntil: number | null,
  isDead: boolean,
  webhook: number,
];

const cancelSql = `WITH gone AS (DELETE FROM posthorn.queue q WHERE q.delivery = ANY ($1::bigint[])
    RETURNING q.delivery, q.priority, ${endedUnder}),
  done AS (
    UPDATE posthorn.deliveries d SET ${endingSql(endings.cancel_requested)}, completed_at = $2,
      late_lease_token = g.late_lease_token, lease_token_last = g.lease_token
    FROM gone g WHERE d.seq = g.delivery RETURNING d.seq),
  counted AS (${addToCounters("SELECT priority, 0, -1 FROM gone")})
  SELECT count(*) FROM done`;

const discardSql = `WITH undead AS (DELETE FROM posthorn.dead_letters l WHERE l.delivery = ANY ($1::bigint[])
    RETURNING l.delivery, l.tenant),
  done AS (
    UPDATE posthorn.deliveries d SET ${endingSql(endings.discarded)} FROM undead u WHERE d.seq = u.delivery
    RETURNING d.seq),
  counted AS (${addToCounters(`SELECT ${deadLetterKind}, tenant, -1 FROM undead`)})
  SELECT count(*) FROM done`;

/** The result for each id, and the lanes in which the next delivery may now be sent. */
interface Ended {
  readonly results: readonly EndResult[];
  readonly lanes: readonly number[];
}

/** Ends deliveries at a user's request. Locks rows in the same order as all statements: queue, then deliveries. */
export async function endByHand(state: StoreState, command: EndCommand): Promise<readonly EndResult[]> {
  const { strings, maintenance, announcer } = state;
  if (command.tenantId !== null) await strings.lookUp([command.tenantId]);
  const tenant = command.tenantId === null ? null : strings.find(command.tenantId);
  if (command.tenantId !== null && tenant === null) return command.ids.map(() => "not_found");
  const { results, lanes } = await maintenance.transaction((transaction) =>
    end(transaction, command, tenant),
  );
  announcer.announce(lanes);
  return results;
}

async function end(transaction: Transaction, command: EndCommand, tenant: number | null): Promise<Ended> {
  const { event, ids, now } = command;
  const rows = new Map((await lockedRows(transaction, ids)).map((row) => [row[0], row]));
  const judged = new Set<string>();
  const results = ids.map((id): EndResult => {
    const row = rows.get(id);
    if (row === undefined || (tenant !== null && row[2] !== tenant)) return "not_found";
    // An id that occurs twice is ended once.
    if (judged.has(id)) return "not_possible";
    judged.add(id);
    return event === "discarded" ? judgeDiscard(row) : judgeCancel(row, now);
  });
  const chosen = [...rows.values()].filter(([id]) => results[ids.indexOf(id)] === "ended");
  if (chosen.length === 0) return { results, lanes: [] };
  const seqs = numbers(chosen.map(([, seq]) => seq));
  if (event === "discarded") await transaction.rows(discardSql, [seqs]);
  else await transaction.rows(cancelSql, [seqs, now]);
  if (command.isCounted === true) {
    const key = endingKey(endings[event]);
    const ended = chosen.map((row): EndedDeliveries => ({ tenant: row[2], webhook: row[7], key, count: 1 }));
    await writeEnded(transaction, ended, now);
  }
  return { results, lanes: event === "discarded" ? [] : [...new Set(chosen.map((row) => row[4]))] };
}

function judgeCancel([, , , state, , leaseUntil]: Row, now: number): EndResult {
  if (state > waitingMax) return "not_possible";
  return leaseUntil !== null && leaseUntil > now ? "in_flight" : "ended";
}

function judgeDiscard(row: Row): EndResult {
  return row[6] ? "ended" : "not_possible";
}

async function lockedRows(transaction: Transaction, ids: readonly string[]): Promise<readonly Row[]> {
  const known = plainWords(ids.filter(isStoredId));
  await transaction.rows(
    `SELECT FROM posthorn.queue q JOIN posthorn.deliveries d ON d.seq = q.delivery
     WHERE d.id = ANY ($1::uuid[]) ORDER BY q.delivery FOR UPDATE OF q`,
    [known],
  );
  return transaction.rows<Row>(
    `SELECT d.id, d.seq, d.tenant, d.state, d.lane, q.lease_until, l.delivery IS NOT NULL, d.webhook
     FROM posthorn.deliveries d LEFT JOIN posthorn.queue q ON q.delivery = d.seq
       LEFT JOIN posthorn.dead_letters l ON l.delivery = d.seq
     WHERE d.id = ANY ($1::uuid[]) ORDER BY d.seq FOR UPDATE OF d`,
    [known],
  );
}
