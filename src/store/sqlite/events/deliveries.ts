import type { StatementSync } from "node:sqlite";
import { endings } from "../../../domain/delivery-state.ts";
import { endingKey } from "../../../domain/statistics/facts.ts";
import type { LaneKey } from "../../../domain/webhook.ts";
import type { ProblemMove } from "../../../features/problems/problem.ts";
import type {
  ClaimRequest,
  ClaimResult,
  CommitBatch,
  CommitResult,
  DeliveryStore,
  EndCommand,
  EndResult,
  FanOutPart,
  LanePage,
  Lease,
  PublishCommand,
  PublishResult,
  SettlementResult,
  StoreDepth,
} from "../../../ports/store/deliveries.ts";
import type { ProblemBatch } from "../../../ports/store/delivery-problems.ts";
import { attemptedOf, withPassedOn } from "../../attempt-notes.ts";
import { endingSql, exhausted, tierSpan, waitingMax } from "../../column-values.ts";
import { eventCalls } from "../../documents/operational-events.ts";
import { historyCalls } from "../../documents/webhooks.ts";
import { lanePageOf } from "../../history-rows.ts";
import type { EndedDeliveries } from "../../statistics-rows.ts";
import type { GatewayAnswers, GatewayRequestRows } from "../documents/gateway-log.ts";
import type { ProblemWriter } from "../documents/problems.ts";
import type { StatisticsWriter } from "../documents/statistics.ts";
import type { SqliteSql } from "../driver/sql.ts";
import type { StoreState } from "../state.ts";
import { Claimer } from "./claim.ts";
import { DeliveryWriter, FanOut, PublishWriter } from "./publish.ts";
import { RequeueWriter, RetryWriter } from "./retry.ts";
import { SettleWriter } from "./settle.ts";

/** SQL that computes `queuePositionIn` for a stored row, where `ordered` is an SQL expression. */
function queuePositionSql(ordered: string): string {
  return `CASE WHEN ${ordered} THEN coalesce(order_position, seq) ELSE priority * ${tierSpan} + min(max(due_at, 0), ${tierSpan - 1}) END`;
}

/**
 * Event processing. A delivery that is leased on insertion ("fresh") gets no position in its lane. If its first request
 * succeeds, it never needs one, which saves two writes in the common case. It gets a position when it is released or
 * rescheduled, when its lease expires, or, after a crash, when the store is opened.
 */
export class SqliteDeliveries implements DeliveryStore {
  readonly #state: StoreState;
  readonly #publishes: PublishWriter;
  readonly #fanOut: FanOut;
  readonly #requeues: RequeueWriter;
  readonly #retries: RetryWriter;
  readonly #settlements: SettleWriter;
  readonly #endings: HandEndings;
  readonly #statistics: StatisticsWriter;
  readonly #sql: SqliteSql;
  readonly #requests: GatewayRequestRows;
  readonly #answers: GatewayAnswers;
  readonly #problems: ProblemWriter;
  readonly #claimer: Claimer;
  readonly #enterLane: StatementSync;
  readonly #recover: readonly StatementSync[];

