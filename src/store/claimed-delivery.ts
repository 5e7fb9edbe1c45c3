import { waitingStates } from "../domain/delivery.ts";
import { unpackTraceContext } from "../domain/tracing/trace-context.ts";
import { unpackRelayed } from "../features/gateway/relayed.ts";
import type { ClaimedDelivery, Lease } from "../ports/store/deliveries.ts";
import { decode, decodeState, formatCodes, priorityCodes, retriedFrom } from "./column-values.ts";

/**
 * Column positions of a claimed delivery, as both stores select them; the row may have other columns before and after.
 */
export const claimed = {
  id: 0,
  tenant: 1,
  webhook: 2,
  webhookTenant: 3,
  eventId: 4,
  eventType: 5,
  priority: 6,
  state: 7,
  attemptCount: 8,
  createdAt: 9,
  firstAttemptAt: 10,
  dueAt: 11,
  reason: 12,
  format: 13,
  timestamp: 14,
  source: 15,
  idempotencyKey: 16,
  sequenceNumber: 17,
  contentType: 18,
  raw: 19,
  eventPriority: 20,
  body: 21,
  trace: 22,
  relayed: 23,
  retriedAt: 24,
  retriedAttempts: 25,
} as const;

/** SQLite has no booleans. */
export type ClaimedRow = [
  id: string,
  tenant: string,
  webhook: string,
  webhookTenant: string | null,
  eventId: string,
  eventType: number,
  priority: number,
  state: number,
  attemptCount: number,
  createdAt: number,
  firstAttemptAt: number | null,
  dueAt: number,
  reason: string | null,
  format: number,
  timestamp: number,
  source: string | null,
  idempotencyKey: string | null,
  sequenceNumber: number,
  contentType: number,
  raw: boolean | number,
  eventPriority: number,
  body: Uint8Array | null,
  trace: Uint8Array | null,
  relayed: Uint8Array | null,
  retriedAt: number | null,
  retriedAttempts: number | null,
];

/**
 * `names` are the SQL expressions for the tenant, the webhook and the webhook's tenant. By default they use the joined
 * rows `tenant`, `webhook` and `w`.
 */
export function claimedSql(
  timestamp: string,
  names: string = "tenant.string, webhook.string, w.tenant",
): string {
  return `d.id, ${names}, e.id, e.event_type, d.priority, d.state, d.attempt_count,
    d.created_at, d.first_attempt_at, d.due_at, d.reason, d.format, ${timestamp}, e.source, e.idempotency_key,
    e.sequence_number, e.content_type, e.raw, e.priority, e.body, e.trace,
    e.relayed, d.retried_at, d.retried_attempts`;
}

/** Resolves the string numbers in rows. */
interface Strings {
  text(ref: number): string;
}

/** `first` is the position of the first claimed-delivery column. */
export function toClaimedDelivery(
  row: readonly unknown[],
  first: number,
  lease: Lease,
  strings: Strings,
): ClaimedDelivery {
  return {
    lease,
    id: row[first + claimed.id] as string,
    webhookId: row[first + claimed.webhook] as string,
    webhookTenantId: row[first + claimed.webhookTenant] as string | null,
    tenantId: row[first + claimed.tenant] as string,
    eventId: row[first + claimed.eventId] as string,
    eventType: strings.text(row[first + claimed.eventType] as number),
    priority: decode(priorityCodes, row[first + claimed.priority] as number),
    progress: {
      state: decodeState(waitingStates, row[first + claimed.state] as number),
      attemptCount: row[first + claimed.attemptCount] as number,
      createdAt: row[first + claimed.createdAt] as number,
      firstAttemptAt: row[first + claimed.firstAttemptAt] as number | null,
      dueAt: row[first + claimed.dueAt] as number,
      reason: row[first + claimed.reason] as string | null,
      retried: retriedFrom(
        row[first + claimed.retriedAt] as number | null,
        row[first + claimed.retriedAttempts] as number | null,
      ),
    },
    contentType: strings.text(row[first + claimed.contentType] as number),
    body: row[first + claimed.body] as Uint8Array | null,
    format: decode(formatCodes, row[first + claimed.format] as number),
    timestamp: row[first + claimed.timestamp] as number,
    source: row[first + claimed.source] as string | null,
    idempotencyKey: row[first + claimed.idempotencyKey] as string | null,
    sequenceNumber: row[first + claimed.sequenceNumber] as number,
    raw: Boolean(row[first + claimed.raw]),
    eventPriority: decode(priorityCodes, row[first + claimed.eventPriority] as number),
    trace: unpackTraceContext(row[first + claimed.trace] as Uint8Array | null),
    relayed: unpackRelayed(row[first + claimed.relayed] as Uint8Array | null),
  };
}
