import { circuitPhase } from "../../domain/circuit-breaker.ts";
import { type DeliveryWait, type GateName, gateNames } from "../../domain/delivery.ts";
import type { PauseReason } from "../../domain/endpoint-health.ts";
import { peekWaitMs } from "../../domain/rate-limit.ts";
import { pauseAt } from "../../domain/webhook.ts";
import type { Endpoint } from "./endpoint.ts";

/**
 * A period with a closed gate. `until` is the expected or actual end; null if only a person or a response can open
 * it.
 */
interface ClosedTime {
  readonly reason: GateName;
  readonly from: number;
  until: number | null;
}

/**
 * Periods in which gates held deliveries, with one entry for each time a gate was closed, regardless of the number of
 * deliveries. When a delivery is sent, its waits are derived from these entries. Timestamps are in Unix milliseconds.
 */
export class GateLog {
  #entries: ClosedTime[] = [];

  /** Records a closed gate. If it closed again right after it opened, the previous entry is extended. */
  note(reason: GateName, until: number | null, now: number): void {
    const known = this.#entries.findLast((entry) => entry.reason === reason);
    if (known !== undefined && (known.until === null || now - known.until <= gapMsMax)) {
      known.until = until;
      return;
    }
    this.#entries.push({ reason, from: now, until });
    if (this.#entries.length > entriesMax) this.#entries = joined(this.#entries);
  }

  /** Records that all gates are open, possibly earlier than expected. */
  opened(now: number): void {
    for (const entry of this.#entries) if (entry.until === null || entry.until > now) entry.until = now;
  }

  /** The entries within a period, limited to that period. */
  within({ from, until }: Pick<DeliveryWait, "from" | "until">): readonly DeliveryWait[] {
    return this.#entries.flatMap((entry) => {
      const begins = Math.max(entry.from, from);
      const ends = Math.min(entry.until ?? until, until);
      return ends > begins ? [{ reason: entry.reason, from: begins, until: ends }] : [];
    });
  }

  toJSON(): readonly unknown[] {
    return this.#entries.map(({ reason, from, until }) => [reason, from, until]);
  }
}

/** Parses the output of `toJSON`; null for any other value. */
export function gateLogFromJson(value: unknown): GateLog | null {
  if (!Array.isArray(value)) return null;
  const log = new GateLog();
  for (const entry of value as readonly unknown[]) {
    const [name, from, until] = Array.isArray(entry) ? (entry as unknown[]) : [];
    const waitingFor = gateNames.find((known) => known === name);
    if (waitingFor === undefined || typeof from !== "number") continue;
    if (until === null || typeof until === "number") log.note(waitingFor, until, from);
  }
  return log;
}

/**
 * Merges the two oldest entries of one gate, from the start of the first to the end of the second. Waits of days lose
 * precision but are never dropped.
 */
function joined(entries: readonly ClosedTime[]): ClosedTime[] {
  const laterOf = (entry: ClosedTime, index: number) =>
    entries.find((other, at) => at > index && other.reason === entry.reason);
  const first = entries.find((entry, index) => laterOf(entry, index) !== undefined);
  const second = first === undefined ? undefined : laterOf(first, entries.indexOf(first));
  if (first === undefined || second === undefined) return entries.slice(1);
  return entries.flatMap((entry) => {
    if (entry === second) return [];
    return [entry === first ? { ...first, until: second.until } : entry];
  });
}

/**
 * Maximum gap after which the previous entry is still extended. Longer than a failing probe, or than a request that
 * ends one pause and starts the next.
 */
const gapMsMax = 60_000;
const entriesMax = 16;

/** Why an endpoint may not send now. `until` is null if only a person or a response can open the gate. */
export interface ClosedGate {
  readonly waitingFor: Exclude<GateName, "order">;
  readonly until: number | null;
}

/**
 * The first gate that closes the whole endpoint, without consuming anything. They are checked in a fixed order: an
 * inactive webhook, a missing signing key, a manual pause, a pause after a response, an open circuit. Null if all of
 * these are open.
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

/** All closed gates in the order of `holdingGate`, for display. */
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

/** The gate for a missing signing key. A request is never sent unsigned (TS16-57). */
function keyGate({ config }: Endpoint): ClosedGate | null {
  return config.canSign ? null : { waitingFor: "no_signing_key", until: null };
}

/** The gate for a webhook that a user paused. */
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

/** The probes determine when the circuit closes, so the time is unknown. */
function probingGate({ circuit, policy }: Endpoint, now: number): ClosedGate | null {
  const phase = circuitPhase(circuit, policy.circuitBreaker, now);
  return phase === "closed" ? null : { waitingFor: "circuit_open", until: null };
}

/**
 * The gate of an exhausted rate limit, of the webhook or the tenant. Takes no tokens, because that is done after all
 * other gates are open.
 */
export function closedByRate(
  endpoint: Endpoint,
  now: number,
): (ClosedGate & { readonly until: number }) | null {
  const own = endpoint.bucket === null ? 0 : peekWaitMs(endpoint.bucket, now);
  if (own > 0) return { waitingFor: "rate_limit", until: now + own };
  const shared = endpoint.tenantQueue.rateWaitMs(now);
  return shared > 0 ? { waitingFor: "tenant_rate_limit", until: now + shared } : null;
}

/** Of these, only the first was requested by the receiver. */
const pausedFor = {
  retry_after: "retry_after",
  rate_limit: "rate_limit_pause",
  timeout: "timeout_pause",
  throttle: "throttle_pause",
  failure: "failure_pause",
} as const satisfies Record<PauseReason, GateName>;

const inactive: ClosedGate = { waitingFor: "inactive", until: null };