  constructor(
    state: StoreState,
    writers: {
      readonly statistics: StatisticsWriter;
      readonly problems: ProblemWriter;
      readonly sql: SqliteSql;
      readonly requests: GatewayRequestRows;
      readonly answers: GatewayAnswers;
    },
  ) {
    const deliveries = new DeliveryWriter(state);
    const { connection } = state;
    this.#state = state;
    this.#fanOut = new FanOut(state, deliveries);
    this.#publishes = new PublishWriter(state, deliveries, this.#fanOut);
    this.#requeues = new RequeueWriter(state, deliveries);
    this.#retries = new RetryWriter(state);
    this.#settlements = new SettleWriter(state);
    this.#endings = new HandEndings(state, writers.statistics);
    this.#statistics = writers.statistics;
    this.#problems = writers.problems;
    this.#sql = writers.sql;
    this.#requests = writers.requests;
    this.#answers = writers.answers;
    this.#claimer = new Claimer(state);
    this.#enterLane = connection.prepare(
      `UPDATE deliveries SET queue_position = ${queuePositionSql("?")} WHERE seq = ? RETURNING queue_position`,
    );
    const place = queuePositionSql("(SELECT ordering > 0 FROM lanes WHERE ref = deliveries.lane)");
    const fresh = `seq >= ? AND state <= ${waitingMax} AND queue_position IS NULL`;
    this.#recover = [
      `INSERT INTO lane_entries SELECT lane, ${place}, seq FROM deliveries WHERE ${fresh}`,
      `UPDATE deliveries SET queue_position = ${place} WHERE ${fresh}`,
    ].map((sql) => connection.prepare(sql));
  }

  async commit(batch: CommitBatch): Promise<CommitResult> {
    return this.#state.connection.write(() => {
      const publishes = batch.publishes.map((command) => this.#publish(command));
      const requeues = batch.requeues.map((command) => this.#requeues.write(command));
      const retries = batch.retries.map((command) => this.#retries.write(command));
      const settled = batch.settlements.map((settlement) => this.#settlements.write(settlement));
      for (const state of batch.webhookStates) {
        this.#settlements.writeWebhookState(state);
        const moves = (state.moves ?? []).map((entry) => ({ webhookId: state.webhookId, entry }));
        this.#sql.within(historyCalls(moves, true));
      }
      this.#sql.within(eventCalls(batch.operationalEvents));
      const problemMoves = this.#writeProblems(batch.problems, settled, publishes);
      const moves = problemMoves.length > 0 && { problemMoves };
      const result = { publishes, requeues, retries, settled, ...moves };
      if (batch.statistics !== undefined) this.#statistics.write(batch.statistics, result);
      // SQLite writes nothing for a transaction without changes, so an empty transaction would not detect that the
      // store is not writable.
      if (isEmpty(batch)) this.#state.counters.touch();
      return result;
    });
  }

  #writeProblems(
    problems: ProblemBatch | undefined,
    settled: readonly SettlementResult[],
    publishes: readonly PublishResult[],
  ): readonly ProblemMove[] {
    if (problems === undefined) return [];
    const all = withPassedOn(problems, settled, publishes);
    return this.#problems.write(all.batch, all.settled);
  }

  #publish(command: PublishCommand): PublishResult {
    const result = this.#publishes.write(command);
    if (result.kind !== "accepted") return result;
    for (const settlement of attemptedOf(command, result)) this.#settlements.write(settlement);
    if (command.request !== undefined) this.#requests.put(command.request);
    if (command.answer !== undefined) this.#answers.keep(command.answer);
    return result;
  }

  async fanOut(): Promise<FanOutPart | null> {
    return this.#state.connection.write(() => this.#fanOut.next());
  }

  async claim(requests: readonly ClaimRequest[]): Promise<readonly ClaimResult[]> {
    this.endExpiredLeases(requests.reduce((latest, request) => Math.max(latest, request.now), 0));
    return this.#claimer.claim(requests);
  }

  async end(command: EndCommand): Promise<readonly EndResult[]> {
    this.endExpiredLeases(command.now);
    return this.#state.connection.write(() => this.#endings.write(command));
  }

  async release(leases: readonly Lease[]): Promise<void> {
    const held = leases.filter((lease) => this.#state.leases.get(lease.ref)?.leaseToken === lease.leaseToken);
    this.#enterLanes(
      held.map(({ ref }) => ref).filter((seq) => this.#state.leases.get(seq)?.queuePosition === null),
    );
    for (const { ref } of held) this.#state.leases.drop(ref);
    for (const { ref, leaseToken } of leases) this.#state.leases.forgetEnded(ref, leaseToken);
  }

  async lanesWithWork(after: string | null, limit: number): Promise<LanePage> {
    const { connection, lanes } = this.#state;
    return connection.read(() => {
      const { shown, next } = lanePageOf(this.#lanesAfter(Number(after ?? 0), limit + 1), limit);
      return { lanes: shown.map((ref) => lanes.key(ref)), next };
    });
  }

  async oldestDue(lanes: readonly LaneKey[]): Promise<number | null> {
    return this.#claimer.oldestDue(lanes);
  }

  async depth(): Promise<StoreDepth> {
    const { connection, counters, strings } = this.#state;
    return connection.read(() => {
      const [high, normal, low] = counters.waiting;
      const deadLetters = new Map(
        counters.deadLetters().map(([tenant, count]) => [strings.text(tenant), count]),
      );
      return { waiting: { high, normal, low }, deadLetters };
    });
  }

  /** Adds fresh deliveries with expired leases to their lanes, so that they can be claimed. */
  endExpiredLeases(now: number): void {
    this.#enterLanes(this.#state.leases.freshExpired(now));
  }

  /**
   * After a crash, deliveries that were leased on insertion are in no lane. Examines only rows above the floor, which
   * the last commit set to the position of the oldest of these deliveries.
   */
  recover(): void {
    const { connection, counters } = this.#state;
    connection.write(() => {
      counters.opens += 1;
      counters.touch();
      const floor = counters.freshFloor;
      for (const statement of this.#recover) statement.run(floor);
    });
  }

  #enterLanes(seqs: readonly number[]): void {
    if (seqs.length === 0) return;
    const { connection, leases, lanes, queue, counters } = this.#state;
    connection.write(() => {
      for (const seq of seqs) {
        const held = leases.get(seq);
        if (held === undefined || held.queuePosition !== null) continue;
        const row = this.#enterLane.get(lanes.get(held.lane).ordered ? 1 : 0, seq) as unknown as [
          queuePosition: number,
        ];
        queue.insert({ lane: held.lane, queuePosition: row[0], seq });
        leases.place(seq, row[0]);
      }
      counters.touch();
    });
  }

  /** Seeks from lane to lane, so that a million deliveries in one lane cost one step. */
  #lanesAfter(after: number, limit: number): readonly number[] {
    const fresh = [...new Set(Array.from(this.#state.leases.fresh(), ([, lease]) => lease.lane))]
      .filter((lane) => lane > after)
      .sort((a, b) => a - b);
    const found: number[] = [];
    for (let last = after; found.length < limit; ) {
      const queued = this.#state.queue.laneAfter(last) ?? Number.POSITIVE_INFINITY;
      while (fresh[0] !== undefined && fresh[0] <= last) fresh.shift();
      const lane = Math.min(queued, fresh[0] ?? Number.POSITIVE_INFINITY);
      if (lane === Number.POSITIVE_INFINITY) break;
      found.push(lane);
      last = lane;
    }
    return found;
  }
}

function isEmpty({ publishes, requeues, retries, settlements, webhookStates }: CommitBatch): boolean {
  const parts = [publishes, requeues, retries, settlements, webhookStates];
  return parts.every(({ length }) => length === 0);
}

type Row = [
  seq: number,
  tenant: number,
  state: number,
  priority: number,
  lane: number,
  queuePosition: number | null,
  webhook: number,
];

/** Ends deliveries at a user's request. Only inside a write. */
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
