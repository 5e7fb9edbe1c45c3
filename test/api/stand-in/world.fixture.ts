/** The data of the engine stand-in, and functions that read it. */
import { randomUUID } from "node:crypto";
import type { Priority } from "../../../src/domain/delivery.ts";
import type { DeliveryView, PublishReceipt } from "../../../src/features/services.ts";
import type { Page, PageRequest } from "../../../src/ports/store.ts";
import type { StoredDelivery, StoredEvent } from "../../../src/ports/store/history.ts";
import { type BatchOperation, newOperationDefaults } from "../../../src/ports/store/operations.ts";
import type { WebhookShelf } from "./webhooks.fixture.ts";

export interface StandInOptions {
  readonly adminKey: string;
  readonly payloadBytesMax: number;
  readonly now: () => number;
}

export interface World {
  readonly events: Map<string, StoredEvent>;
  readonly keys: Map<string, { readonly receipt: PublishReceipt; readonly content: string }>;
  readonly deliveries: Map<string, StoredDelivery>;
  readonly operations: Map<string, BatchOperation>;
  readonly shelf: WebhookShelf;
  position: number;
}

interface NewDelivery {
  readonly event: StoredEvent;
  readonly webhookId: string;
  readonly origin: StoredDelivery["origin"];
  readonly now: number;
  readonly priority?: Priority;
}

export function addDelivery(
  world: World,
  { event, webhookId, origin, now, priority }: NewDelivery,
): StoredDelivery {
  const delivery: StoredDelivery = {
    id: randomUUID(),
    position: ++world.position,
    tenantId: event.tenantId,
    webhookId,
    eventId: event.id,
    eventType: event.eventType,
    priority: priority ?? event.priority,
    lane: { webhookId, ordering: "none", eventType: null },
    origin,
    progress: {
      state: "pending",
      attemptCount: 0,
      createdAt: now,
      firstAttemptAt: null,
      dueAt: now,
      reason: null,
      retried: null,
    },
    category: null,
    retryAfterHolds: false,
    completedAt: null,
    retries: [],
    replayOf: null,
    replayedBy: null,
    format: "standard",
    lastAttempt: null,
  };
  world.deliveries.set(delivery.id, delivery);
  return delivery;
}

export function viewOf(delivery: StoredDelivery): DeliveryView {
  const { dueAt, state } = delivery.progress;
  const waiting = { waitingFor: "schedule", waitingUntil: dueAt, nextAttemptAt: dueAt } as const;
  return { delivery, status: state, ...waiting, waits: [], gates: [] };
}

export function viewsOf(page: Page<StoredDelivery>): Page<DeliveryView> {
  return { rows: page.rows.map(viewOf), next: page.next };
}

export function startOperation(
  { operations }: Pick<World, "operations">,
  command: {
    readonly tenantId: string | null;
    readonly kind: BatchOperation["kind"];
    readonly dryRun: boolean;
    readonly now: number;
  },
): { readonly operation: BatchOperation | null; readonly count: number; readonly openCircuits: [] } {
  if (command.dryRun) return { operation: null, count: 0, openCircuits: [] };
  const { tenantId, kind, now } = command;
  const nothing = { tenantId, webhookIds: null, eventTypes: null, categories: null, from: null, to: null };
  const operation: BatchOperation = {
    ...newOperationDefaults,
    id: randomUUID(),
    tenantId,
    kind,
    status: "completed",
    selection: { kind: "dead_letters", ...nothing },
    priority: "normal",
    requestsPerSecond: 10,
    total: 0,
    queued: 0,
    failed: 0,
    before: null,
    createdAt: now,
    updatedAt: now,
  };
  operations.set(operation.id, operation);
  return { operation, count: 0, openCircuits: [] };
}

export function pageOf<Row extends { readonly position: number }>(
  rows: readonly Row[],
  page: PageRequest,
): Page<Row> {
  const older = rows
    .toSorted((a, b) => b.position - a.position)
    .filter((row) => row.position < (page.before ?? Infinity));
  const taken = older.slice(page.offset, page.offset + page.limit);
  const isMore = older.length > page.offset + page.limit;
  return { rows: taken, next: isMore ? (taken.at(-1)?.position ?? null) : null };
}
