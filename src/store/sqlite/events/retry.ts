import type { StatementSync } from "node:sqlite";
import { restart } from "../../../domain/delivery-state.ts";
import type {
  Lease,
  Replay,
  RequeueCommand,
  RequeueResult,
  RetryCommand,
  RetryResult,
} from "../../../ports/store/deliveries.ts";
import {
  decode,
  exhausted,
  formatCodes,
  priorityCodes,
  queuePositionIn,
  stateCodes,
  waitingMax,
  withRetry,
} from "../../column-values.ts";
import type { StoreState } from "../state.ts";
import type { DeliveryWriter, EventRef } from "./publish.ts";

type EventRow = [seq: number, tenant: number, hasBody: number];

/** Writes replays: new deliveries of stored events. Only inside a write. */
export class RequeueWriter {
  readonly #deliveries: DeliveryWriter;
  readonly #event: StatementSync;
  readonly #countRequeues: StatementSync;
  readonly #saveRequeue: StatementSync;
  readonly #copyOf: StatementSync;
  readonly #copiedBy: StatementSync;

  constructor(state: StoreState, deliveries: DeliveryWriter) {
    const { connection } = state;
    this.#deliveries = deliveries;
    this.#event = connection.prepare("SELECT seq, tenant, body IS NOT NULL FROM events WHERE id = ?");
    this.#countRequeues = connection.prepare(
      "UPDATE events SET requeue_count = requeue_count + ? WHERE seq = ?",
    );
    this.#saveRequeue = connection.prepare("INSERT INTO event_requeues VALUES (?, ?)");
    this.#copyOf = connection.prepare("UPDATE deliveries SET replay_of = ?, operation = ? WHERE seq = ?");
    this.#copiedBy = connection.prepare("UPDATE deliveries SET replayed_by = ? WHERE id = ? AND event = ?");
  }

  write(command: RequeueCommand): RequeueResult {
    const row = this.#event.get(command.eventId) as unknown as EventRow | undefined;
    if (row === undefined) return { kind: "event_not_found" };
    const [seq, tenant, hasBody] = row;
    if (hasBody === 0) return { kind: "payload_gone" };
    return { kind: "accepted", leases: this.#insertAll(command.deliveries, { seq, tenant }) };
  }

  #insertAll(deliveries: readonly Replay[], event: EventRef): readonly Lease[] {
    const leases = deliveries.map((delivery) => {
      const lease = this.#deliveries.write(delivery, event);
      this.#saveRequeue.run(event.seq, lease.ref);
      if (delivery.replayOf !== null) {
        this.#copyOf.run(delivery.replayOf, delivery.operationId, lease.ref);
        this.#copiedBy.run(delivery.id, delivery.replayOf, event.seq);
      }
      return lease;
    });
    if (deliveries.length > 0) this.#countRequeues.run(deliveries.length, event.seq);
    return leases;
  }
}

type Row = [
  seq: number,
  tenant: number,
  state: number,
  priority: number,
  lane: number,
  queuePosition: number | null,
  dueAt: number,
  attemptCount: number,
  orderPosition: number | null,
  retries: string | null,
  hasBody: number,
];

/** Requeues deliveries in their lanes at a user's request. Only inside a write. */
export class RetryWriter {
  readonly #state: StoreState;
  readonly #row: StatementSync;
  readonly #update: StatementSync;
  readonly #note: StatementSync;

  constructor(state: StoreState) {
    const { connection } = state;
    this.#state = state;
    this.#row = connection.prepare(
      `SELECT d.seq, d.tenant, d.state, d.priority, d.lane, d.queue_position, d.due_at, d.attempt_count,
        d.order_position, d.retries,
         e.body IS NOT NULL
       FROM deliveries d JOIN events e ON e.seq = d.event WHERE d.id = ?`,
    );
    this.#note = connection.prepare("UPDATE deliveries SET retries = ?, operation = ? WHERE seq = ?");
    this.#update = connection.prepare(
      `UPDATE deliveries SET state = ${stateCodes.encode[restart.state]}, reason = NULL, completed_at = NULL, lane =
        ?, queue_position = ?,
         priority = ?, format = ?, due_at = ?, order_position = ?, retried_at = ?, retried_attempts = attempt_count,
         retries = ?, operation = coalesce(?, operation) WHERE seq = ?`,
    );
  }

  write(command: RetryCommand): RetryResult {
    const { leases, lanes, counters } = this.#state;
    const { at } = command.retry;
    const row = this.#row.get(command.deliveryId) as unknown as Row | undefined;
    if (row === undefined) return { kind: "not_found" };
    const [seq, tenant, state, priorityBefore, laneBefore, , dueBefore, attemptCount] = row;
    const priority = command.priority === null ? priorityBefore : priorityCodes.encode[command.priority];
    const accepted: RetryResult = { kind: "accepted", priority: decode(priorityCodes, priority) };
    const waited = state <= waitingMax;
    if (state === stateCodes.encode.success) return { kind: "not_possible" };
    if (waited && leases.isHeld(seq, at)) return { kind: "in_flight" };
    if (row[10] === 0) return { kind: "payload_gone" };
    const retries = withRetry(row[9], { ...command.retry, attemptCount });
    const { operationId } = command.retry;
    if (waited && dueBefore <= at && priority === priorityBefore) {
      // Only a bulk operation has to record its request.
      if (operationId !== null) this.#note.run(retries, operationId, seq);
      return accepted;
    }
    this.#leave(row);
    if (state === exhausted) counters.addDeadLetter(tenant, -1);
    const lane = lanes.ensure(command.lane);
    const keepsPlace = !lane.ordered || (waited && lane.ref === laneBefore);
    const orderPosition = keepsPlace ? row[8] : counters.nextDelivery();
    const order = orderPosition ?? seq;
    const queuePosition = queuePositionIn(lane, { order, priority, dueAt: at });
    this.#state.queue.insert({ lane: lane.ref, queuePosition, seq });
    counters.addWaiting(priority, 1);
    this.#update.run(
      lane.ref,
      queuePosition,
      priority,
      formatCodes.encode[command.format],
      at,
      orderPosition,
      at,
      retries,
      operationId,
      seq,
    );
    return accepted;
  }

  /** Removes the delivery from its lane, together with its lease and any entry that its end may have left behind. */
  #leave([seq, , state, priority, laneRef, queuePosition, dueAt, , orderPosition]: Row): void {
    const { leases, lanes, queue, counters } = this.#state;
    if (state > waitingMax) {
      leases.reported(seq);
      const lane = lanes.get(laneRef);
      const before = queuePositionIn(lane, { order: orderPosition ?? seq, priority, dueAt });
      queue.revive({ lane: laneRef, queuePosition: before, seq });
      return;
    }
    leases.take(seq, null);
    if (queuePosition !== null) queue.remove({ lane: laneRef, queuePosition, seq });
    counters.addWaiting(priority, -1);
  }
}
