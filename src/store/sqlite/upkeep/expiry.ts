import type { StatementSync } from "node:sqlite";
import { type Ending, endings, isTooOld } from "../../../domain/delivery-state.ts";
import { endingKey } from "../../../domain/statistics/facts.ts";
import type { CancelStep, ExpiredDelivery, ExpireStep, StepResult } from "../../../ports/store/upkeep.ts";
import { retriedFrom, stateCodes, waitingMax } from "../../column-values.ts";
import type { EndedDeliveries } from "../../statistics-rows.ts";
import { eventCalls } from "../../documents/operational-events.ts";
import type { SqliteSql } from "../driver/sql.ts";
import type { StatisticsWriter } from "../documents/statistics.ts";
import { chunkKinds } from "../driver/chunks.ts";
import type { StoreState } from "../state.ts";
import type { Sweeps, SweepVisit, SweepWindow } from "./retention.ts";

type WaitingRow = [
  seq: number,
  priority: number,
  lane: number,
  queuePosition: number | null,
  webhook: number,
  tenant: number,
  createdAt: number,
  retriedAt: number | null,
];
type ExpiredRow = [
  id: string,
  eventId: string,
  eventType: number,
  tenant: number,
  webhook: number,
  attemptCount: number,
];
type EndedRow = [tenant: number, webhook: number];
type LaneRow = [seq: number, priority: number, queuePosition: number];

interface Waiting {
  readonly seq: number;
  readonly priority: number;
  readonly lane: number;
  /** Null if the delivery was leased on insertion. */
  readonly queuePosition: number | null;
}

const windowRows = 4096;

/** Ends deliveries that are too old, or whose webhook was deleted. Only inside a write. */
export class Expiry {
  readonly #state: StoreState;
  readonly #sweeps: Sweeps;
  readonly #sql: SqliteSql;
  readonly #statistics: Pick<StatisticsWriter, "writeEnded">;
  readonly #old: StatementSync;
  readonly #retried: StatementSync;
  readonly #firstWaiting: StatementSync;
  readonly #finish: StatementSync;
  readonly #lanesOf: StatementSync;
  readonly #waitingIn: StatementSync;
  readonly #cancelDone: StatementSync;
  readonly #expired: StatementSync;
  /** Retried deliveries are swept separately, because they may be below the floor of the other sweep. */
  #retriedAbove = 0;

