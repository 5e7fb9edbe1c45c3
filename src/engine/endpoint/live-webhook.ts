import { type CircuitBreakerState, circuitPhase, type ProbeLease } from "../../domain/circuit-breaker.ts";
import type { DeliveryPolicy } from "../../domain/delivery-policy.ts";
import {
  type EndpointHealth,
  type PauseReason,
  type RecentAttempts,
  type WebhookHealthState,
  webhookHealthState,
} from "../../domain/endpoint-health.ts";
import { pauseAt, type Webhook } from "../../domain/webhook.ts";
import type { StoredSecret } from "../../ports/store/webhooks.ts";

/**
 * Endpoint state that only its owner has, for processes that answer API calls: why deliveries wait, and the circuit's
 * counts. Slightly outdated, and never used for decisions. Times are Unix ms.
 */
export interface EndpointReport {
  readonly inFlight: number;
  /** Deliveries in flight, up to a limit. */
  readonly deliveries: readonly string[];
  readonly rateFullAt: number | null;
  /** Until then, the limit of its tenant lets no request through. */
  readonly tenantLimitUntil: number | null;
  /** Ordered lanes that wait for their head, by `laneId`, and until when; null while the head is in flight. */
  readonly heads: readonly (readonly [laneId: string, until: number | null])[];
  readonly successes: number;
  readonly failures: number;
  readonly probeResults: number;
  readonly probeSuccesses: number;
  readonly probes: readonly ProbeLease[];
}

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
