import { attemptTimeoutMsMax, type DeliveryPolicy } from "./delivery-policy.ts";
import { clockDifferenceMs } from "./due-times.ts";
import type { Verdict } from "./classify.ts";
import type { CircuitBreakerConfig } from "./profile.ts";
import {
  advanceWindow,
  clearWindow,
  countResult,
  createWindow,
  resizeWindow,
  type RollingWindow,
  windowStart,
} from "./rolling-window.ts";

/**
 * One circuit per webhook: after too many failures nothing is sent for a while, then a few probes decide whether it
 * closes (WDS-134 to 152).
 *
 * The state is one small object that these functions change in place, because `recordResult` runs for every attempt.
 * Nothing here reads a clock; every `now` is Unix ms.
 */

export const circuitStates = ["closed", "open", "half_open"] as const;
export type CircuitState = (typeof circuitStates)[number];

/** A probe without a result for this long is treated as crashed, and its slot is freed. Longer than any request. */
export const probeLeaseMs = attemptTimeoutMsMax + 30_000;

/** Longest time a circuit can be forced open or closed. Longer than any delivery waits by default. */
export const forceMsMax = 7 * 86_400_000;

/** Owned by the process that runs the webhook. Change it only through the functions of this file. */
export interface CircuitBreakerState {
  phase: CircuitState;
  /** When the phase was entered. */
  transitionAt: number;
  /** When the first probe may be sent; meaningful while open. */
  halfOpenAt: number;
  /** The circuit is forced open until this time; 0 if it is not forced. */
  forcedOpenUntil: number;
  /** The circuit is forced closed until this time, regardless of failures; 0 if it is not forced. */
  forcedClosedUntil: number;
  /** Probe results since the circuit became half open. */
  probeResults: number;
  probeSuccesses: number;
  /** Probes in flight. Empty unless half open. */
  probes: readonly ProbeLease[];
  nextLease: number;
  readonly window: RollingWindow;
}

/** Permission to send one probe. Pass `lease` on with the result, or to `releaseProbe` if nothing was sent. */
export interface ProbeLease {
  readonly lease: number;
  readonly expiresAt: number;
}

/** A change of phase, reported to metrics and to the webhook's owner (WDS-146 to 148). */
export interface CircuitTransition {
  readonly from: CircuitState;
  readonly to: CircuitState;
}

/**
 * `until` (Unix ms) is when to call again. Before that, the answer changes only after a manual change or a probe
 * result.
 */
type CircuitPermission =
  | { readonly kind: "allow"; readonly reason: "circuit_closed" }
  | {
      readonly kind: "probe";
      readonly reason: "circuit_half_open_probe";
      readonly lease: number;
      readonly transition: CircuitTransition | null;
    }
  | {
      readonly kind: "deny";
      readonly reason: "circuit_open" | "manually_forced_open" | "half_open_probe_limit_reached";
      readonly until: number;
    };

const allowed: CircuitPermission = { kind: "allow", reason: "circuit_closed" };

/** Creates a closed circuit without history (WDS-134). */
export function createCircuit(now: number): CircuitBreakerState {
  return {
    phase: "closed",
    transitionAt: now,
    halfOpenAt: 0,
    forcedOpenUntil: 0,
    forcedClosedUntil: 0,
    probeResults: 0,
    probeSuccesses: 0,
    probes: [],
    nextLease: 1,
    window: createWindow(60_000),
  };
}

/**
 * Whether a request may be sent now. A `probe` takes one of the few slots of a half-open circuit. A disabled breaker
 * allows everything unless it was forced open manually (WDS-52, 139, 142 to 145).
 */
export function allow(
  state: CircuitBreakerState,
  config: CircuitBreakerConfig,
  now: number,
): CircuitPermission {
  if (state.phase === "closed") return allowed;
  if (state.forcedOpenUntil > now)
    return { kind: "deny", reason: "manually_forced_open", until: state.forcedOpenUntil };
  if (!config.enabled) return allowed;
  if (state.phase === "open") {
    if (now < state.halfOpenAt) return { kind: "deny", reason: "circuit_open", until: state.halfOpenAt };
    return takeProbe(state, now, moveTo(state, "half_open", now));
  }
  state.probes = state.probes.filter((probe) => probe.expiresAt > now);
  // Uses `>=` and `max(1, …)` because the configuration may have changed since the probes were sent.
  if (
    state.probes.length + state.probeResults >= Math.max(1, config.halfOpenMaxCalls) &&
    state.probes.length > 0
  ) {
    const until = Math.min(...state.probes.map((probe) => probe.expiresAt));
    return { kind: "deny", reason: "half_open_probe_limit_reached", until };
  }
  return takeProbe(state, now, null);
}

function takeProbe(
  state: CircuitBreakerState,
  now: number,
  transition: CircuitTransition | null,
): CircuitPermission {
  const lease = state.nextLease;
  state.nextLease += 1;
  state.probes = [...state.probes, { lease, expiresAt: now + probeLeaseMs }];
  return { kind: "probe", reason: "circuit_half_open_probe", lease, transition };
}

