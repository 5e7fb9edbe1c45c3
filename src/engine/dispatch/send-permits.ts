import { allow } from "../../domain/circuit-breaker.ts";
import { tryTake } from "../../domain/rate-limit.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { EndpointStates } from "../endpoint/endpoint-states.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import { closedByRate, type ClosedGate } from "../endpoint/gates.ts";
import type { OwnerNotes } from "../endpoint/ownership.ts";
import type { Wakeups } from "../endpoint/wakeups.ts";

export interface SendPermitsOptions {
  readonly telemetry: Telemetry;
  readonly wakeups: Wakeups;
  readonly states: Pick<EndpointStates, "circuitMoved">;
  /** Notes on endpoints for other processes; null if there are none. */
  readonly notes: OwnerNotes | null;
  /** The endpoint must not send until the gate opens. */
  readonly close: (endpoint: Endpoint, gate: ClosedGate, now: number) => void;
}

/** Permission for one request; `probe` is its lease if the circuit is half open. */
export interface SendPermit {
  readonly probe: number | null;
}

/**
 * Checks the gates that consume something: rate limits and circuit probes. Consumes from all of them, or from none.
 */
export class SendPermits {
  readonly #options: SendPermitsOptions;

  constructor(options: SendPermitsOptions) {
    this.#options = options;
  }

  /** Undefined if a gate is closed; the endpoint or tenant queue then sleeps until it may open. */
  ask(endpoint: Endpoint, now: number): SendPermit | undefined {
    const { telemetry, wakeups, close, states, notes } = this.#options;
    const { tenantQueue } = endpoint;
    const rate = closedByRate(endpoint, now);
    if (rate !== null) {
      telemetry.metrics.rateLimited(endpoint.webhook.id);
      if (rate.waitingFor === "tenant_rate_limit") {
        tenantQueue.noteClosed(rate, now);
        wakeups.at(tenantQueue, rate.until);
      } else close(endpoint, rate, now);
      return undefined;
    }
    if (tenantQueue.allowance !== null && !tenantQueue.allowance.secure()) {
      // The reply wakes it, long before that.
      wakeups.at(tenantQueue, now + answerMsMax);
      return undefined;
    }
    const circuitAnswer = allow(endpoint.circuit, endpoint.policy.circuitBreaker, now);
    if (circuitAnswer.kind === "deny") {
      close(endpoint, { waitingFor: "circuit_open", until: circuitAnswer.until }, now);
      return undefined;
    }
    tenantQueue.takeRate(now);
    if (endpoint.bucket !== null) {
      tryTake(endpoint.bucket, now);
      notes?.rateUsed(endpoint);
    }
    if (circuitAnswer.kind === "allow") return noProbe;
    if (circuitAnswer.transition !== null) states.circuitMoved(endpoint, circuitAnswer.transition);
    return { probe: circuitAnswer.lease };
  }
}

const noProbe = { probe: null } as const;
const answerMsMax = 1_000;
