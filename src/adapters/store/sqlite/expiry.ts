import type { StatementSync } from "node:sqlite";
import type { ExpireStep, StepResult } from "../../../ports/store/upkeep.ts";
import { chunkKinds } from "./chunks.ts";
import { cancelled, exhausted, waitingMax } from "../codes.ts";
import type { StoreState } from "./state.ts";
import type { SweepVisit, Sweeps, SweepWindow } from "./sweeps.ts";

type WaitingRow = [
  seq: number,
  priority: number,
  lane: number,
  queuePosition: number | null,
  webhook: number,
  tenant: number,
  createdAt: number,
];
type LaneRow = [seq: number, priority: number, lane: number, queuePosition: number];

const windowRows = 4096;

/** Ends deliveries that nobody waits for any more: too old, or their webhook is gone. Only inside a write. */
export class Expiry {
  readonly #state: StoreState;
  readonly #sweeps: Sweeps;
  readonly #old: StatementSync;
  readonly #firstWaiting: StatementSync;
  readonly #finish: StatementSync;
  readonly #lanesOf: StatementSync;
  readonly #waitingIn: StatementSync;
  readonly #cancelDone: StatementSync;

  constructor(state: StoreState, sweeps: Sweeps) {
    const { connection } = state;
    this.#state = state;
    this.#sweeps = sweeps;
    this.#old = connection.prepare(
      `SELECT seq, priority, lane, rank, webhook, tenant, created_at FROM deliveries
       WHERE seq >= ? AND seq <= ? AND state <= ${waitingMax} AND created_at < ? ORDER BY seq LIMIT ?`,
    );
    this.#firstWaiting = connection.prepare(
      `SELECT min(seq) FROM deliveries WHERE seq >= ? AND seq <= ? AND +state <= ${waitingMax}`,
    );
    this.#finish = connection.prepare(
      "UPDATE deliveries SET state = ?, reason = ?, rank = NULL, completed_at = ? WHERE seq = ?",
    );
    this.#lanesOf = connection.prepare("SELECT ref FROM lanes WHERE webhook = ?");
    this.#waitingIn = connection.prepare(
      `SELECT d.seq, d.priority, d.lane, d.rank FROM lane_entries e JOIN deliveries d ON d.seq = e.delivery
       WHERE e.lane = ? AND d.state <= ${waitingMax} ORDER BY e.rank, e.delivery LIMIT ?`,
    );
    this.#cancelDone = connection.prepare("UPDATE webhooks SET cancel_due = 0 WHERE id = ?");
  }

  expire(step: ExpireStep): StepResult {
    let ageMsMin = step.ageMsDefault;
    for (const ageMs of step.ageMsByWebhook.values()) ageMsMin = Math.min(ageMsMin, ageMs);
    return this.#sweeps.step({
      name: "expire",
      kind: chunkKinds.deliveries,
      createdBefore: step.now - ageMsMin,
      limit: step.limit,
      windowRows,
      visit: (window) => this.#expireWindow(window, { step, createdBefore: step.now - ageMsMin }),
      firstLeft: this.#firstWaiting,
    });
  }

  /** Clears the webhook's mark once nothing of it waits, free or leased. */
  cancelWebhook(step: {
    readonly webhookId: string;
    readonly now: number;
    readonly limit: number;
  }): StepResult {
    const { strings, leases, lanes } = this.#state;
    const webhook = strings.find(step.webhookId);
    const refs = webhook === null ? [] : (this.#lanesOf.all(webhook) as unknown as [ref: number][]);
    let changed = 0;
    let leased = 0;
    for (const [ref] of refs) {
      const rows = this.#waitingIn.all(ref, step.limit - changed + leases.placedIn(ref) + 1);
      for (const [seq, priority, lane, queuePosition] of rows as unknown as LaneRow[]) {
        if (leases.isHeld({ seq, now: step.now })) {
          leased += 1;
          continue;
        }
        if (changed === step.limit) return { changed, more: true };
        this.#end({
          seq,
          priority,
          lane,
          queuePosition,
          state: cancelled,
          reason: "webhook_deleted",
          now: step.now,
        });
        changed += 1;
      }
    }
    for (const [, lease] of leases.fresh()) if (lanes.get(lease.lane).webhook === webhook) leased += 1;
    if (leased === 0) this.#cancelDone.run(step.webhookId);
    return { changed, more: false };
  }

  #expireWindow(
    window: SweepWindow,
    { step, createdBefore }: { readonly step: ExpireStep; readonly createdBefore: number },
  ): SweepVisit {
    const { strings, leases, counters } = this.#state;
    const rows = this.#old.all(
      window.from,
      window.to,
      createdBefore,
      window.limit,
    ) as unknown as WaitingRow[];
    let changed = 0;
    for (const [seq, priority, lane, queuePosition, webhook, tenant, createdAt] of rows) {
      const ageMsMax = step.ageMsByWebhook.get(strings.text(webhook)) ?? step.ageMsDefault;
      if (step.now - createdAt <= ageMsMax || leases.isHeld({ seq, now: step.now })) continue;
      this.#end({ seq, priority, lane, queuePosition, state: exhausted, reason: "expired", now: step.now });
      counters.addDeadLetter(tenant, 1);
      changed += 1;
    }
    return { changed, stoppedAt: rows.length === window.limit ? (rows.at(-1)?.[0] ?? null) : null };
  }

  #end(end: {
    readonly seq: number;
    readonly priority: number;
    readonly lane: number;
    readonly queuePosition: number | null;
    readonly state: number;
    readonly reason: string;
    readonly now: number;
  }): void {
    // One that ran out but was never taken: its holder must not settle any more.
    const { leases, queue, counters } = this.#state;
    leases.take(end.seq, null);
    this.#finish.run(end.state, end.reason, end.now, end.seq);
    if (end.queuePosition !== null)
      queue.remove({ lane: end.lane, queuePosition: end.queuePosition, seq: end.seq });
    counters.addWaiting(end.priority, -1);
  }
}
