import type { CircuitState } from "../domain/circuit-breaker.ts";
import type { GatewayOutcome } from "../features/gateway/relayed.ts";
import type { DeliveryState } from "../domain/delivery.ts";
import type { FailureCategory, Outcome } from "../domain/classify.ts";
import type { TraceSampling } from "../domain/tracing/sampling.ts";
import type { Span } from "../domain/tracing/trace-context.ts";

/** Structured log. Fields never contain payloads, secrets or full URLs with queries (EDS-11.6-2, TS16-78). */
export interface Logger {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
}
/** Names and values of a log line; values are small and never secret. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Records measurements for metrics. The adapter determines names and labels (WDS-227 to 235). Calls never throw. */
export interface Metrics {
  attemptSettled(fact: AttemptFact): void;
  circuitMoved(from: CircuitState, to: CircuitState): void;
  rateLimited(webhookId: string): void;
  /** Called when an API call was rate-limited. `limit` is the name of the limit and has few distinct values. */
  apiCallLimited(limit: string): void;
  /** Called when an event body was larger than the recommended size (TS16-51). */
  largePayload(bytes: number): void;
  eventPublished(isDuplicate: boolean): void;
  commitWritten(writes: number, durationMs: number): void;
  /** Called when a notification was sent or failed. `channel` and `outcome` have few distinct values. */
  notified(channel: string, outcome: string): void;
  /** Absent if the gateway is not used. */
  gatewayRequest?(sourceId: string, outcome: GatewayOutcome, durationMs: number): void;
  /** Called for a gateway request that suggests an attack. The kind has few distinct values. */
  gatewayIncident?(kind: string): void;
  /** Called when something happened that should never happen in normal operation. */
  alarmed(alarm: Alarm): void;
}

/**
 * `delivery_stopped`: a delivery was about to go to a webhook of another tenant. `store_restarted`: the database was
 * restarted or replaced. `lane_stalled`: deliveries were overdue and not claimed. `local_shortage`: this machine could
 * not send a request. `unexpected_error`: an attempt ended with an unexpected exception.
 */
export type Alarm =
  | "delivery_stopped"
  | "store_restarted"
  | "lane_stalled"
  | "local_shortage"
  | "unexpected_error";

/** One settled attempt. */
export interface AttemptFact {
  /** State of the delivery after this attempt. */
  readonly status: DeliveryState;
  readonly outcome: Outcome;
  readonly eventType: string;
  readonly tenantId: string;
  readonly category: FailureCategory | null;
  readonly durationMs: number;
  readonly attemptNumber: number;
}

/**
 * Receives finished spans. Calls never throw and never wait. Spans that do not fit into the buffer are dropped and
 * counted.
 */
export interface Tracer {
  /** Determines which spans to create. */
  readonly sampling: TraceSampling;
  ended(span: Span): void;
  /** Called when an attempt was worth tracing, but the limit per second was exceeded. */
  passedOver(): void;
}

/** The log and the metrics, which are always passed together. */
export interface Telemetry {
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Absent if traces are not collected. */
  readonly tracer?: Tracer;
}
