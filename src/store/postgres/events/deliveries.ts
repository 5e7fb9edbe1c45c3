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
  PublishResult,
  Settlement,
  StoreDepth,
} from "../../../ports/store/deliveries.ts";
import { factsOf, type StatisticsBatch } from "../../../ports/store/statistics.ts";
import { attemptedOf, withPassedOn } from "../../attempt-notes.ts";
import { tierSpan } from "../../column-values.ts";
import { eventCalls } from "../../documents/operational-events.ts";
import { lanePageOf } from "../../history-rows.ts";
import { keepAnswers, writeRequests } from "../documents/gateway.ts";
import { writeProblems } from "../documents/problems.ts";
import { type Counting, stringsOfStatistics, writeStatistics } from "../documents/statistics-sql.ts";
import type { Transaction } from "../driver/database.ts";
import { numbers, runCalls } from "../driver/sql.ts";
import type { StoreState } from "../state.ts";
import { Claimer } from "./claim.ts";
import { DeliveryRows } from "./event-rows.ts";
import { endByHand } from "./hand-endings.ts";
import { Deltas, deadLetterKind, lanesFound } from "./lane-counters.ts";
import { LostLeases } from "./lost-leases.ts";
import { drawNumbers, relativeNumbers } from "./positions.ts";
import { areNew, fanOut, keepParts, PublishBatch } from "./publish.ts";
import { RequeueBatch, RetryBatch } from "./retry.ts";
import {
  type SettleBatch,
  type SettleResult,
  takesRows,
  writeSettlements,
  writeWebhookStates,
} from "./settle.ts";

/** A position may be reused after a crash, and an id may be published twice; together they identify one commit. */
const storedSql = {
  events: "SELECT FROM posthorn.events WHERE seq = $1 AND id = $2::uuid",
  deliveries: "SELECT FROM posthorn.deliveries WHERE seq = $1 AND id = $2::uuid",
} as const;

/** The result of a transaction, and the lanes in which it left work for other processes. */
interface Committed {
  readonly result: CommitResult;
  readonly lanes: readonly number[];
}

interface Writing {
  readonly batch: CommitBatch;
  readonly publishing: PublishBatch;
  readonly counting: Counting | null;
}

interface WritingInTurn extends Writing {
  readonly requeuing: RequeueBatch;
  readonly retrying: RetryBatch;
  readonly deliveries: DeliveryRows;
  /** Whether publishes can be written without a preceding read. */
  readonly isPlain: boolean;
}

type Stored = Pick<CommitResult, "publishes" | "requeues" | "retries"> & SettleResult;

const accepted = { kind: "accepted" } as const;

/** Whether no event has data that must be written after the event. */
function isApart({ publishes }: CommitBatch): boolean {
  return publishes.every(
    ({ request, answer, attempted = [] }) =>
      request === undefined && answer === undefined && attempted.length === 0,
  );
}

/** One lookup per priority of each lane. An ordered lane has a single lookup, whose first row is the next delivery. */
const oldestDueSql = `SELECT min(d.due_at) FROM unnest($1::int[]) AS l (lane) CROSS JOIN generate_series(0, 2) AS t (tier)
  CROSS JOIN LATERAL (SELECT q.delivery FROM posthorn.queue q WHERE q.lane = l.lane AND q.owner IS NULL
    AND q.queue_position >= t.tier * ${tierSpan}::bigint AND q.queue_position < (t.tier + 1) * ${tierSpan}::bigint
    ORDER BY q.queue_position, q.delivery LIMIT 1) AS first
  JOIN posthorn.deliveries d ON d.seq = first.delivery`;

/**
 * Event processing: the statements that run for each event. A commit takes a few statements and a claim takes one,
 * regardless of the size of the batch.
 */
export class PostgresDeliveries implements DeliveryStore {
  readonly #state: StoreState;
  readonly #claimer: Claimer;
  readonly #lost = new LostLeases();

  constructor(state: StoreState) {
    this.#state = state;
    const release = (leases: readonly Lease[]): Promise<void> => this.release(leases);
    this.#claimer = new Claimer(state, release, this.#lost);
  }

