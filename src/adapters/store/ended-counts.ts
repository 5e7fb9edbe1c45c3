import { Counts } from "../../core/statistics/counts.ts";
import { bucketsOf, type StoredBucket } from "./statistics-rows.ts";

/**
 * Deliveries that a store ended by itself: expired, cancelled or discarded. No process holds them, so none
 * counts them in memory: the store adds them to rows of its own in the transaction that ends them, which a crash keeps or
 * undoes as a whole.
 */
export interface EndedDeliveries {
  readonly tenant: number;
  readonly webhook: number;
  /** As `endingKey` says. */
  readonly key: number;
  readonly count: number;
}

/** The writer of minutes that stores count by themselves; rows of processes have larger numbers (`writerOf`). */
export const storeWriter = 0;

export interface EndedBucket {
  readonly bucket: StoredBucket;
  readonly counts: Counts;
}

/** What to add to which bucket, in the order in which their rows are locked. */
export function endedBuckets(ended: readonly EndedDeliveries[], at: number): readonly EndedBucket[] {
  const found = new Map<string, EndedBucket>();
  for (const { tenant, webhook: subject, key, count } of ended) {
    for (const bucket of bucketsOf({ kind: "delivery", at, tenant, subject })) {
      const name = `${bucket.tenant} ${bucket.subject}`;
      const known = found.get(name) ?? { bucket, counts: new Counts() };
      known.counts.add(key, { times: count });
      found.set(name, known);
    }
  }
  return [...found.values()].toSorted(
    ({ bucket: left }, { bucket: right }) => left.tenant - right.tenant || left.subject - right.subject,
  );
}
