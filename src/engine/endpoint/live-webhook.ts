import type { CircuitBreakerState } from "../../core/circuit-breaker.ts";
import type { DeliveryPolicy } from "../../core/delivery-policy.ts";
import type { EndpointHealth, PauseReason } from "../../core/endpoint-health.ts";
import type { Webhook } from "../../core/webhook.ts";
import type { StoredSecret } from "../../ports/store/webhooks.ts";

/** A webhook with what the engine knows of it at this moment. */
export interface LiveWebhook {
  readonly webhook: Webhook;
  readonly policy: DeliveryPolicy;
  readonly secrets: readonly StoredSecret[];
  readonly circuit: Readonly<CircuitBreakerState>;
  readonly health: Readonly<EndpointHealth>;
  readonly pausedUntil: number | null;
  readonly pauseReason: PauseReason | null;
  readonly lastSuccessAt: number | null;
  readonly inFlight: number;
  /** What its owner said, where that is another process (cluster/endpoint-reports.ts). */
  readonly report: { readonly inFlight: number } | null;
}
