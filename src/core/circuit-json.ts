import { circuitStates, createCircuit } from "./circuit-breaker.ts";
import type { CircuitBreakerState, CircuitState } from "./circuit-breaker.ts";

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
 * Restores a stored circuit; null if the value is not one, in which case a new closed circuit is safe. A half-open
 * circuit sends new probes, because the process that sent the earlier ones is gone.
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
