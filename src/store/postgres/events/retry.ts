import { restart } from "../../../domain/delivery-state.ts";
import type {
  Lease,
  RequeueCommand,
  RequeueResult,
  RetryCommand,
  RetryResult,
} from "../../../ports/store/deliveries.ts";
import {
  decode,
  exhausted,
  formatCodes,
  isStoredId,
  priorityCodes,
  queuePositionIn,
  stateCodes,
  waitingMax,
  withRetry,
} from "../../column-values.ts";
import { booleans, numbers, plainWords, texts } from "../driver/sql.ts";
import type { Transaction } from "../driver/database.ts";
import type { StoreState } from "../state.ts";
import type { DeliveryRows, EventRef } from "./event-rows.ts";
import type { Numbers } from "./positions.ts";

type EventRow = [id: string, seq: number, tenant: number, bodyBytes: number | null];

/** The replays of one commit: new deliveries of stored events. */
export class RequeueBatch {
  readonly #state: StoreState;
  readonly #transaction: Transaction;
  readonly #numbers: Numbers;
  readonly #deliveries: DeliveryRows;
  readonly #copies: {
    readonly id: string;
    readonly of: string;
    readonly event: number;
    readonly operation: string | null;
  }[] = [];
  readonly #countByEvent = new Map<number, number>();
  #events: ReadonlyMap<string, EventRow> = new Map();

  constructor(state: StoreState, transaction: Transaction, drawn: Numbers, deliveries: DeliveryRows) {
    this.#state = state;
    this.#transaction = transaction;
    this.#numbers = drawn;
    this.#deliveries = deliveries;
  }

  async run(commands: readonly RequeueCommand[]): Promise<readonly RequeueResult[]> {
    if (commands.length === 0) return [];
    await this.#readEvents(commands.map(({ eventId }) => eventId).filter(isStoredId));
    const results = commands.map((command) => this.#requeue(command));
    await this.#countRequeues();
    return results;
  }

  /** Links each copy to its original, after the new rows were written. */
  async linkCopies(): Promise<void> {
    const copies = this.#copies;
    if (copies.length === 0) return;
    await this.#transaction.rows(
      `WITH given AS (SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::uuid[])
         AS g (id, original, event, operation)),
       linked AS (SELECT d.seq, g.original AS replay_of, NULL::uuid AS replayed_by, g.operation
           FROM given g JOIN posthorn.deliveries d ON d.id = g.id AND d.event = g.event
         UNION ALL SELECT d.seq, NULL, g.id, NULL FROM given g JOIN posthorn.deliveries d ON d.id = g.original AND d.event = g.event)
       UPDATE posthorn.deliveries d SET replay_of = coalesce(l.replay_of, d.replay_of),
         replayed_by = coalesce(l.replayed_by, d.replayed_by),
         operation = coalesce(l.operation, d.operation)
       FROM linked l WHERE d.seq = l.seq`,
      [
        plainWords(copies.map(({ id }) => id)),
        plainWords(copies.map(({ of }) => of)),
        numbers(copies.map(({ event }) => event)),
        plainWords(copies.map(({ operation }) => operation)),
      ],
    );
  }

  #requeue({ eventId, deliveries }: RequeueCommand): RequeueResult {
    const row = this.#events.get(eventId);
    if (row === undefined) return { kind: "event_not_found" };
    const [, seq, tenant, bodyBytes] = row;
    if (bodyBytes === null) return { kind: "payload_gone" };
    if (deliveries.length > 0)
      this.#countByEvent.set(seq, (this.#countByEvent.get(seq) ?? 0) + deliveries.length);
    return { kind: "accepted", leases: this.#add(deliveries, { seq, tenant, bodyBytes }) };
  }

  #add(deliveries: RequeueCommand["deliveries"], event: EventRef): readonly Lease[] {
    return deliveries.map((delivery) => {
      const { id, replayOf: of, operationId: operation } = delivery;
      if (of !== null && isStoredId(of)) this.#copies.push({ id, of, event: event.seq, operation });
      const lane = this.#state.lanes.get(delivery.lane);
      // Ordered lanes are not locked here, so new deliveries in them wait for a claim.
      const leased = delivery.state === "pending" && delivery.claim && !lane.ordered;
      return this.#deliveries.add(delivery, this.#numbers.nextDelivery(), event, lane, leased);
    });
  }

  async #readEvents(ids: readonly string[]): Promise<void> {
    const rows = await this.#transaction.rows<EventRow>(
      `SELECT id, seq, tenant, octet_length(body) FROM posthorn.events WHERE id = ANY ($1::uuid[])
       ORDER BY seq FOR NO KEY UPDATE`,
      [plainWords(ids)],
    );
    this.#events = new Map(rows.map((row) => [row[0], row]));
  }

  async #countRequeues(): Promise<void> {
    if (this.#countByEvent.size === 0) return;
    await this.#transaction.rows(
      `UPDATE posthorn.events e SET requeue_count = requeue_count + g.count
       FROM (SELECT * FROM unnest($1::bigint[], $2::int[]) AS u (seq, count)) g WHERE e.seq = g.seq`,
      [numbers([...this.#countByEvent.keys()]), numbers([...this.#countByEvent.values()])],
    );
  }
}

type Row = [
  id: string,
  seq: number,
  tenant: number,
  state: number,
  priority: number,
  lane: number,
  dueAt: number,
  attemptCount: number,
  orderPosition: number | null,
  retries: string | null,
  leaseUntil: number | null,
  bodyBytes: number | null,
];

/** The state of a delivery after the commands of the batch. */
interface Subject {
  readonly seq: number;
  readonly tenant: number;
  readonly attemptCount: number;
  readonly bodyBytes: number | null;
  state: number;
  priority: number;
  lane: number;
  isOrdered: boolean;
  dueAt: number;
  orderPosition: number | null;
  retries: string | null;
  operation: string | null;
  leaseUntil: number | null;
  format: number;
  queuePosition: number;
  /** Whether it gets a new queue position. */
  isChanged: boolean;
  /** Whether at least the retry of the delivery is recorded. */
  isNoted: boolean;
}

/**
 * Writes deliveries that wait again. An existing row of `queue` loses its lease. A new row starts above every lease
 * token that the delivery ever had, so that no former lease owner can settle it.
 */
const retrySql = `WITH given AS (
    SELECT * FROM unnest($1::bigint[], $2::int[], $3::smallint[], $4::smallint[], $5::bigint[], $6::bigint[], $7::bigint[],
      $8::text[], $9::boolean[], $10::int[], $11::uuid[])
    AS g (seq, lane, priority, format, order_position, queue_position, at, retries, ordered, bytes, operation)),
  queued AS (
    INSERT INTO posthorn.queue AS q (delivery, queue_position, lane, lease_token, bytes, attempts, priority, ordered,
      retried_at)
    SELECT d.seq, g.queue_position, g.lane, coalesce(d.lease_token_last, 0) + 1, g.bytes, d.attempt_count, g.priority,
      g.ordered, g.at
    FROM given g JOIN posthorn.deliveries d ON d.seq = g.seq ORDER BY d.seq
    ON CONFLICT (delivery) DO UPDATE SET queue_position = excluded.queue_position, lane = excluded.lane, owner = NULL,
      lease_until = NULL,
      lease_token = q.lease_token + 1, attempts = excluded.attempts, priority = excluded.priority, ordered =
        excluded.ordered,
      retried_at = excluded.retried_at),
  undead AS (DELETE FROM posthorn.dead_letters l USING given g WHERE l.delivery = g.seq)
  UPDATE posthorn.deliveries d SET state = ${stateCodes.encode[restart.state]}, reason = NULL, completed_at = NULL,
    late_lease_token = NULL, lane = g.lane, priority = g.priority, format = g.format, due_at = g.at,
    order_position = g.order_position, retried_at = g.at, retried_attempts = d.attempt_count, retries = g.retries,
    operation = coalesce(g.operation, d.operation)
  FROM given g WHERE d.seq = g.seq`;

/** The manual retries of one commit: deliveries that wait again. */
export class RetryBatch {
  readonly #state: StoreState;
  readonly #transaction: Transaction;
  readonly #numbers: Numbers;
  readonly #deliveries: Pick<DeliveryRows, "deltas" | "lanesWithFree">;
  #subjects: ReadonlyMap<string, Subject> = new Map();

  constructor(
    state: StoreState,
    transaction: Transaction,
    drawn: Numbers,
    deliveries: Pick<DeliveryRows, "deltas" | "lanesWithFree">,
  ) {
    this.#state = state;
    this.#transaction = transaction;
    this.#numbers = drawn;
    this.#deliveries = deliveries;
  }

  async run(commands: readonly RetryCommand[]): Promise<readonly RetryResult[]> {
    if (commands.length === 0) return [];
    await this.#read(commands.map(({ deliveryId }) => deliveryId).filter(isStoredId));
    const results = commands.map((command) => this.#retry(command));
    const subjects = [...this.#subjects.values()];
    await this.#write(subjects.filter(({ isChanged }) => isChanged));
    await this.#note(subjects.filter(({ isChanged, isNoted }) => isNoted && !isChanged));
    return results;
  }

  #retry(command: RetryCommand): RetryResult {
    const subject = this.#subjects.get(command.deliveryId);
    const { at } = command.retry;
    if (subject === undefined) return { kind: "not_found" };
    const { state, dueAt, leaseUntil, attemptCount } = subject;
    const priority = command.priority === null ? subject.priority : priorityCodes.encode[command.priority];
    const accepted: RetryResult = { kind: "accepted", priority: decode(priorityCodes, priority) };
    const waited = state <= waitingMax;
    if (state === stateCodes.encode.success) return { kind: "not_possible" };
    if (waited && leaseUntil !== null && leaseUntil > at) return { kind: "in_flight" };
    if (subject.bodyBytes === null) return { kind: "payload_gone" };
    const { operationId } = command.retry;
    const isDue = waited && dueAt <= at && priority === subject.priority;
    // If the delivery is already due, only a bulk operation has to record its request.
    if (isDue && operationId === null) return accepted;
    subject.retries = withRetry(subject.retries, { ...command.retry, attemptCount });
    subject.operation = operationId ?? subject.operation;
    subject.isNoted = true;
    if (isDue) return accepted;
    const { deltas, lanesWithFree } = this.#deliveries;
    if (waited) deltas.addWaiting(subject.priority, -1);
    deltas.addWaiting(priority, 1);
    if (state === exhausted) deltas.addDeadLetter(subject.tenant, -1);
    const lane = this.#state.lanes.get(command.lane);
    const keepsPlace = !lane.ordered || (waited && lane.ref === subject.lane);
    subject.orderPosition = keepsPlace ? subject.orderPosition : this.#numbers.nextDelivery();
    const order = subject.orderPosition ?? subject.seq;
    subject.queuePosition = queuePositionIn(lane, { order, priority, dueAt: at });
    subject.state = stateCodes.encode[restart.state];
    subject.priority = priority;
    subject.lane = lane.ref;
    subject.isOrdered = lane.ordered;
    subject.dueAt = at;
    subject.leaseUntil = null;
    subject.format = formatCodes.encode[command.format];
    subject.isChanged = true;
    lanesWithFree.add(lane.ref);
    return accepted;
  }

  /**
   * Locks in the common order: events, queue, deliveries. The rows are read again afterwards, because another retry may
   * have queued one of them in between.
   */
  async #read(ids: readonly string[]): Promise<void> {
    const known = plainWords(ids);
    const rows = (sql: string) => this.#transaction.rows(sql, [known]);
    await rows(`SELECT FROM posthorn.events e WHERE e.seq IN (
        SELECT d.event FROM posthorn.deliveries d WHERE d.id = ANY ($1::uuid[])) ORDER BY e.seq FOR NO KEY UPDATE`);
    await rows(`SELECT FROM posthorn.queue q JOIN posthorn.deliveries d ON d.seq = q.delivery
        WHERE d.id = ANY ($1::uuid[]) ORDER BY q.delivery FOR UPDATE OF q`);
    await rows(`SELECT FROM posthorn.deliveries d WHERE d.id = ANY ($1::uuid[]) ORDER BY d.seq FOR UPDATE`);
    const found = await this.#transaction.rows<Row>(
      `SELECT d.id, d.seq, d.tenant, d.state, d.priority, d.lane, d.due_at, d.attempt_count, d.order_position, d.retries,
         q.lease_until, octet_length(e.body)
       FROM posthorn.deliveries d JOIN posthorn.events e ON e.seq = d.event
         LEFT JOIN posthorn.queue q ON q.delivery = d.seq
       WHERE d.id = ANY ($1::uuid[])`,
      [known],
    );
    this.#subjects = new Map(found.map((row) => [row[0], subjectOf(row)]));
  }

  async #note(subjects: readonly Subject[]): Promise<void> {
    if (subjects.length === 0) return;
    await this.#transaction.rows(
      `UPDATE posthorn.deliveries d SET retries = g.retries, operation = g.operation
       FROM unnest($1::bigint[], $2::text[], $3::uuid[]) AS g (seq, retries, operation) WHERE d.seq = g.seq`,
      [
        numbers(subjects.map(({ seq }) => seq)),
        texts(subjects.map(({ retries }) => retries)),
        plainWords(subjects.map(({ operation }) => operation)),
      ],
    );
  }

  async #write(subjects: readonly Subject[]): Promise<void> {
    if (subjects.length === 0) return;
    await this.#transaction.rows(retrySql, [
      numbers(subjects.map(({ seq }) => seq)),
      numbers(subjects.map(({ lane }) => lane)),
      numbers(subjects.map(({ priority }) => priority)),
      numbers(subjects.map(({ format }) => format)),
      numbers(subjects.map(({ orderPosition }) => orderPosition)),
      numbers(subjects.map(({ queuePosition }) => queuePosition)),
      numbers(subjects.map(({ dueAt }) => dueAt)),
      texts(subjects.map(({ retries }) => retries)),
      booleans(subjects.map(({ isOrdered }) => isOrdered)),
      numbers(subjects.map(({ bodyBytes }) => bodyBytes)),
      plainWords(subjects.map(({ operation }) => operation)),
    ]);
  }
}

function subjectOf([, seq, tenant, state, priority, lane, dueAt, attemptCount, ...more]: Row): Subject {
  const [orderPosition, retries, leaseUntil, bodyBytes] = more;
  return {
    seq,
    tenant,
    attemptCount,
    bodyBytes,
    state,
    priority,
    lane,
    isOrdered: false,
    dueAt,
    orderPosition,
    retries,
    operation: null,
    leaseUntil,
    format: 0,
    queuePosition: 0,
    isChanged: false,
    isNoted: false,
  };
}
