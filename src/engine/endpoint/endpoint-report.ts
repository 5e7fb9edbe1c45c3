import type { ProbeLease } from "../../core/circuit-breaker.ts";

/**
 * Endpoint state that only its owner has, for processes that answer API calls: why deliveries wait, and the circuit's
 * counts. Slightly outdated, and never used for decisions. Times are Unix ms.
 */
export interface EndpointReport {
  readonly inFlight: number;
  /** Deliveries in flight, up to a limit. */
  readonly deliveries: readonly string[];
  readonly rateFullAt: number | null;
  /** Until then, the limit of its tenant lets no request through. */
  readonly tenantLimitUntil: number | null;
  /** Ordered lanes that wait for their head, by `laneId`, and until when; null while the head is in flight. */
  readonly heads: readonly (readonly [laneId: string, until: number | null])[];
  readonly successes: number;
  readonly failures: number;
  readonly probeResults: number;
  readonly probeSuccesses: number;
  readonly probes: readonly ProbeLease[];
}