/** Frees a probe's slot when no request was sent, or when its result says nothing about the endpoint. */
export function releaseProbe(state: CircuitBreakerState, lease: number): void {
  state.probes = state.probes.filter((probe) => probe.lease !== lease);
}

/** The result of one request. `ignored` results are passed to `releaseProbe` and not recorded. */
/**
 * Corrects the times after the clock was set back: a wait that began in the future starts now. Forced periods are
 * unchanged. Returns true if anything changed.
 */
export function bringCircuitNear(state: CircuitBreakerState, now: number): boolean {
  if (state.transitionAt <= now + clockDifferenceMs) return false;
  state.halfOpenAt = now + Math.max(0, state.halfOpenAt - state.transitionAt);
  state.transitionAt = now;
  // Without this limit, the leases would outlast their requests by the amount by which the clock was ahead.
  state.probes = state.probes.map(({ lease, expiresAt }) => ({
    lease,
    expiresAt: Math.min(expiresAt, now + probeLeaseMs),
  }));
  return true;
}

/** Takes over the state of the probes, as reported by the process that owns the webhook. */
export function adoptProbes(
  state: CircuitBreakerState,
  {
    probeResults,
    probeSuccesses,
    probes,
  }: Pick<CircuitBreakerState, "probeResults" | "probeSuccesses" | "probes">,
): void {
  state.probeResults = probeResults;
  state.probeSuccesses = probeSuccesses;
  state.probes = probes;
}

type CircuitSignal = "success" | "failure" | "ignored";

/**
 * How a verdict counts for the endpoint's circuit. A status caused by the payload does not count. `statusCode` may be
 * null.
 */
export function circuitSignal(
  policy: Pick<DeliveryPolicy, "circuitBreakerIgnoresStatuses">,
  verdict: Verdict,
  statusCode: number | null,
): CircuitSignal {
  if (verdict.outcome === "accepted") return "success";
  return statusCode !== null && policy.circuitBreakerIgnoresStatuses.includes(statusCode)
    ? "ignored"
    : "failure";
}

/**
 * Records one result and decides whether the phase changes (WDS-136 to 141). `lease` belongs to the probe and is null
 * for an ordinary request; `now` is in Unix ms.
 *
 * A late result enters the window but decides nothing: the request was sent before the circuit opened, or the probe's
 * lease had expired. Returns the transition that the result caused. O(1); allocates nothing while the circuit is
 * closed.
 */
export function recordResult(
  state: CircuitBreakerState,
  config: CircuitBreakerConfig,
  now: number,
  accepted: boolean,
  lease: number | null,
): CircuitTransition | null {
  resizeWindow(state.window, config.windowSizeMs);
  countResult(state.window, now, accepted);
  if (state.phase === "closed") return shouldOpen(state, config, now) ? open(state, config, now) : null;
  if (state.phase !== "half_open" || lease === null || !state.probes.some((probe) => probe.lease === lease))
    return null;
  releaseProbe(state, lease);
  state.probeResults += 1;
  if (accepted) state.probeSuccesses += 1;
  if (state.probeResults < config.halfOpenMaxCalls) return null;
  return state.probeSuccesses * 2 >= state.probeResults ? close(state, now) : open(state, config, now);
}

function shouldOpen(state: CircuitBreakerState, config: CircuitBreakerConfig, now: number): boolean {
  const { failures, successes } = state.window;
  const total = failures + successes;
  if (failures === 0 || total < config.minimumThroughput) return false;
  if (!config.enabled || state.forcedClosedUntil > now) return false;
  return failures * 100 >= config.errorThresholdPercentage * total;
}

function open(state: CircuitBreakerState, config: CircuitBreakerConfig, now: number): CircuitTransition {
  state.halfOpenAt = now + config.sleepWindowMs;
  return moveTo(state, "open", now);
}

/** Failures from before the circuit closed must not reopen it (WDS-148). */
function close(state: CircuitBreakerState, now: number): CircuitTransition {
  clearWindow(state.window);
  return moveTo(state, "closed", now);
}

function moveTo(state: CircuitBreakerState, to: CircuitState, now: number): CircuitTransition {
  const from = state.phase;
  state.phase = to;
  state.transitionAt = now;
  state.forcedOpenUntil = 0;
  state.probeResults = 0;
  state.probeSuccesses = 0;
  state.probes = [];
  return { from, to };
}

export interface ForceCommand {
  readonly untilMs: number;
  readonly now: number;
}

/**
 * Sends nothing until `untilMs` (Unix ms, limited to `forceMsMax` from now), then probes like any open circuit
 * (WDS-142).
 */
export function forceOpen(state: CircuitBreakerState, command: ForceCommand): CircuitTransition | null {
  const until = Math.min(command.untilMs, command.now + forceMsMax);
  const transition = moveTo(state, "open", command.now);
  state.halfOpenAt = until;
  state.forcedOpenUntil = until;
  state.forcedClosedUntil = 0;
  return changed(transition);
}

