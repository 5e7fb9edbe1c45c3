import { Counts } from "../../../core/statistics/counts.ts";
import { type EndedDeliveries, endedBuckets, storeWriter } from "../ended-counts.ts";
import { stepCode, statisticsTables } from "../statistics-rows.ts";
import { numbers } from "./columns.ts";
import type { Transaction } from "./database.ts";
import { byteColumn } from "./statistics-sql.ts";

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
 * rows, so their holder must not wait for anything.
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

/** Column of a statement: the number of ended deliveries per tenant and webhook, as text. */
export const endedColumn = (rows: string): string =>
  `(SELECT coalesce(json_agg(json_build_array(tenant, webhook, ended)), '[]')::text
    FROM (SELECT tenant, webhook, count(*) AS ended FROM ${rows} GROUP BY tenant, webhook) AS g)`;

export function endedFrom(column: string, key: number): readonly EndedDeliveries[] {
  const rows = JSON.parse(column) as readonly (readonly [tenant: number, webhook: number, count: number])[];
  return rows.map(([tenant, webhook, count]) => ({ tenant, webhook, key, count }));
}