  async commit(batch: CommitBatch): Promise<CommitResult> {
    const { database, announcer } = this.#state;
    const { publishes, requeues, retries, webhookStates, operationalEvents = [] } = batch;
    await this.#ensureStrings(batch);
    const others = [publishes, requeues, retries, webhookStates, operationalEvents];
    const onlySettles = others.every(({ length }) => length === 0) && batch.problems === undefined;
    const leased = { rows: null as DeliveryRows | null };
    try {
      const { result, lanes } = onlySettles
        ? await this.#settleAlone(batch)
        : await database.transaction((transaction) => {
            leased.rows = new DeliveryRows(this.#state.processNumber, new Deltas());
            return this.#write(transaction, batch, leased.rows);
          });
      announcer.announce(lanes);
      return result;
    } catch (error) {
      for (const settlement of batch.settlements) this.#state.inDoubt.add(settlement);
      this.#lost.noteDeliveries(error, leased.rows?.leased ?? []);
      throw error;
    }
  }

  async fanOut(): Promise<FanOutPart | null> {
    return fanOut(this.#state);
  }

  async claim(requests: readonly ClaimRequest[]): Promise<readonly ClaimResult[]> {
    return this.#claimer.claim(requests);
  }

  async end(command: EndCommand): Promise<readonly EndResult[]> {
    return endByHand(this.#state, command);
  }

  async release(leases: readonly Lease[]): Promise<void> {
    if (leases.length === 0) return;
    const rows = await this.#state.database.rows<[lane: number]>(
      `WITH held AS MATERIALIZED (
         SELECT q.delivery FROM unnest($1::bigint[], $2::int[]) AS g (ref, lease_token)
         JOIN posthorn.queue q ON q.delivery = g.ref AND q.lease_token = g.lease_token AND g.lease_token > 0 AND
           q.owner = $3
         ORDER BY q.delivery FOR UPDATE OF q)
       UPDATE posthorn.queue q SET owner = NULL, lease_until = NULL, lease_token = q.lease_token + 1
       FROM held WHERE q.delivery = held.delivery RETURNING q.lane`,
      [
        numbers(leases.map(({ ref }) => ref)),
        numbers(leases.map(({ leaseToken }) => leaseToken)),
        this.#state.processNumber,
      ],
    );
    this.#state.announcer.announce(rows.map(([lane]) => lane));
  }

  /** One lane more than the limit shows whether there is another page. */
  async lanesWithWork(after: string | null, limit: number): Promise<LanePage> {
    const { database, lanes } = this.#state;
    const rows = await database.rows<[lane: number]>(
      `WITH RECURSIVE ${lanesFound("$1::int")}
       SELECT lane FROM found WHERE lane IS NOT NULL LIMIT $2`,
      [Number(after ?? 0), limit + 1],
    );
    const { shown, next } = lanePageOf(
      rows.map(([lane]) => lane),
      limit,
    );
    await lanes.load(shown);
    return { lanes: shown.map((ref) => lanes.byRef(ref).key), next };
  }

  async oldestDue(given: readonly LaneKey[]): Promise<number | null> {
    const { maintenance, lanes } = this.#state;
    await lanes.lookUp(given);
    const refs = given.flatMap((key) => lanes.find(key)?.ref ?? []);
    const [row] = await maintenance.rows<[dueAt: number | null]>(oldestDueSql, [numbers(refs)]);
    return row?.[0] ?? null;
  }

  async depth(): Promise<StoreDepth> {
    const rows = await this.#state.database.rows<[kind: number, tenant: string | null, value: number]>(
      `SELECT c.kind, w.string, sum(c.value)::bigint FROM posthorn.counters c
       LEFT JOIN posthorn.strings w ON w.ref = c.tenant GROUP BY c.kind, w.string HAVING sum(c.value) <> 0`,
    );
    const waiting = (priority: number) => rows.find(([kind]) => kind === priority)?.[2] ?? 0;
    const dead = rows.filter(([kind]) => kind === deadLetterKind);
    return {
      waiting: { high: waiting(0), normal: waiting(1), low: waiting(2) },
      deadLetters: new Map(dead.map(([, tenant, value]) => [tenant ?? "", value])),
    };
  }

  /**
   * Done before the transaction, because strings and lanes are useful to all processes, and a rejected commit does not
   * make them invalid.
   */
  async #ensureStrings({ publishes, requeues, retries, statistics }: CommitBatch): Promise<void> {
    const { strings, lanes } = this.#state;
    if (statistics !== undefined) await strings.ensure(stringsOfStatistics(statistics));
    if (publishes.length + requeues.length + retries.length === 0) return;
    await strings.ensure(
      publishes.flatMap(({ event }) => [event.tenantId, event.eventType, event.contentType]),
    );
    const created = [...publishes, ...requeues].flatMap(({ deliveries }) => deliveries);
    await lanes.ensure([...created, ...retries].map(({ lane }) => lane));
  }

