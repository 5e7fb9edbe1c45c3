import type {
  AttemptRecord,
  DeliveryOrigin,
  DeliveryProgress,
  DeliveryRetry,
  Priority,
} from "../../../src/domain/delivery.ts";
import type { Ending } from "../../../src/domain/delivery-state.ts";
import type { FailureCategory } from "../../../src/domain/classify.ts";
import type { PayloadFormatName } from "../../../src/domain/profile.ts";
import type { LaneKey, Webhook } from "../../../src/domain/webhook.ts";
import type { NewDelivery, NewEvent, WebhookRuntimeState } from "../../../src/ports/store/deliveries.ts";
import type { StoredDelivery, StoredEvent } from "../../../src/ports/store/history.ts";
import type { StoredSecret } from "../../../src/ports/store/webhooks.ts";

export interface EventRow {
  readonly position: number;
  readonly sequenceNumber: number;
  readonly event: NewEvent;
  /** Number of deliveries created at publish. */
  readonly deliveries: number;
  /** Number of deliveries created by replays. */
  replays: number;
  body: Uint8Array | null;
}

export interface LeaseRow {
  readonly leaseToken: number;
  readonly until: number;
}

export interface DeliveryRow {
  /** The row number, which also determines the position in listings. */
  readonly ref: number;
  /** Position in an ordered lane; equals `ref` until the first retry. */
  order: number;
  readonly id: string;
  readonly event: EventRow;
  lane: LaneKey;
  priority: Priority;
  readonly origin: DeliveryOrigin;
  format: PayloadFormatName;
  progress: DeliveryProgress;
  lease: LeaseRow | null;
  /** The lease in force when the delivery ended. Kept until the lease's holder has reported. */
  endedLease: LeaseRow | null;
  category: FailureCategory | null;
  completedAt: number | null;
  readonly retries: DeliveryRetry[];
  attempts: AttemptRecord[];
}

export interface DedupRow {
  readonly event: EventRow;
  readonly fingerprint: string | null;
  readonly expiresAt: number;
}

export interface WebhookRow {
  webhook: Webhook;
  secrets: readonly StoredSecret[];
  runtime: WebhookRuntimeState | null;
  deletedAt: number | null;
}

/**
 * All data that the model stores: plain maps, without an index that could be wrong. `waiting` and `lanes` only save
 * time.
 */
export class Rows {
  readonly events = new Map<string, EventRow>();
  readonly deliveries = new Map<string, DeliveryRow>();
  readonly byRef = new Map<number, DeliveryRow>();
  readonly lanes = new Map<string, { readonly key: LaneKey; readonly waiting: Set<DeliveryRow> }>();
  readonly dedup = new Map<string, DedupRow>();
  readonly webhooks = new Map<string, WebhookRow>();
  readonly sequences = new Map<string, number>();
  /** Deliveries of large events that are not written yet, in order. */
  readonly parts: { readonly event: EventRow; readonly deliveries: readonly NewDelivery[] }[] = [];
  position = 0;
  eventPosition = 0;
  leaseToken = 0;

  add(row: DeliveryRow): void {
    this.deliveries.set(row.id, row);
    this.byRef.set(row.ref, row);
    if (isWaiting(row)) this.lane(row.lane).add(row);
  }

  remove(row: DeliveryRow): void {
    this.deliveries.delete(row.id);
    this.byRef.delete(row.ref);
    this.lane(row.lane).delete(row);
  }

  /** Changes the progress of a stored delivery. All such changes use this method. */
  move(row: DeliveryRow, change: { readonly progress: DeliveryProgress; readonly at: number }): void {
    row.progress = change.progress;
    row.lease = null;
    if (isWaiting(row)) return;
    row.completedAt = change.at;
    this.lane(row.lane).delete(row);
  }

  /** Ends the delivery regardless of whether it is held. */
  end(row: DeliveryRow, change: { readonly ending: Ending; readonly at: number }): void {
    row.endedLease = row.lease;
    this.move(row, { progress: { ...row.progress, ...change.ending }, at: change.at });
  }

  lane(key: LaneKey): Set<DeliveryRow> {
    const name = JSON.stringify([key.webhookId, key.ordering, key.eventType]);
    let lane = this.lanes.get(name);
    if (lane === undefined) {
      lane = { key, waiting: new Set() };
      this.lanes.set(name, lane);
    }
    return lane.waiting;
  }

  *waiting(): Iterable<DeliveryRow> {
    for (const lane of this.lanes.values()) yield* lane.waiting;
  }
}

export function isWaiting(row: DeliveryRow): boolean {
  return row.progress.state === "pending" || row.progress.state === "failed";
}

/**
 * Whether the row is leased at `now`. An expired lease remains until another caller claims the row, but does not
 * protect it any more.
 */
export function isHeld(row: DeliveryRow, now: number): boolean {
  return row.lease !== null && row.lease.until > now;
}

export function storedDelivery(row: DeliveryRow): StoredDelivery {
  return {
    id: row.id,
    position: row.ref,
    tenantId: row.event.event.tenantId,
    webhookId: row.lane.webhookId,
    eventId: row.event.event.id,
    eventType: row.event.event.eventType,
    priority: row.priority,
    lane: row.lane,
    origin: row.origin,
    progress: row.progress,
    category: row.category,
    retryAfterHolds:
      row.progress.state === "failed" && row.attempts.at(-1)?.notes?.retryAfter?.effect === "lower_bound",
    completedAt: row.completedAt,
    retries: row.retries,
    replayOf: null,
    replayedBy: null,
    format: row.format,
    lastAttempt: row.attempts.at(-1) ?? null,
  };
}

export function storedEvent(row: EventRow): StoredEvent {
  const {
    id,
    tenantId,
    eventType,
    timestamp,
    source,
    idempotencyKey,
    priority,
    createdAt,
    contentType,
    raw,
  } = row.event;
  const { position, sequenceNumber, body } = row;
  const deliveries = row.deliveries + row.replays;
  return {
    id,
    tenantId,
    eventType,
    timestamp,
    source,
    idempotencyKey,
    priority,
    createdAt,
    contentType,
    raw,
    position,
    sequenceNumber,
    body,
    deliveries,
    trace: row.event.trace,
    relayed: row.event.relayed,
  };
}
