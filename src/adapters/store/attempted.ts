import type {
  PublishCommand,
  PublishResult,
  Settlement,
  SettlementResult,
} from "../../ports/store/deliveries.ts";
import type { ProblemBatch, ProblemFact } from "../../ports/store/delivery-problems.ts";

/** Settlements that come with an event: its deliveries were attempted before it was stored. */
export function attemptedOf(
  { attempted = [] }: PublishCommand,
  result: PublishResult | undefined,
): readonly Settlement[] {
  if (result?.kind !== "accepted") return [];
  return attempted.flatMap((one, at) => {
    const lease = result.leases[at];
    return lease === undefined ? [] : [{ lease, ...one }];
  });
}

/** The failures of a batch, including those that came with events, and whether each was written. */
export function withPassedOn(
  batch: ProblemBatch,
  settled: readonly SettlementResult[],
  publishes: readonly PublishResult[],
): { readonly batch: ProblemBatch; readonly settled: readonly SettlementResult[] } {
  const passedOn = (batch.passedOn ?? []).flatMap(({ publish, delivery, fact }): readonly ProblemFact[] => {
    const result = publishes[publish];
    const lease = result?.kind === "accepted" ? result.leases[delivery] : undefined;
    return lease === undefined ? [] : [{ ...fact, lease }];
  });
  if (passedOn.length === 0) return { batch, settled };
  return {
    batch: { ...batch, failures: [...batch.failures, ...passedOn] },
    settled: [...settled, ...passedOn.map(() => ({ kind: "written" }) as const)],
  };
}