  /** The most frequent commit under load consists of one statement and needs no transaction around it. */
  async #settleAlone({ settlements, statistics }: CommitBatch): Promise<Committed> {
    const { database } = this.#state;
    // An empty commit checks whether the store is writable. Only a primary assigns transaction ids.
    if (settlements.length === 0 && statistics === undefined)
      await database.rows("SELECT pg_current_xact_id()::text");
    const counting = this.#countingOf(statistics);
    const batch = this.#settleBatch(settlements, counting);
    const { settled, freeLanes } = await writeSettlements(database, batch);
    if (!takesRows(batch) && counting !== null)
      await writeStatistics(database, { ...counting, facts: [], carriesRows: true });
    return { result: { publishes: [], requeues: [], retries: [], settled }, lanes: freeLanes };
  }

  /**
   * All commits lock rows in this order, which prevents deadlocks:
   *
   *   1. `tenant_sequences` of the publishes, by tenant; from here on, commits of one tenant run sequentially
   *   2. `events` that are sent again, then `queue` and `deliveries` that wait again, each by position
   *   3. `counters`, the lower shards, for new deliveries
   *   4. `queue` and `deliveries` of the settlements, then `counters`, the higher shards
   *   5. `webhook_states`, by webhook
   *   6. `operational_events`, by key
   *   7. on failures: `webhooks`, then `delivery_problems`, each by id
   *
   * New rows, including those of the gateway's log, have no other writer. The same applies to the gateway's answers, each of
   * which belongs to the claimer of its key. Settlements are sorted by position, in which they are usually locked. If two
   * commits deadlock nevertheless, the server ends one after a second and database.ts repeats it.
   */
  async #write(transaction: Transaction, batch: CommitBatch, deliveries: DeliveryRows): Promise<Committed> {
    const need = this.#needOf(batch);
    const isPlain = batch.requeues.length + batch.retries.length === 0 && areNew(batch.publishes);
    const drawn = isPlain
      ? relativeNumbers(need.eventsByTenant)
      : await drawNumbers(transaction, need.eventsByTenant, need.deliveries);
    const publishing = new PublishBatch(this.#state, transaction, drawn, deliveries, this.#lost.lanes);
    const requeuing = new RequeueBatch(this.#state, transaction, drawn, deliveries);
    const retrying = new RetryBatch(this.#state, transaction, drawn, deliveries);
    const counting = this.#countingOf(batch.statistics);
    const stored =
      isApart(batch) && isPlain
        ? await this.#writeAtOnce(transaction, { batch, publishing, counting })
        : await this.#writeInTurn(transaction, {
            batch,
            publishing,
            requeuing,
            retrying,
            counting,
            isPlain,
            deliveries,
          });
    const { publishes, requeues, retries, settled, freeLanes } = stored;
    if (batch.publishes.some(({ later }) => later !== undefined))
      await keepParts(transaction, batch.publishes, publishes);
    await writeWebhookStates(transaction, batch.webhookStates);
    await runCalls(transaction, eventCalls(batch.operationalEvents));
    const problemMoves = await this.#writeProblems(transaction, batch, stored);
    const proof = publishing.firstEvent ?? deliveries.first;
    if (proof !== null) transaction.provenBy(storedSql[proof.table], [proof.seq, proof.id]);
    return {
      result: { publishes, requeues, retries, settled, ...(problemMoves.length > 0 && { problemMoves }) },
      lanes: [...deliveries.lanesWithFree, ...freeLanes],
    };
  }

  /** New events and settlements that are independent: no statement needs the result of another one. */
  async #writeAtOnce(transaction: Transaction, { batch, publishing, counting }: Writing): Promise<Stored> {
    const settling = this.#settleBatch(batch.settlements, counting);
    const [publishes, settled] = await Promise.all([
      publishing.runAtOnce(batch.publishes),
      writeSettlements(transaction, settling),
      this.#countPublishes(
        transaction,
        counting,
        settling,
        batch.publishes.map(() => accepted),
      ),
    ]);
    return { publishes, requeues: [], retries: [], ...settled };
  }

  /** Data that belongs to an event is written after the event. */
  async #writeInTurn(
    transaction: Transaction,
    { batch, publishing, counting, requeuing, retrying, deliveries, isPlain }: WritingInTurn,
  ): Promise<Stored> {
    const publishes = isPlain
      ? await publishing.runAtOnce(batch.publishes)
      : await publishing.run(batch.publishes);
    const stored = batch.publishes.filter((_, at) => publishes[at]?.kind === "accepted");
    const requests = stored.flatMap(({ request }) => request ?? []);
    await writeRequests(transaction, requests, true);
    await keepAnswers(
      transaction,
      stored.flatMap(({ answer }) => answer ?? []),
    );
    const requeues = await requeuing.run(batch.requeues);
    const retries = await retrying.run(batch.retries);
    const { publishes: published, requeues: replayed, retries: retried } = batch;
    if (!isPlain && published.length + replayed.length + retried.length > 0)
      await deliveries.insert(transaction);
    await requeuing.linkCopies();
    // Settlements that are written together with an event are also counted with it.
    const attempted = batch.publishes.flatMap((command, at) => attemptedOf(command, publishes[at]));
    const settling = this.#settleBatch([...batch.settlements, ...attempted], counting);
    const { settled, ...more } = await writeSettlements(transaction, settling);
    await this.#countPublishes(transaction, counting, settling, publishes);
    return { publishes, requeues, retries, ...more, settled: settled.slice(0, batch.settlements.length) };
  }

  async #countPublishes(
    transaction: Transaction,
    counting: Counting | null,
    settling: SettleBatch,
    publishes: readonly Pick<PublishResult, "kind">[],
  ): Promise<void> {
    if (counting === null) return;
    const facts = factsOf({ ...counting.statistics, settled: [] }, { publishes, settled: [] });
    if (facts.length > 0 || !takesRows(settling))
      await writeStatistics(transaction, { ...counting, facts, carriesRows: !takesRows(settling) });
  }

  /** Earlier statements of the same commit have also changed these rows. */
  async #writeProblems(
    transaction: Transaction,
    { problems }: CommitBatch,
    { settled, writtenBefore, publishes }: Pick<Stored, "settled" | "writtenBefore" | "publishes">,
  ): Promise<readonly ProblemMove[]> {
    if (problems === undefined) return [];
    const failures = problems.failures.map((fact, at) => (writtenBefore.has(at) ? null : fact));
    const written = withPassedOn({ ...problems, failures }, settled, publishes);
    return writeProblems(transaction, written.batch, written.settled);
  }

  #settleBatch(settlements: readonly Settlement[], counting: Counting | null): SettleBatch {
    const isInDoubt = (settlement: Settlement): boolean => this.#state.inDoubt.has(settlement);
    return { settlements, processNumber: this.#state.processNumber, isInDoubt, counting };
  }

  #countingOf(statistics: StatisticsBatch | undefined): Counting | null {
    return statistics === undefined ? null : { statistics, strings: this.#state.strings };
  }

  #needOf(batch: CommitBatch): { eventsByTenant: Map<number, number>; deliveries: number } {
    const eventsByTenant = new Map<number, number>();
    for (const { event } of batch.publishes) {
      const tenant = this.#state.strings.ref(event.tenantId);
      eventsByTenant.set(tenant, (eventsByTenant.get(tenant) ?? 0) + 1);
    }
    const deliveries = [...batch.publishes, ...batch.requeues].reduce(
      (sum, command) => sum + command.deliveries.length,
      // Each retry may need an order position.
      batch.retries.length,
    );
    return { eventsByTenant, deliveries };
  }
}
