import type { DeliveryPolicy } from "../delivery-policy.ts";
import type { EndpointHealth } from "../endpoint-health.ts";
import { longestTotalMs } from "../retry-schedule.ts";
import type { Webhook } from "../webhook.ts";

/**
 * When the rules of its profile will disable a webhook that keeps failing; null if no time-based rule applies. Random
 * delays count with their longest values, so the announced day is never too early.
 */
export function disablementAt(
  webhook: Pick<Webhook, "status" | "statusChangedAt">,
  health: EndpointHealth,
  policy: DeliveryPolicy,
): number | null {
  const { disable, schedule, ageMsMax } = policy;
  if (webhook.status === "suspended") return webhook.statusChangedAt + disable.suspendedToDisabledMs;
  const ends: number[] = [];
  if (health.persistentFailureSince !== null) ends.push(health.persistentFailureSince + disable.persistentMs);
  if (disable.onExhausted !== "never" && health.failingSince !== null) {
    const givenUpAfterMs = Math.min(longestTotalMs(schedule), ageMsMax);
    ends.push(health.failingSince + Math.max(givenUpAfterMs, disable.exhaustedMsMin));
  }
  return ends.length === 0 ? null : Math.min(...ends);
}
