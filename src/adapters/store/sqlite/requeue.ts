import type { StatementSync } from "node:sqlite";
import type { Lease, Replay, RequeueCommand, RequeueResult } from "../../../ports/store/deliveries.ts";
import type { DeliveryWriter, EventRef } from "./publish.ts";
import type { StoreState } from "./state.ts";

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
