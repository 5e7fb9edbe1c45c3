import type { StatementSync } from "node:sqlite";
import { clockDifferenceMs, dueBroughtNear } from "../../../domain/due-times.ts";
import type {
  BringNearResult,
  BringNearStep,
  CancelStep,
  ExpireStep,
  HistoryStep,
  StepResult,
  UpkeepStore,
} from "../../../ports/store/upkeep.ts";
import { decode, queuePositionIn, retriedFrom, stateCodes, waitingMax } from "../../column-values.ts";
import type { SqliteSql } from "../driver/sql.ts";
import type { StatisticsWriter } from "../documents/statistics.ts";
import { chunkKinds } from "../driver/chunks.ts";
import type { SqliteDeliveries } from "../events/deliveries.ts";
import type { StoreState } from "../state.ts";
import { Expiry } from "./expiry.ts";
import { Retention, Sweeps } from "./retention.ts";

type SeenRow = [
  lane: number,
  queuePosition: number,
  seq: number,
  state: number | null,
  priority: number,
  attemptCount: number,
  createdAt: number,
  dueAt: number,
  retriedAt: number | null,
  retriedAttempts: number | null,
];
type LastRow = [executedAt: number, nextRetryAt: number | null];

/** Corrects due times that were written while the clock was ahead. Only inside a write. */
class BringNear {
  readonly #state: StoreState;
  readonly #seen: StatementSync;
  readonly #last: StatementSync;
  readonly #save: StatementSync;

  constructor(state: StoreState) {
    const { connection } = state;
    this.#state = state;
    this.#seen = connection.prepare(
      `SELECT e.lane, e.queue_position, e.delivery, d.state, d.priority, d.attempt_count, d.created_at, d.due_at,
         d.retried_at, d.retried_attempts
       FROM (SELECT lane, queue_position, delivery FROM lane_entries WHERE (lane, queue_position, delivery) > (?, ?, ?)
         ORDER BY lane, queue_position, delivery LIMIT ? + 0) AS e LEFT JOIN deliveries d ON d.seq = e.delivery
       ORDER BY e.lane, e.queue_position, e.delivery`,
    );
    // `attempts.key` is delivery << 16 | number. It is computed by multiplication, because positions may exceed 32
    // bits.
    this.#last = connection.prepare(
      `SELECT executed_at, next_retry_at FROM attempts WHERE key >= ?1 * 65536 AND key < (?1 + 1) * 65536
       ORDER BY key DESC LIMIT 1`,
    );
    this.#save = connection.prepare(
      `UPDATE deliveries SET due_at = ?1, created_at = min(created_at, ?2), retried_at = min(retried_at, ?2),
        queue_position = ?3
       WHERE seq = ?4`,
    );
  }

  step({ now, after, limit }: BringNearStep): BringNearResult {
    const [lane, queuePosition, seq] = after === null ? [0, 0, 0] : after.split(" ").map(Number);
    const rows = this.#seen.all(lane ?? 0, queuePosition ?? 0, seq ?? 0, limit) as unknown as SeenRow[];
    let changed = 0;
    for (const row of rows) if (this.#visit(row, now)) changed += 1;
    const last = rows.at(-1);
    const next = last === undefined || rows.length < limit ? null : `${last[0]} ${last[1]} ${last[2]}`;
    return { changed, next };
  }

  #visit(row: SeenRow, now: number): boolean {
    const { leases, queue, lanes, chunks } = this.#state;
    const [laneRef, before, seq, code, priority, attemptCount, createdAt, dueAt, ...lastRetry] = row;
    if (code === null || code > waitingMax || leases.isHeld(seq, now)) return false;
    const state = decode(stateCodes, code);
    const waitsForRetry = state === "failed" && dueAt > now;
    const last = waitsForRetry ? (this.#last.get(seq) as unknown as LastRow | undefined) : undefined;
    const lastAttempt = last === undefined ? null : { executedAt: last[0], nextRetryAt: last[1] };
    const retried = retriedFrom(...lastRetry);
    const due = dueBroughtNear({ state, attemptCount, createdAt, dueAt, retried }, lastAttempt, now);
    if (due === null) return false;
    const lane = lanes.get(laneRef);
    // The position in an ordered lane does not depend on time.
    const queuePosition = lane.ordered ? before : queuePositionIn(lane, { order: seq, priority, dueAt: due });
    this.#save.run(due, now, queuePosition, seq);
    if (queuePosition !== before) {
      queue.remove({ lane: laneRef, queuePosition: before, seq });
      queue.insert({ lane: laneRef, queuePosition, seq });
    }
    chunks.lower(chunkKinds.deliveries, seq, Math.min(createdAt, now));
    return true;
  }
}

/** Upkeep, one transaction per step. */
export class SqliteUpkeep implements UpkeepStore {
  readonly #state: StoreState;
  readonly #deliveries: SqliteDeliveries;
  readonly #bringNear: BringNear;
  readonly #expiry: Expiry;
  readonly #retention: Retention;

  constructor(
    state: StoreState,
    deliveries: SqliteDeliveries,
    sql: SqliteSql,
    statistics: Pick<StatisticsWriter, "writeEnded">,
  ) {
    const sweeps = new Sweeps(state);
    this.#state = state;
    this.#deliveries = deliveries;
    this.#bringNear = new BringNear(state);
    this.#expiry = new Expiry(state, sweeps, sql, statistics);
    this.#retention = new Retention(state, sweeps);
  }

  async expire(step: ExpireStep): Promise<StepResult> {
    this.#deliveries.endExpiredLeases(step.now);
    return this.#state.connection.write(() => this.#expiry.expire(step));
  }

  async hasFutureDeliveries(now: number): Promise<boolean> {
    const { connection, chunks } = this.#state;
    return connection.read(() => chunks.anyCreatedAfter(chunkKinds.deliveries, now + clockDifferenceMs));
  }

  async bringNear(step: BringNearStep): Promise<BringNearResult> {
    return this.#state.connection.write(() => this.#bringNear.step(step));
  }

  async cancelWebhook(step: CancelStep): Promise<StepResult> {
    this.#deliveries.endExpiredLeases(step.now);
    return this.#state.connection.write(() => this.#expiry.cancelWebhook(step));
  }

  async forgetPayloads(createdBefore: number, limit: number): Promise<StepResult> {
    return this.#state.connection.write(() => this.#retention.forgetPayloads({ createdBefore, limit }));
  }

  async forgetHistory(step: HistoryStep): Promise<StepResult> {
    return this.#state.connection.write(() => this.#retention.forgetHistory(step));
  }

  async forgetAudit(createdBefore: number, limit: number): Promise<StepResult> {
    return this.#state.connection.write(() => this.#retention.forgetAudit(createdBefore, limit));
  }

  async forgetKeys(now: number, limit: number): Promise<StepResult> {
    return this.#state.connection.write(() => this.#retention.forgetKeys(now, limit));
  }
}
