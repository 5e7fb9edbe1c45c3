import { numbers } from "../driver/sql.ts";
import type { Transaction } from "../driver/database.ts";

/**
 * Number of positions per block; the sequences of ../schema.ts count blocks. The unused rest of a commit's last block
 * is lost: positions only have to increase, and 2^53 provides space for 2^43 blocks.
 */
export const blockSize = 1024;

/** The numbers that one commit may assign. */
export interface Numbers {
  readonly nextEvent: () => number;
  readonly nextDelivery: () => number;
  /** Sequence number of the tenant's next event, without gaps. */
  readonly nextSequence: (tenant: number) => number;
  /** Number of sequence numbers that were drawn but not used, by tenant. */
  readonly unused: () => ReadonlyMap<number, number>;
}

/**
 * Draws all numbers of a commit in one statement, and locks the tenants until the commit ends, because numbers without
 * gaps require that. The positions are drawn after the lock, so that later commits of a tenant get higher ones.
 */
export async function drawNumbers(
  transaction: Transaction,
  eventsByTenant: ReadonlyMap<number, number>,
  deliveries: number,
): Promise<Numbers> {
  const events = [...eventsByTenant.values()].reduce((sum, count) => sum + count, 0);
  const rows = await transaction.rows<NumberRow>(
    `WITH bumped AS (${bumpedSql})
     SELECT 0, tenant, sequence_last FROM bumped
     UNION ALL SELECT 1, 0, nextval('posthorn.event_blocks') FROM generate_series(1, $3::int)
     UNION ALL SELECT 2, 0, nextval('posthorn.delivery_blocks') FROM generate_series(1, $4::int)`,
    [
      numbers([...eventsByTenant.keys()]),
      numbers([...eventsByTenant.values()]),
      Math.ceil(events / blockSize),
      Math.ceil(deliveries / blockSize),
    ],
  );
  return numbersFrom(rows, eventsByTenant);
}

/**
 * Numbers of a commit before they are drawn, relative to the drawn numbers: to the first event and the first delivery
 * of a block, and to the last sequence number of the tenant.
 */
export function relativeNumbers(eventsByTenant: ReadonlyMap<number, number>): Numbers {
  const left = new Map(eventsByTenant);
  return {
    nextEvent: counter([0]),
    nextDelivery: counter([0]),
    nextSequence: (tenant) => {
      const after = (left.get(tenant) ?? 0) - 1;
      left.set(tenant, after);
      return -after;
    },
    unused: () => new Map(),
  };
}

/** Locks the tenants for the rest of the transaction: `bumped (tenant, sequence_last)`. */
export const bumpedSql = `INSERT INTO posthorn.tenant_sequences AS s (tenant, sequence_last)
       SELECT tenant, count FROM unnest($1::int[], $2::bigint[]) AS t (tenant, count) ORDER BY tenant
       ON CONFLICT (tenant) DO UPDATE SET sequence_last = s.sequence_last + excluded.sequence_last
         RETURNING s.tenant, s.sequence_last`;

type NumberRow = [kind: number, tenant: number, value: number];

/**
 * Returns the numbers that duplicates did not use. The tenants are still locked, so no other transaction has seen the
 * higher number.
 */
export async function giveBackNumbers(
  transaction: Transaction,
  unused: ReadonlyMap<number, number>,
): Promise<void> {
  const left = [...unused].filter(([, count]) => count > 0);
  if (left.length === 0) return;
  await transaction.rows(
    `UPDATE posthorn.tenant_sequences s SET sequence_last = s.sequence_last - u.count
     FROM unnest($1::int[], $2::bigint[]) AS u (tenant, count) WHERE s.tenant = u.tenant`,
    [numbers(left.map(([tenant]) => tenant)), numbers(left.map(([, count]) => count))],
  );
}

function numbersFrom(rows: readonly NumberRow[], eventsByTenant: ReadonlyMap<number, number>): Numbers {
  const ofKind = (kind: number) => rows.filter((row) => row[0] === kind);
  const unused = new Map(eventsByTenant);
  const lasts = new Map(ofKind(0).map(([, tenant, last]) => [tenant, last]));
  return {
    nextEvent: counter(ofKind(1).map(([, , block]) => block)),
    nextDelivery: counter(ofKind(2).map(([, , block]) => block)),
    nextSequence: (tenant) => {
      const left = unused.get(tenant) ?? 0;
      unused.set(tenant, left - 1);
      return (lasts.get(tenant) ?? 0) - left + 1;
    },
    unused: () => unused,
  };
}

function counter(blocks: readonly number[]): () => number {
  let given = 0;
  return () => {
    const block = blocks[Math.floor(given / blockSize)];
    if (block === undefined) throw new RangeError("more rows than drawn positions");
    const position = block * blockSize + (given % blockSize);
    given += 1;
    return position;
  };
}
