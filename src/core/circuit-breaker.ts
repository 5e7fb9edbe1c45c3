/**
 * One circuit per webhook: after too many failures nothing is sent for a while, then a few probes decide
 * (WDS-134 to 152, with the defects of C-42 mended).
 *
 * The state is one small object that these functions change in place, because `recordResult` runs for every attempt.
 * Nothing here reads a clock; every `now` is Unix ms.
 */
import { clockDifferenceMs } from "./due-times.ts";
import { attemptTimeoutMsMax } from "./delivery-policy.ts";
import type { DeliveryPolicy } from "./delivery-policy.ts";
import type { Verdict } from "./outcome.ts";
import type { CircuitBreakerConfig } from "./profile.ts";
import {
  advanceWindow,
  clearWindow,
  countResult,
  createWindow,
  resizeWindow,
  windowStart,
} from "./rolling-window.ts";
import type { RollingWindow } from "./rolling-window.ts";

export const circuitStates = ["closed", "open", "half_open"] as const;
export type CircuitState = (typeof circuitStates)[number];

/** A probe that reports nothing for this long has crashed and frees its place (C-42). Longer than any request. */
export const probeLeaseMs = attemptTimeoutMsMax + 30_000;

/** Longest time a circuit can be forced open or closed, longer than any delivery waits by default (C-42). */
export const forceMsMax = 7 * 86_400_000;

/** Owned by whoever runs the webhook; change it only through the functions of this file. */
export interface CircuitBreakerState {
  phase: CircuitState;
  /** When the phase was entered. */
  transitionAt: number;
  /** While open: when the first probe may go. */
  halfOpenAt: number;
  /** Opened by hand until then; 0 when not. */
  forcedOpenUntil: number;
  /** Closed by hand and immune until then; 0 when not. */
  forcedClosedUntil: number;
  /** Results of probes since half-opening. */
  probeResults: number;
  probeSuccesses: number;
  /** Probes on their way. Empty unless half open. */
  probes: readonly ProbeLease[];
  nextLease: number;
  readonly window: RollingWindow;
}

/** The right to send one probe. Hand `lease` back with the result, or with `releaseProbe` when nothing was sent. */
export interface ProbeLease {
  readonly lease: number;
  readonly expiresAt: number;
}

/** A change of phase, to be told to metrics, and to the owner (WDS-146 to 148). */
export interface CircuitTransition {
  readonly from: CircuitState;
  readonly to: CircuitState;
}

/** `until` in Unix ms: asking again before is pointless, unless the circuit is changed by hand or a probe reports. */
export type CircuitPermission =
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

/** A closed circuit without history (WDS-134). */
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
 * May one request go now? A `probe` takes one of the few places of a half-open circuit. A disabled breaker allows
 * everything unless it was forced open by hand (WDS-52, 139, 142 to 145).
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
  // `>=` and `max(1, …)`: the configuration may have changed since the probes went out.
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

/** Gives a probe's place back when no request was made, or when its result says nothing about the endpoint. */
export function releaseProbe(state: CircuitBreakerState, lease: number): void {
  state.probes = state.probes.filter((probe) => probe.lease !== lease);
}

/** The result of one request for the circuit; `ignored` ones are passed to `releaseProbe`, not recorded (C-37). */
/** The clock was set back. A wait that began while it was ahead counts from now; waits of people stay. True if changed. */
export function bringCircuitNear(state: CircuitBreakerState, now: number): boolean {
  if (state.transitionAt <= now + clockDifferenceMs) return false;
  state.halfOpenAt = now + Math.max(0, state.halfOpenAt - state.transitionAt);
  state.transitionAt = now;
  // Their leases would outlast the requests by as much as the clock was ahead.
  state.probes = state.probes.map(({ lease, expiresAt }) => ({
    lease,
    expiresAt: Math.min(expiresAt, now + probeLeaseMs),
  }));
  return true;
}

/** What the owner of the webhook, another process, says of its probes. */
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

export type CircuitSignal = "success" | "failure" | "ignored";

/** What a verdict says about the endpoint. A status caused by the payload says nothing (C-37). `statusCode` or null. */
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

/** How one request ended: `now` in Unix ms, `lease` of the probe or null for an ordinary request. */
export interface CircuitResult {
  readonly now: number;
  readonly accepted: boolean;
  readonly lease: number | null;
}

/**
 * Counts one result and decides (WDS-136 to 141). `lease` is that of the probe, or null for an ordinary request.
 *
 * A late result, of a request that left before the circuit opened or of a probe whose lease ran out, enters the window
 * and decides nothing. Returns the transition it caused. O(1), and allocates nothing while the circuit is closed.
 */
export function recordResult(
  state: CircuitBreakerState,
  config: CircuitBreakerConfig,
  result: CircuitResult,
): CircuitTransition | null {
  const { now, accepted, lease } = result;
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

/** Old failures must not open it again (WDS-148). */
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

/** Sends nothing until `untilMs` (Unix ms, at most `forceMsMax` ahead), then probes like any open circuit (WDS-142). */
export function forceOpen(state: CircuitBreakerState, command: ForceCommand): CircuitTransition | null {
  const until = Math.min(command.untilMs, command.now + forceMsMax);
  const transition = moveTo(state, "open", command.now);
  state.halfOpenAt = until;
  state.forcedOpenUntil = until;
  state.forcedClosedUntil = 0;
  return changed(transition);
}

/** Closes it and keeps it closed, whatever fails, until `untilMs` (Unix ms, at most `forceMsMax` ahead) (C-42). */
export function forceClose(state: CircuitBreakerState, command: ForceCommand): CircuitTransition | null {
  const transition = close(state, command.now);
  state.forcedClosedUntil = Math.min(command.untilMs, command.now + forceMsMax);
  return changed(transition);
}

/** Closed, with an empty window and nothing forced (C-42). */
export function resetCircuit(state: CircuitBreakerState, now: number): CircuitTransition | null {
  const transition = close(state, now);
  state.forcedClosedUntil = 0;
  return changed(transition);
}

function changed(transition: CircuitTransition): CircuitTransition | null {
  return transition.from === transition.to ? null : transition;
}

/** What the API shows of a circuit (WDS-90 to 99). Times in Unix ms. */
export interface CircuitSnapshot {
  readonly state: CircuitState;
  readonly failureCountInWindow: number;
  readonly successCountInWindow: number;
  readonly totalCallsInWindow: number;
  /** 0 to 100; 0 without calls. */
  readonly errorPercentage: number;
  readonly windowStart: number;
  readonly stateTransitionAt: number;
  /** Null unless open. */
  readonly nextHalfOpenAt: number | null;
  /** Probes sent since half-opening, finished or not. */
  readonly halfOpenAttempts: number;
  readonly halfOpenSuccesses: number;
  readonly forcedOpenUntil: number | null;
  readonly forcedClosedUntil: number | null;
}

/** Decides nothing: an open circuit whose sleep window is over reads `half_open`, as the next request will find it. */
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

/** The phase as the next request will find it. An open circuit whose sleep window is over is half open. */
export function circuitPhase(
  state: Readonly<CircuitBreakerState>,
  config: CircuitBreakerConfig,
  now: number,
): CircuitState {
  if (state.forcedOpenUntil > now) return "open";
  if (!config.enabled) return "closed";
  return state.phase === "open" && now >= state.halfOpenAt ? "half_open" : state.phase;
}
