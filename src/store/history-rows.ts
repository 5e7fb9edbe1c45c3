import {
  type AttemptRecord,
  type DeliveryState,
  type Priority,
  priorities,
  waitingStates,
} from "../domain/delivery.ts";
import { unpackTraceContext } from "../domain/tracing/trace-context.ts";
import type { LaneKey } from "../domain/webhook.ts";
import { unpackRelayed } from "../features/gateway/relayed.ts";
import type {
  Backlog,
  EventSummary,
  OperationDeliveries,
  StoredDelivery,
  StoredEvent,
} from "../ports/store/history.ts";
import type { DeliveryFilter } from "../ports/store/search.ts";
import { attemptNotesFromText } from "./attempt-notes.ts";
import {
  categoryCodes,
  decode,
  decodeOrNull,
  formatCodes,
  originCodes,
  outcomeCodes,
  priorityCodes,
  retriedFrom,
  retriesFromText,
  stateCodes,
} from "./column-values.ts";

/** The waiting deliveries of one priority, as both stores select them. */
export type BacklogRow = [priority: number, count: number, oldestCreatedAt: number];

/** Sums rows into a backlog. Several rows may have the same priority. */
export function backlogOf(rows: readonly BacklogRow[], isMore: boolean): Backlog {
  const waiting = Object.fromEntries(priorities.map((priority) => [priority, 0])) as Record<Priority, number>;
  let oldestCreatedAt: number | null = null;
  for (const [code, count, createdAt] of rows) {
    waiting[decode(priorityCodes, code)] += count;
    oldestCreatedAt = Math.min(oldestCreatedAt ?? createdAt, createdAt);
  }
  return { waiting, isMore, oldestCreatedAt };
}

/** An event as both stores select it; SQLite has no booleans. */
export type EventRow = [
  seq: number,
  id: string,
  tenant: number,
  eventType: number,
  sequenceNumber: number,
  timestamp: number,
  source: string | null,
  idempotencyKey: string | null,
  priority: number,
  createdAt: number,
  contentType: number,
  deliveries: number,
  body: Uint8Array | null,
  raw: boolean | number,
  trace: Uint8Array | null,
  relayed: Uint8Array | null,
];
/** A delivery as both stores select it. */
export type DeliveryRow = [
  seq: number,
  id: string,
  tenant: number,
  webhook: number,
  eventId: string,
  eventType: number,
  priority: number,
  lane: number,
  origin: number,
  state: number,
  attemptCount: number,
  createdAt: number,
  firstAttemptAt: number | null,
  dueAt: number,
  reason: string | null,
  category: number | null,
  completedAt: number | null,
  format: number,
  retriedAt: number | null,
  retriedAttempts: number | null,
  retries: string | null,
  replayOf: string | null,
  replayedBy: string | null,
  /** Without a last attempt, all of these columns are null. */
  ...lastAttempt: AttemptRow,
];
/** Number of columns before the columns of the last attempt. */
const deliveryColumnCount = 23;

/**
 * The columns of a delivery `d`, its event `e` and its last attempt `a`. `attemptNumber` differs, because the stores
 * number attempts differently.
 */
export function deliveryColumnsWith(attemptNumber: string): string {
  return `d.seq, d.id, d.tenant, d.webhook, e.id, e.event_type, d.priority, d.lane, d.origin, d.state,
  d.attempt_count, d.created_at, d.first_attempt_at, d.due_at, d.reason, d.category, d.completed_at, d.format,
  d.retried_at, d.retried_attempts, d.retries, d.replay_of, d.replayed_by, ${attemptColumnsWith(attemptNumber)}`;
}

export function attemptColumnsWith(number: string): string {
  return `${number}, a.id, a.outcome, a.state_unknown, a.category, a.status_code, a.response_sample,
  a.error_message, a.duration_ms, a.scheduled_at, a.executed_at, a.next_retry_at, a.notes`;
}

/** Rows of other tenants are treated as missing. */
export function ownedBy<Row extends { readonly tenantId: string | null }>(
  tenantId: string | null,
  row: Row | null | undefined,
): Row | null {
  return row === undefined || row === null || (tenantId !== null && row.tenantId !== tenantId) ? null : row;
}

