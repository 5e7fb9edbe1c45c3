import type { StatementSync } from "node:sqlite";
import type { HistoryStep, StepResult } from "../../../ports/store/upkeep.ts";
import { exhausted, waitingMax } from "../../column-values.ts";
import { type ChunkKind, chunkKinds } from "../driver/chunks.ts";
import type { StoreState } from "../state.ts";

export interface RetentionStep {
  readonly createdBefore: number;
  readonly limit: number;
}

type FinishedRow = [seq: number, event: number, tenant: number, dead: number];

const deliveryWindowRows = 4096;
/** Events are larger than deliveries: with their bodies, this many events take about one megabyte of pages. */
const eventWindowRows = 1024;

const unwrittenOfEvent = "EXISTS (SELECT 1 FROM fan_out_parts p WHERE p.event = e.seq)";
const waitingOfEvent = `${unwrittenOfEvent} OR EXISTS (SELECT 1 FROM deliveries d WHERE d.seq >= e.delivery_first
    AND d.seq < e.delivery_first + e.delivery_count AND d.state <= ${waitingMax})
  OR EXISTS (SELECT 1 FROM event_requeues r JOIN deliveries d ON d.seq = r.delivery
    WHERE r.event = e.seq AND d.state <= ${waitingMax})`;
const anyOfEvent = `${unwrittenOfEvent} OR EXISTS (SELECT 1 FROM deliveries d WHERE d.seq >= e.delivery_first
    AND d.seq < e.delivery_first + e.delivery_count)
  OR EXISTS (SELECT 1 FROM event_requeues r WHERE r.event = e.seq)
  OR (e.idempotency_key IS NOT NULL AND EXISTS (SELECT 1 FROM dedup_keys k
    WHERE k.tenant = e.tenant AND k.key = e.idempotency_key AND k.event = e.seq AND k.expires_at > ?))`;

/** Deletes data that is older than the retention period set by the operator. Only inside a write. */
export class Retention {
  readonly #state: StoreState;
  readonly #sweeps: Sweeps;
  readonly #bodies: StatementSync;
  readonly #firstBody: StatementSync;
  readonly #forgetBody: StatementSync;
  readonly #finished: StatementSync;
  readonly #firstDelivery: StatementSync;
  readonly #deleteDelivery: StatementSync;
  readonly #deleteAttempts: StatementSync;
  readonly #deleteRequeue: StatementSync;
  readonly #bareEvents: StatementSync;
  readonly #firstEvent: StatementSync;
  readonly #deleteEvent: StatementSync;
  readonly #deleteKey: StatementSync;
  readonly #oldAudit: StatementSync;
  readonly #expiredKeys: readonly StatementSync[];
  /** History is deleted in two sweeps, one after the other, because an event outlives its deliveries. */
  #historyPhase: "deliveries" | "events" = "deliveries";

