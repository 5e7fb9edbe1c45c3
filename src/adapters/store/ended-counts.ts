import { Counts } from "../../core/statistics/counts.ts";
import { bucketsOf, type StoredBucket } from "./statistics-rows.ts";

/**
 * Deliveries that a store ended without a process: expired, cancelled or discarded. No process counts them in memory,
 * so the store adds them to separate rows in the transaction that ends them; a crash keeps or undoes both.
 */
export interface EndedDeliveries {
  readonly tenant: number;
  readonly webhook: number;
  /** See `endingKey`. */
  readonly key: number;
  readonly count: number;
}

/** The writer number of minutes counted by the store; processes have larger numbers (`writerOf`). */
export const storeWriter = 0;

export interface EndedBucket {
  readonly bucket: StoredBucket;
  readonly counts: Counts;
}

/** What to add to each bucket, in the order in which the rows are locked. */
export function endedBuckets(ended: readonly EndedDeliveries[], at: number): readonly EndedBucket[] {
  const found = new Map<string, EndedBucket>();
  for (const { tenant, webhook: subject, key, count } of ended) {
    for (const bucket of bucketsOf({ kind: "delivery", at, tenant, subject })) {
      const name = `${bucket.tenant} ${bucket.subject}`;
      const known = found.get(name) ?? { bucket, counts: new Counts() };
      known.counts.add(key, count);
      found.set(name, known);
    }
  }
  return [...found.values()].toSorted(
    ({ bucket: left }, { bucket: right }) => left.tenant - right.tenant || left.subject - right.subject,
  );
}