/**
 * Closes the circuit and keeps it closed despite failures until `untilMs` (Unix ms, limited to `forceMsMax` from now).
 */
export function forceClose(state: CircuitBreakerState, command: ForceCommand): CircuitTransition | null {
  const transition = close(state, command.now);
  state.forcedClosedUntil = Math.min(command.untilMs, command.now + forceMsMax);
  return changed(transition);
}

/** Closes the circuit, empties the window and ends any forced period. */
export function resetCircuit(state: CircuitBreakerState, now: number): CircuitTransition | null {
  const transition = close(state, now);
  state.forcedClosedUntil = 0;
  return changed(transition);
}

function changed(transition: CircuitTransition): CircuitTransition | null {
  return transition.from === transition.to ? null : transition;
}

/** The circuit as the API shows it (WDS-90 to 99). Times in Unix ms. */
export interface CircuitSnapshot {
  readonly state: CircuitState;
  readonly failureCountInWindow: number;
  readonly successCountInWindow: number;
  readonly totalCallsInWindow: number;
  /** From 0 to 100; 0 without calls. */
  readonly errorPercentage: number;
  readonly windowStart: number;
  readonly stateTransitionAt: number;
  /** Null unless open. */
  readonly nextHalfOpenAt: number | null;
  /** Probes sent since the circuit became half open, including those in flight. */
  readonly halfOpenAttempts: number;
  readonly halfOpenSuccesses: number;
  readonly forcedOpenUntil: number | null;
  readonly forcedClosedUntil: number | null;
}

/**
 * Does not change the circuit. An open circuit whose sleep window has passed is reported as `half_open`, which is the
 * phase that the next request will see.
 */
export function snapshotCircuit(
  state: CircuitBreakerState,
  config: CircuitBreakerConfig,
  now: number,
): CircuitSnapshot {
  resizeWindow(state.window, config.windowSizeMs);
  advanceWindow(state.window, now);
  const { failures, successes } = state.window;
  const total = failures + successes;
  const phase = circuitPhase(state, config, now);
  return {
    state: phase,
    failureCountInWindow: failures,
    successCountInWindow: successes,
    totalCallsInWindow: total,
    errorPercentage: total === 0 ? 0 : (failures / total) * 100,
    windowStart: windowStart(state.window),
    stateTransitionAt: state.transitionAt,
    nextHalfOpenAt: phase === "open" ? state.halfOpenAt : null,
    halfOpenAttempts: state.probeResults + state.probes.filter((probe) => probe.expiresAt > now).length,
    halfOpenSuccesses: state.probeSuccesses,
    forcedOpenUntil: state.forcedOpenUntil > now ? state.forcedOpenUntil : null,
    forcedClosedUntil: state.forcedClosedUntil > now ? state.forcedClosedUntil : null,
  };
}

/** The phase that the next request will see. An open circuit whose sleep window has passed is half open. */
export function circuitPhase(
  state: Readonly<CircuitBreakerState>,
  config: CircuitBreakerConfig,
  now: number,
): CircuitState {
  if (state.forcedOpenUntil > now) return "open";
  if (!config.enabled) return "closed";
  return state.phase === "open" && now >= state.halfOpenAt ? "half_open" : state.phase;
}

/** The part of a circuit that survives a restart. An open circuit stays open; the counts of its window are lost. */
export interface CircuitJson {
  readonly state: CircuitState;
  readonly transitionAt: number;
  readonly halfOpenAt: number;
  readonly forcedOpenUntil: number;
  readonly forcedClosedUntil: number;
}

/** For `JSON.stringify`. Times in Unix ms, 0 for never. */
export function circuitToJson(state: CircuitBreakerState): CircuitJson {
  return {
    state: state.phase,
    transitionAt: state.transitionAt,
    halfOpenAt: state.halfOpenAt,
    forcedOpenUntil: state.forcedOpenUntil,
    forcedClosedUntil: state.forcedClosedUntil,
  };
}

/**
 * Restores a stored circuit. Returns null if the value is invalid; the caller can then safely start with a closed
 * circuit. A half-open circuit sends new probes, because the process that sent the earlier ones no longer exists.
 */
export function circuitFromJson(value: unknown): CircuitBreakerState | null {
  if (typeof value !== "object" || value === null) return null;
  const stored = value as Partial<Record<keyof CircuitJson, unknown>>;
  const phase = circuitStates.find((name) => name === stored.state);
  const { transitionAt, halfOpenAt, forcedOpenUntil, forcedClosedUntil } = stored;
  if (phase === undefined || !isTime(transitionAt) || !isTime(halfOpenAt)) return null;
  if (!isTime(forcedOpenUntil) || !isTime(forcedClosedUntil)) return null;
  return { ...createCircuit(transitionAt), phase, halfOpenAt, forcedOpenUntil, forcedClosedUntil };
}

function isTime(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}