  constructor(state: StoreState, sweeps: Sweeps) {
    const { connection } = state;
    this.#state = state;
    this.#sweeps = sweeps;
    this.#bodies = connection.prepare(
      `SELECT seq FROM events e WHERE seq >= ? AND seq <= ? AND created_at < ? AND body IS NOT NULL
       AND NOT (${waitingOfEvent}) ORDER BY seq LIMIT ?`,
    );
    this.#firstBody = connection.prepare(
      "SELECT seq FROM events WHERE seq >= ? AND seq <= ? AND body IS NOT NULL UNION ALL SELECT NULL LIMIT 1",
    );
    this.#forgetBody = connection.prepare("UPDATE events SET body = NULL WHERE seq = ?");
    this.#finished = connection.prepare(
      `SELECT seq, event, tenant, state = ${exhausted} FROM deliveries
       WHERE seq >= ? AND seq <= ? AND state > ${waitingMax} AND created_at < ? ORDER BY seq LIMIT ?`,
    );
    this.#firstDelivery = connection.prepare("SELECT min(seq) FROM deliveries WHERE seq >= ? AND seq <= ?");
    this.#deleteDelivery = connection.prepare("DELETE FROM deliveries WHERE seq = ?");
    this.#deleteAttempts = connection.prepare(
      "DELETE FROM attempts WHERE key BETWEEN (?1 << 16) AND (?1 << 16) + 65535",
    );
    this.#deleteRequeue = connection.prepare("DELETE FROM event_requeues WHERE event = ? AND delivery = ?");
    this.#bareEvents = connection.prepare(
      `SELECT seq FROM events e WHERE seq >= ? AND seq <= ? AND created_at < ? AND NOT (${anyOfEvent})
       ORDER BY seq LIMIT ?`,
    );
    this.#firstEvent = connection.prepare("SELECT min(seq) FROM events WHERE seq >= ? AND seq <= ?");
    this.#deleteEvent = connection.prepare("DELETE FROM events WHERE seq = ?");
    this.#deleteKey = connection.prepare(
      `DELETE FROM dedup_keys WHERE event = ?1
       AND (tenant, key) = (SELECT tenant, idempotency_key FROM events WHERE seq = ?1)`,
    );
    this.#oldAudit = connection.prepare(
      `DELETE FROM audit_log WHERE seq IN (SELECT seq FROM audit_log ORDER BY seq LIMIT ?) AND at < ?`,
    );
    this.#expiredKeys = [
      `DELETE FROM idempotency WHERE (scope, key) IN
         (SELECT scope, key FROM idempotency WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`,
      "DELETE FROM api_keys WHERE id IN (SELECT id FROM api_keys WHERE expires_at <= ? LIMIT ?)",
    ].map((sql) => connection.prepare(sql));
  }

  forgetPayloads(step: RetentionStep): StepResult {
    return this.#sweeps.step({
      ...step,
      name: "payloads",
      kind: chunkKinds.events,
      windowRows: eventWindowRows,
      visit: (window) =>
        visitEach(window, this.#seqs(this.#bodies, window, [step.createdBefore]), (seq) =>
          this.#forgetBody.run(seq),
        ),
      firstLeft: this.#firstBody,
    });
  }

  forgetHistory(step: HistoryStep): StepResult {
    if (this.#historyPhase === "deliveries") {
      const result = this.#forgetDeliveries(step);
      if (!result.more) this.#historyPhase = "events";
      return { changed: result.changed, more: true };
    }
    const result = this.#forgetEvents(step);
    if (!result.more) this.#historyPhase = "deliveries";
    return result;
  }

  /** The oldest rows have the lowest numbers, so they are examined first. */
  forgetAudit(createdBefore: number, limit: number): StepResult {
    const changed = Number(this.#oldAudit.run(limit, createdBefore).changes);
    return { changed, more: changed === limit };
  }

  forgetKeys(now: number, limit: number): StepResult {
    const changes = this.#expiredKeys.map((statement) => Number(statement.run(now, limit).changes));
    return {
      changed: changes.reduce((sum, count) => sum + count, 0),
      more: changes.some((count) => count === limit),
    };
  }

  #forgetDeliveries(step: RetentionStep): SweepResult {
    const result = this.#sweeps.step({
      ...step,
      name: "history_deliveries",
      kind: chunkKinds.deliveries,
      windowRows: deliveryWindowRows,
      visit: (window) => {
        const rows = this.#finished.all(window.from, window.to, step.createdBefore, window.limit);
        return visitEach(window, rows as unknown as FinishedRow[], (row) => this.#deleteFinished(row));
      },
      firstLeft: this.#firstDelivery,
    });
    this.#state.chunks.forgetBelow(chunkKinds.deliveries, this.#sweeps.floor("history_deliveries"));
    return result;
  }

  #forgetEvents(step: HistoryStep): SweepResult {
    const result = this.#sweeps.step({
      ...step,
      name: "history_events",
      kind: chunkKinds.events,
      windowRows: eventWindowRows,
      visit: (window) =>
        visitEach(window, this.#seqs(this.#bareEvents, window, [step.createdBefore, step.now]), (seq) => {
          this.#deleteKey.run(seq);
          this.#deleteEvent.run(seq);
        }),
      firstLeft: this.#firstEvent,
    });
    this.#state.chunks.forgetBelow(chunkKinds.events, this.#sweeps.floor("history_events"));
    return result;
  }

  #deleteFinished([seq, event, tenant, dead]: FinishedRow): void {
    this.#deleteAttempts.run(seq);
    this.#deleteRequeue.run(event, seq);
    this.#deleteDelivery.run(seq);
    if (dead === 1) this.#state.counters.addDeadLetter(tenant, -1);
  }

  #seqs(statement: StatementSync, window: SweepWindow, times: readonly number[]): readonly number[] {
    const rows = statement.all(window.from, window.to, ...times, window.limit) as unknown as [seq: number][];
    return rows.map(([seq]) => seq);
  }
}

