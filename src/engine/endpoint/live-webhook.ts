import { type CircuitBreakerState, circuitPhase } from "../../core/circuit-breaker.ts";
import type { DeliveryPolicy } from "../../core/delivery-policy.ts";
import {
  type EndpointHealth,
  type PauseReason,
  type RecentAttempts,
  type WebhookHealthState,
  webhookHealthState,
} from "../../core/endpoint-health.ts";
import { pauseAt, type Webhook } from "../../core/webhook.ts";
import type { StoredSecret } from "../../ports/store/webhooks.ts";

/** The overall health of a webhook, from the state in this process. */
export function healthOf(live: LiveWebhook, now: number): WebhookHealthState {
  const { webhook, circuit, policy, recent } = live;
  return webhookHealthState({
    status: webhook.status,
    isPaused: pauseAt(webhook, now) !== null,
    isCircuitClosed: circuitPhase(circuit, policy.circuitBreaker, now) === "closed",
    recent,
  });
}

/** A webhook with its current runtime state. */
export interface LiveWebhook {
  readonly webhook: Webhook;
  readonly policy: DeliveryPolicy;
  readonly secrets: readonly StoredSecret[];
  readonly circuit: Readonly<CircuitBreakerState>;
  readonly health: Readonly<EndpointHealth>;
  readonly recent: Readonly<RecentAttempts>;
  readonly pausedUntil: number | null;
  readonly pauseReason: PauseReason | null;
  readonly lastSuccessAt: number | null;
  readonly inFlight: number;
  /** The report of its owner, if that is another process (cluster/endpoint-reports.ts). */
  readonly report: { readonly inFlight: number } | null;
}