/** An attempt as both stores select it. */
export type AttemptRow = [
  number: number,
  id: string,
  outcome: number,
  unknown: boolean | number,
  category: number | null,
  statusCode: number | null,
  responseSample: string | null,
  errorMessage: string | null,
  durationMs: number,
  scheduledAt: number,
  executedAt: number,
  nextRetryAt: number | null,
  notes: string | null,
];

/** Resolves the numbers of strings and lanes in rows. */
export interface StoredNames {
  text(ref: number): string;
  lane(ref: number): LaneKey;
}

/** Converts an event to the form of the port. */
export function toStoredEvent(row: EventRow, names: StoredNames): StoredEvent {
  return { ...toEventSummary(row, names), body: row[12] };
}

/** Converts an event row that was read without its body. */
export function toEventSummary(row: EventRow, names: StoredNames): EventSummary {
  return {
    position: row[0],
    id: row[1],
    tenantId: names.text(row[2]),
    eventType: names.text(row[3]),
    sequenceNumber: row[4],
    timestamp: row[5],
    source: row[6],
    idempotencyKey: row[7],
    priority: decode(priorityCodes, row[8]),
    createdAt: row[9],
    contentType: names.text(row[10]),
    deliveries: row[11],
    raw: Boolean(row[13]),
    trace: unpackTraceContext(row[14]),
    relayed: unpackRelayed(row[15]),
  };
}

/** Converts a delivery to the form of the port. */
export function toStoredDelivery(row: DeliveryRow, names: StoredNames): StoredDelivery {
  const attempt = row.slice(deliveryColumnCount) as AttemptRow;
  const lastAttempt = (attempt[0] as number | null) === null ? null : toAttempt(attempt);
  const state = decode(stateCodes, row[9]);
  return {
    position: row[0],
    id: row[1],
    tenantId: names.text(row[2]),
    webhookId: names.text(row[3]),
    eventId: row[4],
    eventType: names.text(row[5]),
    priority: decode(priorityCodes, row[6]),
    lane: names.lane(row[7]),
    origin: decode(originCodes, row[8]),
    progress: {
      state,
      attemptCount: row[10],
      createdAt: row[11],
      firstAttemptAt: row[12],
      dueAt: row[13],
      reason: row[14],
      retried: retriedFrom(row[18], row[19]),
    },
    category: decodeOrNull(categoryCodes, row[15]),
    completedAt: row[16],
    format: decode(formatCodes, row[17]),
    retries: retriesFromText(row[20]),
    replayOf: row[21],
    replayedBy: row[22],
    retryAfterHolds: state === "failed" && lastAttempt?.notes?.retryAfter?.effect === "lower_bound",
    lastAttempt,
  };
}

/** Converts an attempt to the form of the port. */
export function toAttempt(row: AttemptRow): AttemptRecord {
  return {
    number: row[0],
    id: row[1],
    outcome: decode(outcomeCodes, row[2]),
    receiverStateUnknown: Boolean(row[3]),
    category: decodeOrNull(categoryCodes, row[4]),
    statusCode: row[5],
    responseSample: row[6],
    errorMessage: row[7],
    durationMs: row[8],
    scheduledAt: row[9],
    executedAt: row[10],
    nextRetryAt: row[11],
    notes: attemptNotesFromText(row[12]),
  };
}

/**
 * A page of an operation's deliveries, counted by state. One row more than `limit` means that there is another page.
 */
export function countedByState(
  rows: readonly (readonly [seq: number, state: number])[],
  limit: number,
): OperationDeliveries {
  const states: Partial<Record<DeliveryState, number>> = {};
  const page = rows.slice(0, limit);
  for (const [, code] of page) {
    const state = decode(stateCodes, code);
    states[state] = (states[state] ?? 0) + 1;
  }
  return { states, next: rows.length > limit ? (page.at(-1)?.[0] ?? null) : null };
}

/** Whether all results of a filter are dead letters. */
export function asksForDeadLetters({ states }: Pick<DeliveryFilter, "states">): boolean {
  return states?.length === 1 && states[0] === "exhausted";
}

/** Whether all results of a filter are waiting deliveries. */
export function asksForWaiting({ states }: Pick<DeliveryFilter, "states">): boolean {
  return states?.every((state) => waitingStates.some((waiting) => waiting === state)) === true;
}

/** One page of the lanes of a listing that was read one row beyond `limit`. */
export function lanePageOf(refs: readonly number[], limit: number) {
  const shown = refs.slice(0, limit);
  return { shown, next: refs.length > limit ? String(shown.at(-1)) : null };
}
