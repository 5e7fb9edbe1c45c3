import type { Lease, RequeueCommand, RequeueResult } from "../../../ports/store/deliveries.ts";
import { isStoredId, numbers, plainWords } from "./columns.ts";
import type { Transaction } from "./database.ts";
import type { DeliveryRows, EventRef } from "./delivery-rows.ts";
import type { Numbers } from "./positions.ts";
import type { StoreState } from "./state.ts";

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

  constructor(
    state: StoreState,
    context: {
      readonly transaction: Transaction;
      readonly numbers: Numbers;
      readonly deliveries: DeliveryRows;
    },
  ) {
    this.#state = state;
    this.#transaction = context.transaction;
    this.#numbers = context.numbers;
    this.#deliveries = context.deliveries;
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
      return this.#deliveries.add(delivery, { seq: this.#numbers.nextDelivery(), event, lane, leased });
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