function visitEach<Row extends number | FinishedRow>(
  window: SweepWindow,
  rows: readonly Row[],
  visit: (row: Row) => unknown,
): SweepVisit {
  for (const row of rows) visit(row);
  const last = rows.at(-1);
  if (last === undefined || rows.length < window.limit) return { changed: rows.length, stoppedAt: null };
  return { changed: rows.length, stoppedAt: typeof last === "number" ? last : last[0] };
}

export interface SweepStep {
  readonly name: "expire" | "payloads" | "history_deliveries" | "history_events";
  readonly kind: ChunkKind;
  /** Only rows created before this time are of interest. */
  readonly createdBefore: number;
  readonly limit: number;
  /** Number of positions examined in one step. */
  readonly windowRows: number;
  /**
   * Processes matching rows of a window in order. Returns how many rows it changed, and where it stopped if it did not
   * process all of them.
   */
  readonly visit: (window: SweepWindow) => SweepVisit;
  /** The first position of a window that a later sweep has to examine again; null if there is none. */
  readonly firstLeft: StatementSync;
}

export interface SweepWindow {
  readonly from: number;
  readonly to: number;
  readonly limit: number;
}

export interface SweepVisit {
  readonly changed: number;
  /** The last position processed if `limit` ended the window early; null if the whole window was examined. */
  readonly stoppedAt: number | null;
}

export interface SweepResult {
  readonly changed: number;
  readonly more: boolean;
}

/**
 * Upkeep without indexes: a cursor moves through old rows in the order in which they were written, one window per step,
 * and then starts again at the floor. The floor rises over rows that need not be examined again, so that a sweep of a
 * long history is short. Cursor and floor survive restarts.
 */
export class Sweeps {
  readonly #state: Pick<StoreState, "chunks" | "counters">;
  readonly #read: StatementSync;
  readonly #save: StatementSync;
  readonly #unwritten: StatementSync;

  constructor(state: Pick<StoreState, "connection" | "chunks" | "counters">) {
    const { connection } = state;
    this.#state = state;
    this.#read = connection.prepare("SELECT floor, cursor FROM sweeps WHERE name = ?");
    this.#unwritten = connection.prepare("SELECT min(delivery_first) FROM fan_out_parts");
    this.#save = connection.prepare("INSERT OR REPLACE INTO sweeps VALUES (?, ?, ?)");
  }

  /** Processes one window. Only inside a write. `more` is false at the end of the sweep. */
  step(step: SweepStep): SweepResult {
    const stored = this.#read.get(step.name) as unknown as [floor: number, cursor: number] | undefined;
    const floor = stored?.[0] ?? 1;
    const from = Math.max(stored?.[1] ?? 1, floor);
    const last = this.#lastSeq(step);
    if (from > last) {
      if (from !== floor) this.#save.run(step.name, floor, floor);
      return { changed: 0, more: false };
    }
    const to = Math.min(last, from + step.windowRows - 1);
    const visit = step.visit({ from, to, limit: step.limit });
    const reached = visit.stoppedAt ?? to;
    const risen = from === floor ? this.#firstLeft(step, from, reached) : floor;
    const more = reached < last;
    this.#save.run(step.name, risen, more ? reached + 1 : risen);
    return { changed: visit.changed, more };
  }

  /** A position below which no work is left. */
  floor(name: SweepStep["name"]): number {
    const stored = this.#read.get(name) as unknown as [floor: number, cursor: number] | undefined;
    return stored?.[0] ?? 1;
  }

  /**
   * The last position that a sweep may examine. It is never above the last written row, because rows that are added to
   * the newest chunk later have to be examined too.
   */
  #lastSeq({ kind, createdBefore }: SweepStep): number {
    const { chunks, counters } = this.#state;
    const written = kind === chunkKinds.events ? counters.eventLast : counters.deliveryLast;
    const last = Math.min(written, chunks.lastSeqBefore(kind, createdBefore));
    if (kind === chunkKinds.events) return last;
    // Positions that are reserved and not written yet.
    const [unwritten] = this.#unwritten.get() as unknown as [first: number | null];
    return unwritten === null ? last : Math.min(last, unwritten - 1);
  }

  #firstLeft(step: SweepStep, from: number, reached: number): number {
    const [left] = step.firstLeft.get(from, reached) as unknown as [seq: number | null];
    return left ?? reached + 1;
  }
}
