import type { StatementSync } from "node:sqlite";
import { type Ending, endings, isTooOld } from "../../../core/delivery-state.ts";
import type { CancelStep, ExpireStep, StepResult } from "../../../ports/store/upkeep.ts";
import { chunkKinds } from "./chunks.ts";
import { stateCodes, waitingMax } from "../codes.ts";
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
type LaneRow = [seq: number, priority: number, queuePosition: number];

interface Waiting {
  readonly seq: number;
  readonly priority: number;
  readonly lane: number;
  /** Null when it was leased as it was written. */
  readonly queuePosition: number | null;
}

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
      `SELECT d.seq, d.priority, d.rank FROM lane_entries e JOIN deliveries d ON d.seq = e.delivery
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

  /** What is leased ends too, whether or not it has a place in its lane. */
  cancelWebhook(step: CancelStep): StepResult {
    const webhook = this.#state.strings.find(step.webhookId);
    const waiting = webhook === null ? [] : this.#waitingOf({ webhook, limit: step.limit + 1 });
    for (const row of waiting.slice(0, step.limit))
      this.#end({ ...row, ending: endings.webhook_deleted, now: step.now });
    const more = waiting.length > step.limit;
    if (!more && step.keepsMark !== true) this.#cancelDone.run(step.webhookId);
    return { changed: Math.min(waiting.length, step.limit), more };
  }

  #waitingOf({ webhook, limit }: { readonly webhook: number; readonly limit: number }): readonly Waiting[] {
    const { leases, lanes } = this.#state;
    const found: Waiting[] = [];
    for (const [lane] of this.#lanesOf.all(webhook) as unknown as [lane: number][]) {
      const rows = this.#waitingIn.all(lane, limit - found.length) as unknown as LaneRow[];
      found.push(...rows.map(([seq, priority, queuePosition]) => ({ seq, priority, lane, queuePosition })));
    }
    for (const [seq, { lane, priority }] of leases.fresh()) {
      if (found.length >= limit) break;
      if (lanes.get(lane).webhook === webhook) found.push({ seq, priority, lane, queuePosition: null });
    }
    return found;
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
      if (!isTooOld({ createdAt }, { ageMsMax, now: step.now })) continue;
      if (leases.isHeld({ seq, now: step.now })) continue;
      this.#end({ seq, priority, lane, queuePosition, ending: endings.expired, now: step.now });
      counters.addDeadLetter(tenant, 1);
      changed += 1;
    }
    return { changed, stoppedAt: rows.length === window.limit ? (rows.at(-1)?.[0] ?? null) : null };
  }

  /** Its holder may be in the middle of a request, whose answer it still reports. */
  #end(end: Waiting & { readonly ending: Ending; readonly now: number }): void {
    const { leases, queue, counters } = this.#state;
    leases.end(end.seq);
    this.#finish.run(stateCodes.encode[end.ending.state], end.ending.reason, end.now, end.seq);
    if (end.queuePosition !== null)
      queue.remove({ lane: end.lane, queuePosition: end.queuePosition, seq: end.seq });
    counters.addWaiting(end.priority, -1);
  }
}
