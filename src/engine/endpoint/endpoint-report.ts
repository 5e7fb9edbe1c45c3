import type { ProbeLease } from "../../core/circuit-breaker.ts";

/**
 * What only the owner of an endpoint sees, for the processes that answer people: why something waits, and how the circuit
 * counts. A moment old, and never a reason to act. Times are Unix ms.
 */
export interface EndpointReport {
  readonly inFlight: number;
  /** On their way, as far as there is room. */
  readonly deliveries: readonly string[];
  readonly rateFullAt: number | null;
  /** The limit of its tenant lets nothing through before. */
  readonly tenantLimitUntil: number | null;
  /** Ordered lanes that wait for their head, by `laneId`, and until when; null while it is on its way. */
  readonly heads: readonly (readonly [laneId: string, until: number | null])[];
  readonly successes: number;
  readonly failures: number;
  readonly probeResults: number;
  readonly probeSuccesses: number;
  readonly probes: readonly ProbeLease[];
}
