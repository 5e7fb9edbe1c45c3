import type { StatementSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import type { Backlog, WaitingCount, WaitingQuery } from "../../../ports/store/history.ts";
import { backlogOf, type BacklogRow } from "../backlog-rows.ts";
import { waitingMax } from "../codes.ts";
import type { StoreState } from "./state.ts";

/** Rows of one turn: a person's question must not hold up deliveries. */
const rowsPerTurn = 500;

/** Counts what waits of a webhook, by its lanes and by what was leased as it was written, which is in memory. */
export class BacklogCounter {
  readonly #state: StoreState;
  readonly #entries: StatementSync;
  readonly #rows: StatementSync;

  constructor(state: StoreState) {
    const { connection } = state;
    this.#state = state;
    this.#entries = connection.prepare(
      `SELECT e.delivery FROM lanes l CROSS JOIN lane_entries e ON e.lane = l.ref WHERE l.webhook = ? LIMIT ? + 0`,
    );
    this.#rows = connection.prepare(
      `SELECT d.priority, count(*), min(d.created_at) FROM json_each(?) p CROSS JOIN deliveries d ON d.seq = p.value
       WHERE d.webhook = ? AND d.state <= ${waitingMax} GROUP BY d.priority`,
    );
  }

  async count({
    webhookId,
    countMax,
  }: {
    readonly webhookId: string;
    readonly countMax: number;
  }): Promise<Backlog> {
    const { connection, strings } = this.#state;
    const webhook = connection.read(() => strings.find(webhookId));
    if (webhook === null) return backlogOf([], false);
    const placed = connection.read(() => this.#entries.all(webhook, countMax + 1)) as unknown as [
      seq: number,
    ][];
    const all = [...new Set([...placed.map(([seq]) => seq), ...this.#freshOf(webhook)])];
    const rows: BacklogRow[] = [];
    let counted = 0;
    let at = 0;
    while (at < all.length && counted < countMax) {
      const part = all.slice(at, at + Math.min(rowsPerTurn, countMax - counted));
      at += part.length;
      const found = connection.read(() =>
        this.#rows.all(JSON.stringify(part), webhook),
      ) as unknown as BacklogRow[];
      rows.push(...found);
      counted += found.reduce((sum, [, count]) => sum + count, 0);
      await setImmediate();
    }
    return backlogOf(rows, counted >= countMax && at < all.length);
  }

  async countOfEach({ webhookIds, countMax }: WaitingQuery): Promise<ReadonlyMap<string, WaitingCount>> {
    const counts = new Map<string, WaitingCount>();
    for (const webhookId of webhookIds) {
      const { waiting, isMore, oldestCreatedAt } = await this.count({ webhookId, countMax });
      const total = waiting.high + waiting.normal + waiting.low;
      if (oldestCreatedAt !== null) counts.set(webhookId, { total, isMore, oldestCreatedAt });
    }
    return counts;
  }

  /** What was leased as it was written. */
  #freshOf(webhook: number): readonly number[] {
    const { leases, lanes } = this.#state;
    return [...leases.fresh()]
      .filter(([, { lane }]) => lanes.get(lane).webhook === webhook)
      .map(([seq]) => seq);
  }
}
