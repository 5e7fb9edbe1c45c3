import type { StatementSync } from "node:sqlite";
import { endings } from "../../../domain/delivery-state.ts";
import { endingKey } from "../../../domain/statistics/keys.ts";
import type { EndCommand, EndResult } from "../../../ports/store/deliveries.ts";
import { endingSql, exhausted, waitingMax } from "../../column-values.ts";
import type { EndedDeliveries } from "../../statistics-rows.ts";
import type { StoreState } from "../state.ts";
import type { StatisticsWriter } from "../documents/statistics-writer.ts";

type Row = [
  seq: number,
  tenant: number,
  state: number,
  priority: number,
  lane: number,
  queuePosition: number | null,
  webhook: number,
];

/** Ends deliveries on a user's request. Only inside a write. */
export class HandEndings {
  readonly #state: StoreState;
  readonly #statistics: Pick<StatisticsWriter, "writeEnded">;
  readonly #row: StatementSync;
  readonly #cancel: StatementSync;
  readonly #discard: StatementSync;

  constructor(state: StoreState, statistics: Pick<StatisticsWriter, "writeEnded">) {
    const { connection } = state;
    this.#state = state;
    this.#statistics = statistics;
    this.#row = connection.prepare(
      "SELECT seq, tenant, state, priority, lane, queue_position, webhook FROM deliveries WHERE id = ?",
    );
    this.#cancel = connection.prepare(
      `UPDATE deliveries SET ${endingSql(endings.cancel_requested)}, queue_position = NULL, completed_at = ? WHERE seq
        = ?`,
    );
    this.#discard = connection.prepare(`UPDATE deliveries SET ${endingSql(endings.discarded)} WHERE seq = ?`);
  }

  write({ event, tenantId, ids, now, isCounted = false }: EndCommand): readonly EndResult[] {
    const tenant = tenantId === null ? null : this.#state.strings.find(tenantId);
    const ended: EndedDeliveries[] = [];
    const results = ids.map((id) => {
      const row = this.#row.get(id) as unknown as Row | undefined;
      if (row === undefined || (tenantId !== null && row[1] !== tenant)) return "not_found";
      const result = event === "discarded" ? this.#discardRow(row) : this.#cancelRow(row, now);
      const [, ofTenant, , , , , webhook] = row;
      if (result === "ended")
        ended.push({ tenant: ofTenant, webhook, key: endingKey(endings[event]), count: 1 });
      return result;
    });
    if (isCounted) this.#statistics.writeEnded(ended, now);
    return results;
  }

  #cancelRow([seq, , state, priority, lane, queuePosition]: Row, now: number): EndResult {
    const { leases, queue, counters } = this.#state;
    if (state > waitingMax) return "not_possible";
    if (leases.isHeld(seq, now)) return "in_flight";
    leases.end(seq);
    if (queuePosition !== null) queue.remove({ lane, queuePosition, seq });
    this.#cancel.run(now, seq);
    counters.addWaiting(priority, -1);
    return "ended";
  }

  #discardRow([seq, tenant, state]: Row): EndResult {
    if (state !== exhausted) return "not_possible";
    this.#discard.run(seq);
    this.#state.counters.addDeadLetter(tenant, -1);
    return "ended";
  }
}
