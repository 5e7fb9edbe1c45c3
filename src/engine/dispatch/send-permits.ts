import { allow } from "../../core/circuit-breaker.ts";
import { tryTake } from "../../core/rate-limit.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { EndpointStates } from "../endpoint/endpoint-states.ts";
import { closedByRate } from "../endpoint/gates.ts";
import type { ClosedGate } from "../endpoint/gates.ts";
import type { OwnerNotes } from "../endpoint/owner-notes.ts";
import type { Wakeups } from "../endpoint/wakeups.ts";

export interface SendPermitsOptions {
  readonly telemetry: Telemetry;
  readonly wakeups: Wakeups;
  readonly states: Pick<EndpointStates, "circuitMoved">;
  /** Notes on endpoints for other processes; null without them. */
  readonly notes: OwnerNotes | null;
  /** The endpoint may send nothing until the gate opens. */
  readonly close: (endpoint: Endpoint, gate: ClosedGate, now: number) => void;
}

/** One request may go; `probe` is its lease when the circuit is half open. */
export interface SendPermit {
  readonly probe: number | null;
}

/** Asks the gates that take something: rate limits and circuit probes. All of them are open, or nothing is taken. */
export class SendPermits {
  readonly #options: SendPermitsOptions;

  constructor(options: SendPermitsOptions) {
    this.#options = options;
  }

  /** Undefined when a gate is closed; endpoint or tenant queue then sleep until it may open. */
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
      // The answer wakes it, long before.
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