  constructor(
    state: StoreState,
    sweeps: Sweeps,
    sql: SqliteSql,
    statistics: Pick<StatisticsWriter, "writeEnded">,
  ) {
    const { connection } = state;
    this.#state = state;
    this.#sweeps = sweeps;
    this.#sql = sql;
    this.#statistics = statistics;
    const columns = "seq, priority, lane, queue_position, webhook, tenant, created_at, retried_at";
    this.#old = connection.prepare(
      `SELECT ${columns} FROM deliveries WHERE seq >= ? AND seq <= ? AND state <= ${waitingMax} AND created_at < ?
         AND +retried_at IS NULL ORDER BY seq LIMIT ?`,
    );
    this.#retried = connection.prepare(
      `SELECT ${columns} FROM deliveries INDEXED BY deliveries_retried
       WHERE retried_at IS NOT NULL AND state <= ${waitingMax} AND seq > ? ORDER BY seq LIMIT ?`,
    );
    this.#firstWaiting = connection.prepare(
      `SELECT min(seq) FROM deliveries
       WHERE seq >= ? AND seq <= ? AND +state <= ${waitingMax} AND +retried_at IS NULL`,
    );
    this.#finish = connection.prepare(
      `UPDATE deliveries SET state = ?, reason = ?, queue_position = NULL, completed_at = ? WHERE seq = ?
       RETURNING tenant, webhook`,
    );
    this.#lanesOf = connection.prepare("SELECT ref FROM lanes WHERE webhook = ?");
    this.#waitingIn = connection.prepare(
      `SELECT d.seq, d.priority, d.queue_position FROM lane_entries e JOIN deliveries d ON d.seq = e.delivery
       WHERE e.lane = ? AND d.state <= ${waitingMax} ORDER BY e.queue_position, e.delivery LIMIT ?`,
    );
    this.#cancelDone = connection.prepare("UPDATE webhooks SET cancel_due = 0 WHERE id = ?");
    this.#expired = connection.prepare(
      `SELECT d.id, e.id, e.event_type, d.tenant, d.webhook, d.attempt_count
       FROM deliveries d JOIN events e ON e.seq = d.event WHERE d.seq = ?`,
    );
  }

  expire(step: ExpireStep): StepResult {
    let ageMsMin = step.ageMsDefault;
    for (const ageMs of step.ageMsByWebhook.values()) ageMsMin = Math.min(ageMsMin, ageMs);
    const retried = this.#expireRetried(step);
    const { changed, more } = this.#sweeps.step({
      name: "expire",
      kind: chunkKinds.deliveries,
      createdBefore: step.now - ageMsMin,
      limit: step.limit,
      windowRows,
      visit: (window) => this.#expireWindow(window, step, step.now - ageMsMin),
      firstLeft: this.#firstWaiting,
    });
    return { changed: changed + retried.changed, more: more || retried.more };
  }

  #expireRetried(step: ExpireStep): StepResult {
    const rows = this.#retried.all(this.#retriedAbove, step.limit) as unknown as WaitingRow[];
    const changed = this.#expireRows(rows, step);
    const more = rows.length === step.limit;
    this.#retriedAbove = more ? (rows.at(-1)?.[0] ?? 0) : 0;
    return { changed, more };
  }

  /** Leased deliveries end too, whether or not they have a position in their lane. */
  cancelWebhook(step: CancelStep): StepResult {
    const webhook = this.#state.strings.find(step.webhookId);
    const waiting = webhook === null ? [] : this.#waitingOf(webhook, step.limit + 1);
    const ending = endings.webhook_deleted;
    const ended = waiting.slice(0, step.limit).map((row) => this.#end({ ...row, ending, now: step.now }));
    this.#count(ended, step);
    const more = waiting.length > step.limit;
    if (!more && step.keepsMark !== true) this.#cancelDone.run(step.webhookId);
    return { changed: Math.min(waiting.length, step.limit), more };
  }

  #waitingOf(webhook: number, limit: number): readonly Waiting[] {
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

  #expireWindow(window: SweepWindow, step: ExpireStep, createdBefore: number): SweepVisit {
    const rows = this.#old.all(
      window.from,
      window.to,
      createdBefore,
      window.limit,
    ) as unknown as WaitingRow[];
    return {
      changed: this.#expireRows(rows, step),
      stoppedAt: rows.length === window.limit ? (rows.at(-1)?.[0] ?? null) : null,
    };
  }

  #expireRows(rows: readonly WaitingRow[], step: ExpireStep): number {
    const { strings, leases, counters } = this.#state;
    const ending = endings.expired;
    const ended: EndedDeliveries[] = [];
    /** The first delivery of each webhook. */
    const firsts = new Map<number, number>();
    for (const [seq, priority, lane, queuePosition, webhook, tenant, createdAt, retriedAt] of rows) {
      const ageMsMax = step.ageMsByWebhook.get(strings.text(webhook)) ?? step.ageMsDefault;
      const retried = retriedFrom(retriedAt, 0);
      if (!isTooOld({ createdAt, retried }, ageMsMax, step.now)) continue;
      if (leases.isHeld(seq, step.now)) continue;
      ended.push(this.#end({ seq, priority, lane, queuePosition, ending, now: step.now }));
      counters.addDeadLetter(tenant, 1);
      if (!firsts.has(webhook)) firsts.set(webhook, seq);
    }
    if (step.tell !== undefined && firsts.size > 0) {
      const expired = [...firsts.values()].map((seq) => this.#expiredOne(seq));
      this.#sql.within(eventCalls(step.tell(expired)));
    }
    this.#count(ended, step);
    return ended.length;
  }

  #count(ended: readonly EndedDeliveries[], { now, isCounted = false }: ExpireStep | CancelStep): void {
    if (isCounted) this.#statistics.writeEnded(ended, now);
  }

  #expiredOne(seq: number): ExpiredDelivery {
    const { strings } = this.#state;
    const row = this.#expired.get(seq) as unknown as ExpiredRow;
    const [id, eventId, eventType, tenant, webhook, attemptCount] = row;
    const [tenantId, webhookId] = [strings.text(tenant), strings.text(webhook)];
    return { id, eventId, eventType: strings.text(eventType), tenantId, webhookId, attemptCount };
  }

  /** Ends a delivery. Its lease owner may be in the middle of a request, and still reports the response. */
  #end(end: Waiting & { readonly ending: Ending; readonly now: number }): EndedDeliveries {
    const { leases, queue, counters } = this.#state;
    leases.end(end.seq);
    const { state, reason } = end.ending;
    const row = this.#finish.get(stateCodes.encode[state], reason, end.now, end.seq) as unknown as EndedRow;
    if (end.queuePosition !== null)
      queue.remove({ lane: end.lane, queuePosition: end.queuePosition, seq: end.seq });
    counters.addWaiting(end.priority, -1);
    const [tenant, webhook] = row;
    return { tenant, webhook, key: endingKey(end.ending), count: 1 };
  }
}
