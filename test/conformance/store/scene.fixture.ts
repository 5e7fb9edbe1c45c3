import type { AttemptRecord, DeliveryProgress, Priority } from "../../../src/domain/delivery.ts";
import { webhookAt } from "../../../src/domain/webhook.fixture.ts";
import type { LaneKey, Webhook } from "../../../src/domain/webhook.ts";
import type { PageRequest, Store } from "../../../src/ports/store.ts";
import type {
  ClaimedDelivery,
  ClaimRequest,
  ClaimResult,
  CommitBatch,
  CommitResult,
  Lease,
  NewDelivery,
  NewEvent,
  PublishCommand,
  PublishResult,
  RequeueCommand,
  Replay,
  RequeueResult,
  RetryCommand,
  RetryResult,
  Settlement,
  SettlementResult,
} from "../../../src/ports/store/deliveries.ts";

export const start = Date.UTC(2026, 0, 1);
export const minute = 60_000;
export const hour = 60 * minute;
export const day = 24 * hour;

/** The hash of empty content. */
export const noLease: Lease = { ref: 0, deliveryId: "00000000-0000-7000-8000-000000000000", leaseToken: 0 };

export const firstPage: PageRequest = { limit: 100, before: null, offset: 0 };

let made = 0;

/** A UUIDv7 that no other call has returned. The IDs of later calls sort later. */
export function newId(): string {
  made += 1;
  const time = (start + made).toString(16).padStart(12, "0");
  const rest = made.toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${rest}`;
}

export function lane(
  webhookId: string,
  ordering: LaneKey["ordering"] = "none",
  eventType: string | null = null,
): LaneKey {
  return { webhookId, ordering, eventType };
}

function newEvent(fields: Partial<NewEvent> = {}): NewEvent {
  const createdAt = fields.createdAt ?? start;
  return {
    id: newId(),
    tenantId: "default",
    eventType: "order.created",
    timestamp: createdAt,
    source: null,
    idempotencyKey: null,
    fingerprint: null,
    trace: null,
    relayed: null,
    priority: "normal",
    createdAt,
    contentType: "application/json",
    raw: false,
    body: new TextEncoder().encode('{"type":"order.created"}'),
    ...fields,
  };
}

export function newDelivery(fields: Partial<Replay> = {}): Replay {
  const createdAt = fields.createdAt ?? start;
  return {
    id: newId(),
    lane: lane("webhook-1"),
    priority: "normal",
    state: "pending",
    reason: null,
    dueAt: createdAt,
    createdAt,
    origin: "publish",
    replayOf: null,
    operationId: null,
    format: "standard",
    claim: false,
    leaseUntil: createdAt + minute,
    ...fields,
  };
}

export function newWebhook(fields: Partial<Webhook> = {}): Webhook {
  return webhookAt(start, { id: newId(), ...fields });
}

export function newAttempt(fields: Partial<AttemptRecord> = {}): AttemptRecord {
  return {
    id: newId(),
    number: 1,
    outcome: "accepted",
    receiverStateUnknown: false,
    category: null,
    statusCode: 200,
    responseSample: null,
    errorMessage: null,
    durationMs: 10,
    scheduledAt: start,
    executedAt: start,
    nextRetryAt: null,
    notes: null,
    ...fields,
  };
}

export function progressed(fields: Partial<DeliveryProgress> = {}): DeliveryProgress {
  return {
    state: "success",
    attemptCount: 1,
    createdAt: start,
    firstAttemptAt: start,
    dueAt: start,
    reason: null,
    retried: null,
    ...fields,
  };
}

export function settlement(lease: Lease, fields: Partial<Omit<Settlement, "lease">> = {}): Settlement {
  return { lease, progress: progressed(), attempt: null, settledAt: start + 1_000, ...fields };
}

export async function commit(store: Store, batch: Partial<CommitBatch>): Promise<CommitResult> {
  return store.deliveries.commit({
    publishes: [],
    requeues: [],
    retries: [],
    settlements: [],
    webhookStates: [],
    ...batch,
  });
}

/** The parts of a publish. All its deliveries belong to the same event. */
export interface Publication {
  readonly event?: Partial<NewEvent>;
  readonly deliveries?: readonly Partial<NewDelivery>[];
  readonly dedupUntil?: number | null;
}

export function publishCommand(publication: Publication = {}): PublishCommand {
  const event = newEvent(publication.event);
  const deliveries = (publication.deliveries ?? [{}]).map((fields) =>
    newDelivery({ createdAt: event.createdAt, priority: event.priority, ...fields }),
  );
  return { event, deliveries, dedupUntil: publication.dedupUntil ?? null };
}

export interface Published {
  readonly event: NewEvent;
  readonly deliveries: readonly NewDelivery[];
  readonly result: PublishResult;
  /** The IDs of an accepted publish, or an empty list if it was not accepted. */
  readonly leases: readonly Lease[];
}

export async function publish(store: Store, publication: Publication = {}): Promise<Published> {
  const command = publishCommand(publication);
  const { publishes } = await commit(store, { publishes: [command] });
  const result = only(publishes);
  return { ...command, result, leases: result.kind === "accepted" ? result.leases : [] };
}

export async function requeue(store: Store, command: RequeueCommand): Promise<RequeueResult> {
  return only((await commit(store, { requeues: [command] })).requeues);
}

/** Retries a delivery of `webhook-1` manually at the given time. */
export async function retry(
  store: Store,
  deliveryId: string,
  fields: Partial<Omit<RetryCommand, "retry">> & { readonly at?: number; readonly operationId?: string } = {},
): Promise<RetryResult> {
  return only((await commit(store, { retries: [retryCommand(deliveryId, fields)] })).retries);
}

export function retryCommand(
  deliveryId: string,
  fields: Partial<Omit<RetryCommand, "retry">> & { readonly at?: number; readonly operationId?: string } = {},
): RetryCommand {
  const { at = start, operationId = null, ...more } = fields;
  return {
    deliveryId,
    lane: lane("webhook-1"),
    format: "standard",
    priority: null,
    retry: { at, by: null, operationId },
    ...more,
  };
}

export async function settle(
  store: Store,
  lease: Lease,
  fields: Partial<Omit<Settlement, "lease">> = {},
): Promise<boolean> {
  return (await settled(store, lease, fields)).kind === "written";
}

export async function settled(
  store: Store,
  lease: Lease,
  fields: Partial<Omit<Settlement, "lease">> = {},
): Promise<SettlementResult> {
  return only((await commit(store, { settlements: [settlement(lease, fields)] })).settled);
}

export async function claim(
  store: Store,
  key: LaneKey,
  fields: Partial<ClaimRequest> = {},
): Promise<ClaimResult> {
  const now = fields.now ?? start;
  const request = {
    lane: key,
    now,
    limit: 100,
    bodyBytesMax: 1_000_000_000,
    leaseUntil: now + minute,
    ...fields,
  };
  return only(await store.deliveries.claim([request]));
}

/** Publishes one delivery, claims it and settles it with these fields. */
export async function publishSettled(
  store: Store,
  publication: Publication,
  fields: Partial<Omit<Settlement, "lease">>,
): Promise<Published> {
  const published = await publish(store, {
    ...publication,
    deliveries: (publication.deliveries ?? [{}]).map((delivery) =>
      Object.assign({}, delivery, { claim: true }),
    ),
  });
  await commit(store, { settlements: published.leases.map((lease) => settlement(lease, fields)) });
  return published;
}

/** Runs upkeep steps until a step reports that it is complete. Returns the number of changed rows. */
export async function runToEnd(
  step: () => Promise<{ readonly changed: number; readonly more: boolean }>,
): Promise<number> {
  let changed = 0;
  for (let steps = 0; steps < 10_000; steps += 1) {
    const result = await step();
    changed += result.changed;
    if (!result.more) return changed;
  }
  throw new Error("upkeep never ends");
}

export function idsOf(rows: readonly { readonly id: string }[]): readonly string[] {
  return rows.map((row) => row.id);
}

export function only<Item>(items: readonly Item[]): Item {
  const [item] = items;
  if (items.length !== 1 || item === undefined) throw new Error(`expected one item, found ${items.length}`);
  return item;
}

export function claimedIds(result: ClaimResult): readonly string[] {
  return idsOf(result.deliveries satisfies readonly ClaimedDelivery[]);
}

export const nothingMore: Readonly<Record<Priority, boolean>> = { high: false, normal: false, low: false };
