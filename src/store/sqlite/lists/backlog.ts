import type { StatementSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import type { Backlog, WaitingCount, WaitingQuery } from "../../../ports/store/history.ts";
import { backlogOf, type BacklogRow } from "../../history-rows.ts";
import { waitingMax } from "../../column-values.ts";
import type { StoreState } from "../state.ts";

/** Maximum number of rows per turn, because a user's query must not delay deliveries. */
const rowsPerTurn = 500;
/** The fixed cost of counting one webhook, expressed in rows. */
const rowsPerWebhook = 10;

/**
 * Counts the waiting deliveries of a webhook: the entries of its lanes, plus the deliveries that were leased on
 * insertion, which are tracked in memory.
 */
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

  async count(webhookId: string, countMax: number): Promise<Backlog> {
    const { connection } = this.#state;
    const places = connection.read(() => this.#placesOf(webhookId, countMax, this.#fresh()));
    if (places === null) return backlogOf([], false);
    const { webhook, all } = places;
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

  /** Counts several webhooks per turn if only a few deliveries are waiting. */
  async countOfEach({ webhookIds, countMax }: WaitingQuery): Promise<ReadonlyMap<string, WaitingCount>> {
    const counts = new Map<string, WaitingCount>();
    const note = (id: string, { waiting, isMore, oldestCreatedAt }: Backlog): void => {
      const total = waiting.high + waiting.normal + waiting.low;
      if (oldestCreatedAt !== null) counts.set(id, { total, isMore, oldestCreatedAt });
    };
    for (let at = 0; at < webhookIds.length; ) {
      const counted = this.#countSome(webhookIds.slice(at), countMax);
      for (const [id, backlog] of counted) note(id, backlog);
      at += counted.size;
      await setImmediate();
      const deep = counted.size === 0 ? webhookIds[at] : undefined;
      if (deep === undefined) continue;
      note(deep, await this.count(deep, countMax));
      at += 1;
    }
    return counts;
  }

  /**
   * Counts in one turn as many of the first of these webhooks as fit, and stops before one that would exceed the turn.
   */
  #countSome(webhookIds: readonly string[], countMax: number): ReadonlyMap<string, Backlog> {
    return this.#state.connection.read(() => {
      const counted = new Map<string, Backlog>();
      const fresh = this.#fresh();
      let looked = 0;
      for (const id of webhookIds) {
        const found = this.#placesOf(id, Math.min(countMax, rowsPerTurn), fresh);
        const places = found?.all ?? [];
        looked += rowsPerWebhook + places.length;
        if (looked > rowsPerTurn || places.length > countMax) break;
        const rows = found === null ? [] : this.#rows.all(JSON.stringify(places), found.webhook);
        counted.set(id, backlogOf(rows as unknown as BacklogRow[], false));
      }
      return counted;
    });
  }

  /**
   * Positions of waiting deliveries of a webhook, possibly slightly more than the limit; null if the webhook never had
   * a delivery.
   */
  #placesOf(
    webhookId: string,
    countMax: number,
    fresh: ReadonlyMap<number, readonly number[]>,
  ): Places | null {
    const webhook = this.#state.strings.find(webhookId);
    if (webhook === null) return null;
    const placed = this.#entries.all(webhook, countMax + 1) as unknown as [seq: number][];
    return { webhook, all: [...new Set([...placed.map(([seq]) => seq), ...(fresh.get(webhook) ?? [])])] };
  }

  /** Deliveries that were leased on insertion, by webhook. */
  #fresh(): ReadonlyMap<number, readonly number[]> {
    const { leases, lanes } = this.#state;
    const byWebhook = new Map<number, number[]>();
    for (const [seq, { lane }] of leases.fresh()) {
      const { webhook } = lanes.get(lane);
      const known = byWebhook.get(webhook);
      if (known === undefined) byWebhook.set(webhook, [seq]);
      else known.push(seq);
    }
    return byWebhook;
  }
}

interface Places {
  readonly webhook: number;
  readonly all: readonly number[];
}
