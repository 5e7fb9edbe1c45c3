import { circuitPhase } from "../../core/circuit-breaker.ts";
import type { GateName } from "../../core/delivery.ts";
import type { PauseReason } from "../../core/endpoint-health.ts";
import { peekWaitMs } from "../../core/rate-limit.ts";
import { pauseAt } from "../../core/webhook.ts";
import type { Endpoint } from "./endpoint.ts";

/** Why an endpoint may not send now. `until` is null when only a person or an answer can open it. */
export interface ClosedGate {
  readonly waitingFor: Exclude<GateName, "order">;
  readonly until: number | null;
}

/**
 * The gates that close a whole endpoint for a while, without taking anything: paused by hand or by an answer, open
 * circuit, not active, nothing to sign with. Returns null when it may send as far as these are concerned.
 */
export function closedGate(endpoint: Endpoint, now: number): ClosedGate | null {
  if (endpoint.webhook.status !== "active") return inactive;
  return (
    keyGate(endpoint) ?? handGate(endpoint, now) ?? pauseGate(endpoint, now) ?? circuitGate(endpoint, now)
  );
}

/**
 * The gate that holds the backlog of an endpoint. Unlike `closedGate`, it includes a circuit that is half open or due to
 * probe: a probe may leave, and everything behind it waits until the circuit closes.
 */
export function holdingGate(endpoint: Endpoint, now: number): ClosedGate | null {
  return closedGate(endpoint, now) ?? probingGate(endpoint, now);
}

/** All of them that are closed, for people. */
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

/** Unsigned requests never leave (TS16-57). */
function keyGate({ config }: Endpoint): ClosedGate | null {
  return config.canSign ? null : { waitingFor: "no_signing_key", until: null };
}

/** Somebody paused it. */
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

/** It opens with the results of the probes, at a time that is not known. */
function probingGate({ circuit, policy }: Endpoint, now: number): ClosedGate | null {
  const phase = circuitPhase(circuit, policy.circuitBreaker, now);
  return phase === "closed" ? null : { waitingFor: "circuit_open", until: null };
}

/** The rate limits of webhook and tenant, without taking a token (C-34). */
export function closedByRate(
  endpoint: Endpoint,
  now: number,
): (ClosedGate & { readonly until: number }) | null {
  const own = endpoint.bucket === null ? 0 : peekWaitMs(endpoint.bucket, now);
  if (own > 0) return { waitingFor: "rate_limit", until: now + own };
  const shared = endpoint.tenantQueue.rateWaitMs(now);
  return shared > 0 ? { waitingFor: "tenant_rate_limit", until: now + shared } : null;
}

/** Only the first of these is what a receiver asked for. */
const pausedFor = {
  retry_after: "retry_after",
  rate_limit: "rate_limit_pause",
  timeout: "timeout_pause",
  throttle: "throttle_pause",
  failure: "failure_pause",
} as const satisfies Record<PauseReason, GateName>;

const inactive: ClosedGate = { waitingFor: "inactive", until: null };
