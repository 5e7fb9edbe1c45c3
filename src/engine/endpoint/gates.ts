import { circuitPhase } from "../../core/circuit-breaker.ts";
import type { GateName } from "../../core/delivery.ts";
import type { PauseReason } from "../../core/endpoint-health.ts";
import { peekWaitMs } from "../../core/rate-limit.ts";
import { pauseAt } from "../../core/webhook.ts";
import type { Endpoint } from "./endpoint.ts";

/** Why an endpoint may not send now. `until` is null if only a person or a response can open the gate. */
export interface ClosedGate {
  readonly waitingFor: Exclude<GateName, "order">;
  readonly until: number | null;
}

/**
 * The first gate that closes the whole endpoint, without consuming anything: a manual pause, a pause after a
 * response, an open circuit, an inactive webhook, a missing signing key. Null if all of these are open.
 */
export function closedGate(endpoint: Endpoint, now: number): ClosedGate | null {
  if (endpoint.webhook.status !== "active") return inactive;
  return (
    keyGate(endpoint) ?? handGate(endpoint, now) ?? pauseGate(endpoint, now) ?? circuitGate(endpoint, now)
  );
}

/**
 * The gate that holds the backlog of an endpoint. Unlike `closedGate`, it includes a circuit that is half open or due
 * to probe: a probe may be sent, but all other deliveries wait until the circuit closes.
 */
export function holdingGate(endpoint: Endpoint, now: number): ClosedGate | null {
  return closedGate(endpoint, now) ?? probingGate(endpoint, now);
}

/** All closed gates, for display. */
export function closedGates(endpoint: Endpoint, now: number): readonly ClosedGate[] {
  const gates = [
    endpoint.webhook.status === "active" ? null : inactive,
    keyGate(endpoint),
    handGate(endpoint, now),
    pauseGate(endpoint, now),
    circuitGate(endpoint, now) ?? probingGate(endpoint, now),
  ];
  return gates.filter((gate) => gate !== null);
}

/** Unsigned requests are never sent (TS16-57). */
function keyGate({ config }: Endpoint): ClosedGate | null {
  return config.canSign ? null : { waitingFor: "no_signing_key", until: null };
}

/** A user paused it. */
function handGate({ webhook }: Endpoint, now: number): ClosedGate | null {
  const pause = webhook.pause === null ? null : pauseAt(webhook, now);
  return pause === null ? null : { waitingFor: "paused", until: pause.until };
}

function pauseGate({ pausedUntil, pauseReason }: Endpoint, now: number): ClosedGate | null {
  if (pausedUntil === null || pausedUntil <= now) return null;
  return { waitingFor: pausedFor[pauseReason ?? "failure"], until: pausedUntil };
}

function circuitGate(endpoint: Endpoint, now: number): ClosedGate | null {
  const { circuit } = endpoint;
  if (circuit.phase === "open" && now < Math.max(circuit.halfOpenAt, circuit.forcedOpenUntil)) {
    if (endpoint.policy.circuitBreaker.enabled || circuit.forcedOpenUntil > now) {
      return { waitingFor: "circuit_open", until: Math.max(circuit.halfOpenAt, circuit.forcedOpenUntil) };
    }
  }
  return null;
}

/** The probes decide when it opens, so the time is unknown. */
function probingGate({ circuit, policy }: Endpoint, now: number): ClosedGate | null {
  const phase = circuitPhase(circuit, policy.circuitBreaker, now);
  return phase === "closed" ? null : { waitingFor: "circuit_open", until: null };
}

/** The rate limits of webhook and tenant. Only checks them: tokens are taken after all other gates are open. */
export function closedByRate(
  endpoint: Endpoint,
  now: number,
): (ClosedGate & { readonly until: number }) | null {
  const own = endpoint.bucket === null ? 0 : peekWaitMs(endpoint.bucket, now);
  if (own > 0) return { waitingFor: "rate_limit", until: now + own };
  const shared = endpoint.tenantQueue.rateWaitMs(now);
  return shared > 0 ? { waitingFor: "tenant_rate_limit", until: now + shared } : null;
}

/** Only the first of these was requested by the receiver. */
const pausedFor = {
  retry_after: "retry_after",
  rate_limit: "rate_limit_pause",
  timeout: "timeout_pause",
  throttle: "throttle_pause",
  failure: "failure_pause",
} as const satisfies Record<PauseReason, GateName>;

const inactive: ClosedGate = { waitingFor: "inactive", until: null };
