import { Meter } from "./meter.ts";
import type { StoreWork } from "./store-work.ts";

/** Two stores of the same kind, one with little that waits, one with much. */
export interface ClaimStores {
  readonly few: StoreWork;
  readonly many: StoreWork;
}

/** Claims per second of each round. */
export interface ClaimRates {
  readonly few: readonly number[];
  readonly many: readonly number[];
}

/**
 * Claims from both in turn. What was claimed is settled and as much is published before the next round, so that each
 * store stays as full as it was and every claim meets rows that nobody claimed before; only the claim is timed.
 */
export async function compareClaims(
  { few, many }: ClaimStores,
  rounds: number,
  perLane: number,
): Promise<ClaimRates> {
  const rates = { few: [] as number[], many: [] as number[] };
  for (let round = 0; round < rounds; round += 1) {
    const measureFew = async () => rates.few.push(await claimOnce(few, perLane));
    const measureMany = async () => rates.many.push(await claimOnce(many, perLane));
    // Each first in turn: whoever comes second finds warmer caches.
    if (round % 2 === 0) await measureFew();
    await measureMany();
    if (round % 2 === 1) await measureFew();
  }
  return rates;
}

async function claimOnce(work: StoreWork, perLane: number): Promise<number> {
  const meter = new Meter();
  const requests = work.claims({ perLane });
  const leases = await meter.add(
    (claimed) => claimed.length,
    () => work.claim(requests),
  );
  if (leases.length !== requests.length * perLane)
    throw new Error(`claimed ${leases.length} of ${requests.length * perLane}`);
  await work.settle(work.successes(leases));
  await work.publish(work.publications(leases.length, { claim: false }));
  return meter.perSecond;
}
