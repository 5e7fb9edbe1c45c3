import { duplicateFact, type Fact, publishFacts, settlementFact } from "../../domain/statistics/facts.ts";
import { OpenBuckets } from "../../domain/statistics/open-buckets.ts";
import { writerBytes, writerOf } from "../../domain/statistics/gauges.ts";
import { Alarm } from "../../ports/clock.ts";
import type { CommitResult, PublishCommand } from "../../ports/store/deliveries.ts";
import {
  factsOf,
  type PublishedCount,
  type StatisticsBatch,
  type StatisticsStore,
} from "../../ports/store/statistics.ts";
import type { EngineContext, EngineOptions } from "../engine-options.ts";
import type { PendingSettlement } from "./write-group.ts";

/**
 * Counts committed writes in memory and adds due buckets to commits. Facts are written to the store's journal with the
 * commit that makes them true, and are counted here after it succeeded; rows contain the counts up to that time. Rows
 * and journal together are therefore complete after a crash at any moment.
 */
export class CommitStatistics {
  readonly #context: Pick<EngineContext, "clock" | "random">;
  readonly #store: Pick<StatisticsStore, "rowsPerCommitMax">;
  readonly #touch: () => void;
  readonly #quiet: Alarm;
  #buckets = emptyBuckets();
  #writer: number;
  #number = 0;
  /** Whether a commit failed with an unknown outcome, which lasts until the next commit succeeds. */
  #isInDoubt = false;
  #isEnding = false;

  /** `touch` requests a commit if there was none for a while. */
  constructor(
    context: Pick<EngineContext, "clock" | "random">,
    store: Pick<StatisticsStore, "rowsPerCommitMax">,
    touch: () => void,
  ) {
    this.#context = context;
    this.#store = store;
    this.#touch = touch;
    this.#quiet = new Alarm(context.clock);
    this.#writer = writerOf(context.random.bytes(writerBytes));
  }

  /** Timestamp of the oldest fact that no written bucket contains, in Unix milliseconds; null if all are written. */
  get unwrittenSince(): number | null {
    return this.#buckets.unwrittenSince;
  }

  get lagMs(): number {
    const since = this.#buckets.unwrittenSince;
    return since === null ? 0 : Math.max(0, this.#context.clock.now() - since);
  }

  /**
   * The statistics for the next commit. Contains no rows while the commands of a failed group are written one by one.
   */
  compose(
    publishes: readonly PublishCommand[],
    settlements: readonly PendingSettlement[],
    carriesRows: boolean,
  ): StatisticsBatch {
    const now = this.#context.clock.now();
    const oldest = { from: this.#buckets.writtenTo + 1, since: this.#buckets.unwrittenSince ?? now };
    const limit = this.#store.rowsPerCommitMax;
    const mayWrite = carriesRows && !this.#isInDoubt;
    const due = () => (this.#isEnding ? this.#buckets.takeAll(limit) : this.#buckets.take(now, limit));
    const rows = mayWrite ? due() : [];
    this.#number += 1;
    return {
      writer: this.#writer,
      number: this.#number,
      at: now,
      settled: settlements.map(factOf),
      published: publishes.map((command) => this.#publishedCount(command)),
      rows,
      writtenTo: mayWrite ? this.#buckets.writtenTo : 0,
      unwritten: oldest,
    };
  }

  committed(batch: StatisticsBatch, result: CommitResult): void {
    if (batch.writer !== this.#writer) return;
    const now = this.#context.clock.now();
    this.#isInDoubt = false;
    this.#buckets.add(factsOf(batch, result), batch.number, now);
    this.#buckets.dropWritten(now);
    if (this.#buckets.unwrittenSince !== null && !this.#quiet.isSet) this.#quiet.set(quietMs, this.#wasQuiet);
  }

  failed(batch: StatisticsBatch): void {
    if (batch.writer !== this.#writer) return;
    this.#isInDoubt = true;
    this.#buckets.putBack(batch.rows, batch.unwritten.from, batch.unwritten.since);
  }

  /**
   * Called when the store was replaced and may have lost writes. Starts with a new writer number; upkeep completes the
   * data of the old one.
   */
  restart(): void {
    this.#writer = writerOf(this.#context.random.bytes(writerBytes));
    this.#buckets = emptyBuckets();
  }

  /** Called at shutdown. From now on, every commit writes all buckets, including those that are not due. */
  end(): void {
    this.#isEnding = true;
    this.#quiet.close();
  }

  readonly #wasQuiet = (): void => {
    const since = this.#buckets.unwrittenSince;
    if (since === null) return;
    const waitedMs = this.#context.clock.now() - since;
    // If other commits arrived in the meantime, they included the buckets, so no extra commit is needed.
    const isQuiet = waitedMs < 0 || waitedMs >= quietMs;
    if (isQuiet) this.#touch();
    this.#quiet.set(isQuiet ? quietMs : quietMs - waitedMs, this.#wasQuiet);
  };

  #publishedCount({ event, deliveries, later = [], attempted = [] }: PublishCommand): PublishedCount {
    const { tenantId, createdAt: at, body } = event;
    const eventType = this.#buckets.subjectOf(tenantId, event.eventType, at);
    const counted = { tenantId, eventType, at };
    const all = later.length === 0 ? deliveries : [...deliveries, ...later];
    const skipped = all.filter(({ state }) => state === "skipped").map(({ lane }) => lane.webhookId);
    const settled = attempted.flatMap((one, place) => {
      const webhookId = deliveries[place]?.lane.webhookId ?? "";
      return settlementFact({ tenantId, webhookId, ...one, bytes: body.length, isLate: false }) ?? [];
    });
    return {
      accepted: [...publishFacts({ ...counted, deliveries: all.length, skipped }), ...settled],
      duplicate: duplicateFact(counted),
    };
  }
}

/** Creates the collector of statistics; null if statistics are disabled. */
export function createStatistics(options: EngineOptions, touch: () => void): CommitStatistics | null {
  const { store, countsStatistics } = options;
  if (countsStatistics === false) return null;
  const statistics = new CommitStatistics(options, store.statistics, touch);
  store.watchRestarts?.(() => statistics.restart());
  return statistics;
}

function factOf({ settlement, delivery }: PendingSettlement): Fact | null {
  const { progress, attempt, settledAt, late: isLate = false } = settlement;
  const { tenantId, webhookId, body } = delivery;
  const bytes = body?.length ?? 0;
  return settlementFact({ tenantId, webhookId, progress, attempt, settledAt, bytes, isLate });
}

function emptyBuckets(): OpenBuckets {
  return new OpenBuckets(typesPerTenantMax);
}

/** Maximum event types per tenant and minute; further types are counted together. */
const typesPerTenantMax = 500;
/** How long buckets wait to be included in another commit. */
const quietMs = 2_000;
