import type { PublishCommand, PublishResult, Settlement } from "../../ports/store/deliveries.ts";

/** The settlements that an event brings along: of deliveries that were made before it was stored. */
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
