import { endings, restart } from "../../../src/domain/delivery-state.ts";
import {
  type DeliveryProgress,
  type DeliveryState,
  givenUpStates,
  priorities,
  type Priority,
  waitingStates,
} from "../../../src/domain/delivery.ts";
import type { LaneKey } from "../../../src/domain/webhook.ts";
import type {
  ClaimedDelivery,
  ClaimRequest,
  ClaimResult,
  CommitBatch,
  CommitResult,
  DeliveryStore,
  EndCommand,
  EndResult,
  FanOutPart,
  LanePage,
  Lease,
  NewDelivery,
  PublishCommand,
  PublishResult,
  RequeueCommand,
  RequeueResult,
  RetryCommand,
  RetryResult,
  Settlement,
  SettlementResult,
  StoreDepth,
} from "../../../src/ports/store/deliveries.ts";
import type { ModelGateway } from "./gateway.ts";
import { type DeliveryRow, type EventRow, isHeld, isWaiting, type Rows } from "./rows.ts";

/** Implements the store functions that process events, by scanning all rows each time. */
export class ModelDeliveries implements DeliveryStore {
  readonly #rows: Rows;
  readonly #gateway: ModelGateway;

  constructor(rows: Rows, gateway: ModelGateway) {
    this.#rows = rows;
    this.#gateway = gateway;
  }

