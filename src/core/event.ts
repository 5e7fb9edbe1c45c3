import type { Priority } from "./delivery.ts";
import type { Relayed } from "./gateway/relayed.ts";
import type { TraceContext } from "./tracing/trace-context.ts";

/** What an application published; immutable. Times are Unix milliseconds. */
export interface PublishedEvent {
  /** UUIDv7, also `Webhook-ID` and `Idempotency-Key` of every delivery. */
  readonly id: string;
  readonly tenantId: string;
  readonly eventType: string;
  /** When it happened, as the publisher said or when it was accepted. RFC 3339 text is what goes on the wire. */
  readonly timestamp: number;
  readonly source: string | null;
  readonly idempotencyKey: string | null;
  readonly priority: Priority;
  readonly createdAt: number;
  /** Increases by one per event of a tenant. */
  readonly sequenceNumber: number;
  /** Where in its publisher's trace it was published; null without one. */
  readonly trace: TraceContext | null;
  /** What it keeps of the request that brought it through the gateway; null for what was published. */
  readonly relayed: Relayed | null;
}

/** TS16-54. */
export interface EventLink {
  readonly rel?: string;
  readonly method?: string;
  readonly href?: string;
}
