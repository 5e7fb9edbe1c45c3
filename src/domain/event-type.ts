import type { Relayed } from "../features/gateway/relayed.ts";
import type { Priority } from "./delivery.ts";
import type { TraceContext } from "./tracing/trace-context.ts";

/**
 * Names of event types, and the patterns with which webhooks subscribe to them.
 *
 * | Pattern | Receives |
 * |---|---|
 * | `order.created` | exactly this type |
 * | `order.*` | every type below `order.`, at any depth, but not `order` itself |
 * | `*` | every type that applications publish, but not the system's `posthorn.*` |
 *
 * Comparison is case-sensitive.
 */

/** Maximum length of a name or pattern, in characters. */
export const eventTypeLengthMax = 128;

/**
 * Types that Posthorn publishes itself. A webhook receives them only if it subscribes to them explicitly (`posthorn.*`,
 * or the exact name).
 */
const systemEventPrefix = "posthorn.";

/** Words of letters, digits and `_`, joined by single dots. */
export const eventTypeNamePattern = "^[a-zA-Z0-9_]+(\\.[a-zA-Z0-9_]+)*$";
/** A name, a name followed by `.*`, or `*` alone. */
export const eventTypePatternPattern = "^(\\*|[a-zA-Z0-9_]+(\\.[a-zA-Z0-9_]+)*(\\.\\*)?)$";

const namePattern = new RegExp(eventTypeNamePattern, "u");

export function isEventTypeName(text: string): boolean {
  return text.length <= eventTypeLengthMax && namePattern.test(text);
}

/** Names that are reserved for the system. Applications may not publish them. */
export function isSystemEventType(name: string): boolean {
  return name.startsWith(systemEventPrefix);
}

/** Whether a webhook with this pattern receives events of this type. Both must be valid. */
export function matches(pattern: string, type: string): boolean {
  if (pattern === "*") return !isSystemEventType(type);
  if (!pattern.endsWith(".*")) return pattern === type;
  // Keep the dot: `order.*` must not match `orders.created`.
  return type.startsWith(pattern.slice(0, -1));
}

/** An event that an application published; immutable. Times are Unix milliseconds. */
export interface PublishedEvent {
  /** UUIDv7. It is also the `Webhook-ID` and the `Idempotency-Key` of every delivery. */
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
  /** The position of the event in the publisher's trace; null without a trace. */
  readonly trace: TraceContext | null;
  /** What the gateway stored about the request that contained the event; null for published events. */
  readonly relayed: Relayed | null;
}

/** A link in an event, as defined by TS16-54. */
export interface EventLink {
  readonly rel?: string;
  readonly method?: string;
  readonly href?: string;
}
