import type { Priority } from "./delivery.ts";
import type { Relayed } from "../features/gateway/relayed.ts";
import type { TraceContext } from "./tracing/trace-context.ts";

/** An event that an application published; immutable. Times are Unix milliseconds. */
export interface PublishedEvent {
  /** UUIDv7, also `Webhook-ID` and `Idempotency-Key` of every delivery. */
  readonly id: string;
  readonly tenantId: string;
  readonly eventType: string;
  /** When the event happened: the publisher's time, or the time of acceptance. Sent as RFC 3339 text. */
  readonly timestamp: number;
  readonly source: string | null;
  readonly idempotencyKey: string | null;
  readonly priority: Priority;
  readonly createdAt: number;
  /** Increases by one per event of a tenant. */
  readonly sequenceNumber: number;
  /** Its position in the publisher's trace; null without a trace. */
  readonly trace: TraceContext | null;
  /** What the gateway kept of the request that brought the event; null for published events. */
  readonly relayed: Relayed | null;
}

/** TS16-54. */
export interface EventLink {
  readonly rel?: string;
  readonly method?: string;
  readonly href?: string;
}