  async commit(batch: CommitBatch): Promise<CommitResult> {
    const publishes = batch.publishes.map((command) => this.#publish(command));
    const requeues = batch.requeues.map((command) => this.#requeue(command));
    const retries = batch.retries.map((command) => this.#retry(command));
    const settled = batch.settlements.map((settlement) => this.#settle(settlement));
    for (const state of batch.webhookStates) {
      const row = this.#rows.webhooks.get(state.webhookId);
      if (row !== undefined) row.runtime = state;
    }
    return { publishes, requeues, retries, settled };
  }

  async claim(requests: readonly ClaimRequest[]): Promise<readonly ClaimResult[]> {
    return requests.map((request) => this.#claimLane(request));
  }

  async end({ event, ids, tenantId, now }: EndCommand): Promise<readonly EndResult[]> {
    return ids.map((id) => {
      const row = this.#rows.deliveries.get(id);
      if (row === undefined || (tenantId !== null && row.event.event.tenantId !== tenantId))
        return "not_found";
      if (event === "discarded") {
        if (row.progress.state !== "exhausted") return "not_possible";
        row.progress = { ...row.progress, ...endings.discarded };
        return "ended";
      }
      if (!isWaiting(row)) return "not_possible";
      if (isHeld(row, now)) return "in_flight";
      this.#rows.end(row, { ending: endings.cancel_requested, at: now });
      return "ended";
    });
  }

  async release(leases: readonly Lease[]): Promise<void> {
    for (const lease of leases) {
      const row = this.#held(lease);
      if (row !== undefined) row.lease = null;
      const ended = this.#rows.byRef.get(lease.ref);
      if (ended?.endedLease?.leaseToken === lease.leaseToken) ended.endedLease = null;
    }
  }

  async lanesWithWork(after: string | null, limit: number): Promise<LanePage> {
    const all = [...this.#rows.lanes].filter(([, lane]) => lane.waiting.size > 0).toSorted(byName);
    const rest = all.filter(([name]) => after === null || name > after);
    const shown = rest.slice(0, limit);
    const next = rest.length > limit ? (shown.at(-1)?.[0] ?? null) : null;
    return { lanes: shown.map(([, lane]) => lane.key), next };
  }

  async oldestDue(lanes: readonly LaneKey[]): Promise<number | null> {
    const names = new Set(lanes.map((lane) => JSON.stringify(lane)));
    const due = [...this.#rows.waiting()]
      .filter((row) => row.lease === null && names.has(JSON.stringify(row.lane)))
      .map(({ progress }) => progress.dueAt);
    return due.length === 0 ? null : Math.min(...due);
  }

  async fanOut(): Promise<FanOutPart | null> {
    const part = this.#rows.parts.shift();
    if (part === undefined) return null;
    for (const delivery of part.deliveries) this.#insert(delivery, part.event);
    return { deliveries: part.deliveries };
  }

  async depth(): Promise<StoreDepth> {
    const waiting: Record<Priority, number> = { high: 0, normal: 0, low: 0 };
    const deadLetters = new Map<string, number>();
    for (const row of this.#rows.deliveries.values()) {
      if (isWaiting(row)) waiting[row.priority] += 1;
      if (row.progress.state !== "exhausted") continue;
      const { tenantId } = row.event.event;
      deadLetters.set(tenantId, (deadLetters.get(tenantId) ?? 0) + 1);
    }
    return { waiting, deadLetters };
  }

  #publish(command: PublishCommand): PublishResult {
    const { event } = command;
    const dedupName = JSON.stringify([event.tenantId, event.idempotencyKey]);
    if (event.idempotencyKey !== null && command.dedupUntil !== null) {
      const earlier = this.#rows.dedup.get(dedupName);
      if (earlier !== undefined && earlier.expiresAt > event.createdAt)
        return repeat(earlier, event.fingerprint);
    }
    this.#rows.eventPosition += 1;
    const sequenceNumber = (this.#rows.sequences.get(event.tenantId) ?? 0) + 1;
    this.#rows.sequences.set(event.tenantId, sequenceNumber);
    const { later = [], partRows = later.length } = command;
    const deliveries = command.deliveries.length + later.length;
    const row: EventRow = {
      event,
      position: this.#rows.eventPosition,
      sequenceNumber,
      deliveries,
      replays: 0,
      body: event.body,
    };
    this.#rows.events.set(event.id, row);
    if (command.request !== undefined) this.#gateway.putRequest(command.request);
    if (event.idempotencyKey !== null && command.dedupUntil !== null) {
      this.#rows.dedup.set(dedupName, {
        event: row,
        fingerprint: event.fingerprint,
        expiresAt: command.dedupUntil,
      });
    }
    const leases = command.deliveries.map((delivery) => this.#insert(delivery, row));
    for (let from = 0; from < later.length; from += partRows)
      this.#rows.parts.push({ event: row, deliveries: later.slice(from, from + partRows) });
    for (const [at, attempted] of (command.attempted ?? []).entries())
      this.#settle({ ...attempted, lease: leases[at] as Lease });
    if (command.answer !== undefined) this.#gateway.keepAnswer(command.answer);
    return { kind: "accepted", sequenceNumber, leases };
  }

  #insert(delivery: NewDelivery, event: EventRow): Lease {
    this.#rows.position += 1;
    const { state, reason, createdAt, dueAt } = delivery;
    const row: DeliveryRow = {
      ref: this.#rows.position,
      id: delivery.id,
      event,
      lane: delivery.lane,
      priority: delivery.priority,
      origin: delivery.origin,
      format: delivery.format,
      progress: { state, attemptCount: 0, createdAt, firstAttemptAt: null, dueAt, reason, retried: null },
      lease: null,
      endedLease: null,
      category: null,
      completedAt: null,
      order: this.#rows.position,
      retries: [],
      attempts: [],
    };
    this.#rows.add(row);
    if (!delivery.claim || state !== "pending") return { ref: row.ref, deliveryId: row.id, leaseToken: 0 };
    return this.#grant(row, delivery.leaseUntil);
  }

  #requeue(command: RequeueCommand): RequeueResult {
    const event = this.#rows.events.get(command.eventId);
    if (event === undefined) return { kind: "event_not_found" };
    if (event.body === null) return { kind: "payload_gone" };
    event.replays += command.deliveries.length;
    return { kind: "accepted", leases: command.deliveries.map((delivery) => this.#insert(delivery, event)) };
  }

  #retry({ deliveryId, lane, format, priority, retry }: RetryCommand): RetryResult {
    const row = this.#rows.deliveries.get(deliveryId);
    if (row === undefined) return { kind: "not_found" };
    const { state, attemptCount, dueAt } = row.progress;
    const waited = isWaiting(row);
    if (state === "success") return { kind: "not_possible" };
    if (waited && isHeld(row, retry.at)) return { kind: "in_flight" };
    if (row.event.body === null) return { kind: "payload_gone" };
    const next = priority ?? row.priority;
    const accepted: RetryResult = { kind: "accepted", priority: next };
    if (waited && dueAt <= retry.at && next === row.priority) return accepted;
    const lanes = [this.#rows.lane(row.lane), this.#rows.lane(lane)] as const;
    if (!waited || lanes[0] !== lanes[1]) row.order = this.#rows.position += 1;
    lanes[0].delete(row);
    row.lane = lane;
    row.format = format;
    row.priority = next;
    row.lease = null;
    row.endedLease = null;
    row.completedAt = null;
    row.retries.push({ ...retry, attemptCount });
    const retried = { at: retry.at, attemptCount };
    row.progress = { ...row.progress, ...restart, dueAt: retry.at, retried };
    lanes[1].add(row);
    return accepted;
  }

  #settle(settlement: Settlement): SettlementResult {
    const { lease, progress, settledAt } = settlement;
    const held = this.#held(lease);
    if (held !== undefined) {
      this.#rows.move(held, { progress, at: settledAt });
      return recorded(held, settlement);
    }
    const row = this.#rows.byRef.get(lease.ref);
    if (row?.endedLease?.leaseToken !== lease.leaseToken) return { kind: "lost" };
    if (settlement.late !== true) return { kind: "ended", progress: progressIn(givenUpStates, row) };
    row.endedLease = null;
    const { state, reason } = row.progress;
    if (progress.state === "success") row.completedAt = settledAt;
    // A late failure keeps the current state and reason, because the delivery may have been discarded since its holder
    // sent the request.
    row.progress = progress.state === "success" ? progress : { ...progress, state, reason };
    return recorded(row, settlement);
  }

  #held(lease: Lease): DeliveryRow | undefined {
    const row = this.#rows.byRef.get(lease.ref);
    return row?.lease?.leaseToken === lease.leaseToken ? row : undefined;
  }

  #grant(row: DeliveryRow, until: number): Lease {
    this.#rows.leaseToken += 1;
    row.lease = { leaseToken: this.#rows.leaseToken, until };
    return { ref: row.ref, deliveryId: row.id, leaseToken: this.#rows.leaseToken };
  }

  #claimLane(request: ClaimRequest): ClaimResult {
    const { now, lane } = request;
    const free = [...this.#rows.lane(lane)].filter((row) => !isHeld(row, now));
    const isOrdered = lane.ordering !== "none";
    const candidates = isOrdered
      ? free.toSorted((a, b) => a.order - b.order)
      : free.filter((row) => row.progress.dueAt <= now).toSorted(byPriorityThenDue);
    const taken = takeUpTo(candidates, request);
    const left = candidates.slice(taken.length);
    const later = free.filter((row) => row.progress.dueAt > now && !taken.includes(row));
    const leftOf = (priority: Priority): boolean => left.some((row) => row.priority === priority);
    return {
      deliveries: taken.map((row) => this.#claimed(row, this.#grant(row, request.leaseUntil))),
      more: { high: leftOf("high"), normal: leftOf("normal"), low: leftOf("low") },
      nextDueAt: later.length === 0 ? null : Math.min(...later.map((row) => row.progress.dueAt)),
    };
  }

  #claimed(row: DeliveryRow, lease: Lease): ClaimedDelivery {
    const webhookTenantId = this.#rows.webhooks.get(row.lane.webhookId)?.webhook.tenantId ?? null;
    return claimed(row, { lease, webhookTenantId });
  }
}

function recorded(row: DeliveryRow, { attempt }: Settlement): SettlementResult {
  if (attempt !== null) {
    row.attempts.push(attempt);
    row.category = attempt.category ?? row.category;
  }
  return { kind: "written" };
}

function progressIn<State extends DeliveryState>(
  states: readonly State[],
  { progress }: DeliveryRow,
): DeliveryProgress<State> {
  const state = states.find((each) => each === progress.state);
  if (state === undefined) throw new Error(`a delivery is ${progress.state}, none of ${states.join()}`);
  return { ...progress, state };
}

function takeUpTo(candidates: readonly DeliveryRow[], request: ClaimRequest): DeliveryRow[] {
  const taken: DeliveryRow[] = [];
  let bytes = 0;
  for (const row of candidates) {
    if (taken.length >= request.limit || (taken.length > 0 && bytes >= request.bodyBytesMax)) break;
    taken.push(row);
    bytes += row.event.body?.length ?? 0;
  }
  return taken;
}

function byPriorityThenDue(a: DeliveryRow, b: DeliveryRow): number {
  const tier = priorities.indexOf(a.priority) - priorities.indexOf(b.priority);
  return tier || a.progress.dueAt - b.progress.dueAt || a.ref - b.ref;
}

function byName(a: readonly [string, unknown], b: readonly [string, unknown]): number {
  return a[0] < b[0] ? -1 : 1;
}

function claimed(
  row: DeliveryRow,
  more: Pick<ClaimedDelivery, "lease" | "webhookTenantId">,
): ClaimedDelivery {
  const { id, tenantId, eventType, contentType, timestamp, source, idempotencyKey, raw } = row.event.event;
  return {
    ...more,
    id: row.id,
    webhookId: row.lane.webhookId,
    tenantId,
    eventId: id,
    eventType,
    priority: row.priority,
    progress: progressIn(waitingStates, row),
    format: row.format,
    contentType,
    timestamp,
    source,
    idempotencyKey,
    raw,
    eventPriority: row.event.event.priority,
    sequenceNumber: row.event.sequenceNumber,
    body: row.event.body,
    trace: row.event.event.trace,
    relayed: row.event.event.relayed,
  };
}

function repeat(
  earlier: { readonly event: EventRow; readonly fingerprint: string | null },
  fingerprint: string | null,
): PublishResult {
  const { event, sequenceNumber, deliveries } = earlier.event;
  if (earlier.fingerprint !== fingerprint) return { kind: "key_conflict", eventId: event.id };
  const { id, eventType, timestamp } = event;
  return { kind: "duplicate", original: { id, eventType, timestamp, sequenceNumber, deliveries } };
}
