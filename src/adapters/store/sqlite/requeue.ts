import type { StatementSync } from "node:sqlite";
import { isDeadLetter } from "../../../core/delivery.ts";
import { endings } from "../../../core/delivery-state.ts";
import { endingKey } from "../../../core/statistics/keys.ts";
import type { Lease, NewDelivery, RequeueCommand, RequeueResult } from "../../../ports/store/deliveries.ts";
import { decode, endingSql, stateCodes, waitingMax } from "../codes.ts";
import type { DeliveryWriter, EventRef } from "./publish.ts";
import type { StoreState } from "./state.ts";
import type { StatisticsWriter } from "./statistics-writer.ts";

type EventRow = [seq: number, tenant: number, hasBody: number];
type SupersededRow = [
  seq: number,
  event: number,
  tenant: number,
  state: number,
  priority: number,
  supersededBy: string | null,
  lane: number,
  queuePosition: number | null,
  webhook: number,
];

/** Writes new deliveries of stored events. Only inside a write. */
export class RequeueWriter {
  readonly #state: StoreState;
  readonly #deliveries: DeliveryWriter;
  readonly #statistics: Pick<StatisticsWriter, "writeEnded">;
  readonly #event: StatementSync;
  readonly #countRequeues: StatementSync;
  readonly #saveRequeue: StatementSync;
  readonly #superseded: StatementSync;
  readonly #cancel: StatementSync;
  readonly #supersede: StatementSync;

  constructor(
    state: StoreState,
    writers: {
      readonly deliveries: DeliveryWriter;
      readonly statistics: Pick<StatisticsWriter, "writeEnded">;
    },
  ) {
    const { connection } = state;
    this.#state = state;
    this.#deliveries = writers.deliveries;
    this.#statistics = writers.statistics;
    this.#event = connection.prepare("SELECT seq, tenant, body IS NOT NULL FROM events WHERE id = ?");
    this.#countRequeues = connection.prepare(
      "UPDATE events SET requeue_count = requeue_count + ? WHERE seq = ?",
    );
    this.#saveRequeue = connection.prepare("INSERT INTO event_requeues VALUES (?, ?)");
    this.#superseded = connection.prepare(
      "SELECT seq, event, tenant, state, priority, superseded_by, lane, rank, webhook FROM deliveries WHERE id = ?",
    );
    this.#cancel = connection.prepare(
      `UPDATE deliveries SET ${endingSql(endings.superseded)}, rank = NULL, completed_at = ?, superseded_by = ?
       WHERE seq = ?`,
    );
    this.#supersede = connection.prepare("UPDATE deliveries SET superseded_by = ? WHERE seq = ?");
  }

  /** In their order: each may supersede what the one before made. */
  write(
    commands: readonly RequeueCommand[],
    { isCounted }: { readonly isCounted: boolean },
  ): readonly RequeueResult[] {
    return commands.map((command) => this.#writeOne(command, isCounted));
  }

  #writeOne(command: RequeueCommand, isCounted: boolean): RequeueResult {
    const row = this.#event.get(command.eventId) as unknown as EventRow | undefined;
    if (row === undefined) return { kind: "event_not_found" };
    const [seq, tenant, hasBody] = row;
    if (hasBody === 0) return { kind: "payload_gone" };
    const first = command.deliveries[0];
    if (first === undefined) return { kind: "accepted", leases: [] };
    const change = { event: seq, by: first, isCounted };
    if (command.supersedes !== null && !this.#replace(command.supersedes, change))
      return { kind: "in_flight" };
    return { kind: "accepted", leases: this.#insertAll(command.deliveries, { seq, tenant }) };
  }

  #insertAll(deliveries: readonly NewDelivery[], event: EventRef): readonly Lease[] {
    const leases: Lease[] = [];
    for (const delivery of deliveries) {
      const lease = this.#deliveries.write(delivery, event);
      this.#saveRequeue.run(event.seq, lease.ref);
      leases.push(lease);
    }
    this.#countRequeues.run(deliveries.length, event.seq);
    return leases;
  }

  /** False when a request is in flight, or when another delivery took over before: there is one live schedule. */
  #replace(
    id: string,
    change: { readonly event: number; readonly by: NewDelivery; readonly isCounted: boolean },
  ): boolean {
    const { leases, queue, counters } = this.#state;
    const row = this.#superseded.get(id) as unknown as SupersededRow | undefined;
    if (row === undefined || row[1] !== change.event) return true;
    const [seq, , tenant, state, priority, supersededBy, lane, queuePosition, webhook] = row;
    const now = change.by.createdAt;
    if (supersededBy !== null || leases.isHeld({ seq, now })) return false;
    if (state <= waitingMax) {
      leases.end(seq);
      if (queuePosition !== null) queue.remove({ lane, queuePosition, seq });
      this.#cancel.run(now, change.by.id, seq);
      counters.addWaiting(priority, -1);
      const ended = { tenant, webhook, key: endingKey(endings.superseded), count: 1 };
      if (change.isCounted) this.#statistics.writeEnded([ended], { at: now });
      return true;
    }
    this.#supersede.run(change.by.id, seq);
    if (isDeadLetter({ state: decode(stateCodes, state), isSuperseded: false }))
      counters.addDeadLetter(tenant, -1);
    return true;
  }
}
