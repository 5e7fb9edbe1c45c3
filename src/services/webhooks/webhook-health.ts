import { snapshotCircuit } from "../../core/circuit-breaker.ts";
import { disablesAt } from "../../core/endpoint-health.ts";
import type { Clock } from "../../ports/clock.ts";
import type { HistoryStore } from "../../ports/store/history.ts";
import { healthOf, type LiveWebhook } from "../../engine/endpoint/live-webhook.ts";
import type { WebhookHealthView } from "../services.ts";

/** Period of the health statistics. */
const statsSpanMs = 86_400_000;

/** The current state of a webhook's endpoint, and its attempts of the last day (WDS-105). */
export async function webhookHealth(
  live: LiveWebhook,
  history: HistoryStore,
  clock: Clock,
): Promise<WebhookHealthView> {
  const now = clock.now();
  const { webhook, policy, pausedUntil } = live;
  const statsSince = now - statsSpanMs;
  const isPaused = pausedUntil !== null && pausedUntil > now;
  return {
    webhookId: webhook.id,
    health: healthOf(live, now),
    status: webhook.status,
    statusReason: webhook.statusReason,
    circuit: snapshotCircuit(live.circuit, policy.circuitBreaker, now),
    pausedUntil: isPaused ? pausedUntil : null,
    pauseReason: isPaused ? live.pauseReason : null,
    inFlight: live.report?.inFlight ?? live.inFlight,
    stats: await history.attemptStats(webhook.id, statsSince),
    statsSince,
    lastSuccessAt: live.lastSuccessAt,
    disablesAt: webhook.status === "disabled" ? null : disablesAt(live.health, policy.disable),
  };
}
