import type { StatementSync } from "node:sqlite";
import { isDeadLetter } from "../../../core/delivery.ts";
import { endings } from "../../../core/delivery-state.ts";
import type { EndCommand, EndResult } from "../../../ports/store/deliveries.ts";
import { decode, endingSql, stateCodes, waitingMax } from "../codes.ts";
import type { StoreState } from "./state.ts";

type Row = [
  seq: number,
  tenant: number,
  state: number,
  priority: number,
  supersededBy: string | null,
  lane: number,
  queuePosition: number | null,
];

/** Ends deliveries as a person asked. Only inside a write. */
export class HandEndings {
  readonly #state: StoreState;
  readonly #row: StatementSync;
  readonly #cancel: StatementSync;
  readonly #discard: StatementSync;

  constructor(state: StoreState) {
    const { connection } = state;
    this.#state = state;
    this.#row = connection.prepare(
      "SELECT seq, tenant, state, priority, superseded_by, lane, rank FROM deliveries WHERE id = ?",
    );
    this.#cancel = connection.prepare(
      `UPDATE deliveries SET ${endingSql(endings.cancel_requested)}, rank = NULL, completed_at = ? WHERE seq = ?`,
    );
    this.#discard = connection.prepare(`UPDATE deliveries SET ${endingSql(endings.discarded)} WHERE seq = ?`);
  }

  write({ event, tenantId, ids, now }: EndCommand): readonly EndResult[] {
    const tenant = tenantId === null ? null : this.#state.strings.find(tenantId);
    return ids.map((id) => {
      const row = this.#row.get(id) as unknown as Row | undefined;
      if (row === undefined || (tenantId !== null && row[1] !== tenant)) return "not_found";
      return event === "discarded" ? this.#discardRow(row) : this.#cancelRow(row, now);
    });
  }

  #cancelRow([seq, , state, priority, , lane, queuePosition]: Row, now: number): EndResult {
    const { leases, queue, counters } = this.#state;
    if (state > waitingMax) return "not_possible";
    if (leases.isHeld({ seq, now })) return "in_flight";
    leases.end(seq);
    if (queuePosition !== null) queue.remove({ lane, queuePosition, seq });
    this.#cancel.run(now, seq);
    counters.addWaiting(priority, -1);
    return "ended";
  }

  #discardRow([seq, tenant, state, , supersededBy]: Row): EndResult {
    const isDead = isDeadLetter({
      state: decode(stateCodes, state),
      isSuperseded: supersededBy !== null,
    });
    if (!isDead) return "not_possible";
    this.#discard.run(seq);
    this.#state.counters.addDeadLetter(tenant, -1);
    return "ended";
  }
}
