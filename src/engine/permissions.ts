import { allow } from "../core/circuit-breaker.ts";
import type { CircuitTransition } from "../core/circuit-breaker.ts";
import { tryTake } from "../core/rate-limit.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import type { Endpoint } from "./endpoint.ts";
import { closedByRate } from "./gates.ts";
import type { EndpointNotes } from "./shared/endpoint-notes.ts";
import type { Wakeups } from "./wakeups.ts";

export interface PermissionsOptions {
  readonly telemetry: Telemetry;
  readonly wakeups: Wakeups;
  readonly circuitMoved: (endpoint: Endpoint, transition: CircuitTransition) => void;
  /** What other processes are told of endpoints; null when nobody is. */
  readonly notes: EndpointNotes | null;
  /** The endpoint may send nothing until then. */
  readonly close: (endpoint: Endpoint, gate: { readonly until: number; readonly now: number }) => void;
}

/** One request may go; `probe` is its lease when the circuit is half open. */
export interface Permission {
  readonly probe: number | null;
}

/** Asks the gates that take something: rate limits and circuit probes. All of them are open, or nothing is taken. */
export class Permissions {
  readonly #options: PermissionsOptions;

  constructor(options: PermissionsOptions) {
    this.#options = options;
  }

  /** Undefined when a gate is closed; endpoint or tenancy then sleep until it may open. */
  ask(endpoint: Endpoint, now: number): Permission | undefined {
    const { telemetry, wakeups, close, circuitMoved, notes } = this.#options;
    const { tenancy } = endpoint;
    const rate = closedByRate(endpoint, now);
    if (rate !== null) {
      telemetry.metrics.rateLimited(endpoint.webhook.id);
      if (rate.waitingFor === "tenant_rate_limit") wakeups.at(tenancy, rate.until);
      else close(endpoint, { until: rate.until, now });
      return undefined;
    }
    if (tenancy.allowance !== null && !tenancy.allowance.secure()) {
      // The answer wakes it, long before.
      wakeups.at(tenancy, now + answerMsMax);
      return undefined;
    }
    const permission = allow(endpoint.circuit, endpoint.policy.circuitBreaker, now);
    if (permission.kind === "deny") {
      close(endpoint, { until: permission.until, now });
      return undefined;
    }
    tenancy.takeRate(now);
    if (endpoint.bucket !== null) {
      tryTake(endpoint.bucket, now);
      notes?.rateUsed(endpoint);
    }
    if (permission.kind === "allow") return noProbe;
    if (permission.transition !== null) circuitMoved(endpoint, permission.transition);
    return { probe: permission.lease };
  }
}

const noProbe = { probe: null } as const;
const answerMsMax = 1_000;
