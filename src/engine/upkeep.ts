import type { StatisticsStep } from "../domain/statistics/facts.ts";
import { receivedBodiesMs, receivedMs } from "../features/gateway/relayed.ts";
import type { OperationalEvent } from "../features/notifications/operational-event.ts";
import { opensWithinMs, resolvesAfterMs } from "../features/problems/problem.ts";
import { Alarm, type Clock, Loop } from "../ports/clock.ts";
import type { DeliveryProblemStore } from "../ports/store/delivery-problems.ts";
import type { AnswerStore, GatewayStore } from "../ports/store/gateway.ts";
import type { NotificationQueue } from "../ports/store/notifications.ts";
import type { StatisticsStore } from "../ports/store/statistics.ts";
import type { ExpiredDelivery, StepResult, UpkeepStore } from "../ports/store/upkeep.ts";
import type { WebhookStore } from "../ports/store/webhooks.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import { expiredEvent } from "./attempt/owner-alerts.ts";
import type { ProblemWatch } from "./commit/problem-watch.ts";
import type { Dispatcher } from "./dispatch/dispatcher.ts";
import type { Directory } from "./endpoint/directory.ts";
import type { EndpointStates } from "./endpoint/endpoint-states.ts";
import type { Ownership } from "./endpoint/ownership.ts";
import type { WebhookLifecycle } from "./endpoint/webhook-lifecycle.ts";
import type { RetentionOptions } from "./engine-options.ts";
import type { FanOuts } from "./publish/fan-outs.ts";

/** The upkeep of problems, in small steps. */
export class ProblemUpkeep {
  readonly #store: DeliveryProblemStore;
  readonly #watch: ProblemWatch;

  constructor(store: DeliveryProblemStore, watch: ProblemWatch) {
    this.#store = store;
    this.#watch = watch;
  }

  /** Loads open problems from the store, because another process may have served a webhook earlier and found them. */
  async reload(): Promise<void> {
    await this.#watch.load();
  }

  /** Resolves problems whose webhooks recovered and have not failed again since. */
  async resolveQuiet({ now, limit }: ProblemStep): Promise<StepResult> {
    const { moves, ...step } = await this.#store.resolveQuiet({
      quietSince: now - resolvesAfterMs,
      now,
      limit,
    });
    this.#watch.tell(moves);
    return step;
  }

  forget({ now, limit }: ProblemStep): Promise<StepResult> {
    const before = { noticedBefore: now - opensWithinMs, resolvedBefore: now - resolvedKeptMs };
    return this.#store.forget({ ...before, limit });
  }
}

interface ProblemStep {
  readonly now: number;
  readonly limit: number;
}

const resolvedKeptMs = 30 * 86_400_000;

export interface UpkeepOptions {
  readonly store: UpkeepStore;
  readonly statistics: Pick<StatisticsStore, "recover" | "rollUp" | "forget">;
  /** Whether statistics count deliveries that the store itself ends. */
  readonly countsEnds: boolean;
  readonly statisticsKeptMs: Readonly<Record<StatisticsStep, number>>;
  readonly problems: Pick<ProblemUpkeep, keyof ProblemUpkeep>;
  readonly gateway: Pick<GatewayStore, "forgetRequests"> & { readonly answers: Pick<AnswerStore, "purge"> };
  readonly notifications: Pick<NotificationQueue, "forget">;
  readonly webhooks: Pick<WebhookStore, "deletedWithWork">;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly directory: Directory;
  readonly retention: RetentionOptions;
  readonly ageMsDefault: number;
  readonly dispatcher: Pick<Dispatcher, "headsChanged" | "dueTimesChanged" | "considerEndpoint">;
  readonly fanOuts: Pick<FanOuts, "run">;
  /** Called when operational events were stored. */
  readonly told: () => void;
  readonly lifecycle: Pick<WebhookLifecycle, "suspensionElapsed">;
  readonly states: Pick<EndpointStates, "write" | "changed">;
  /**
   * Whether this process does the store's upkeep. With several processes, one does it at a time; checked before each
   * step.
   */
  readonly ownership: Pick<Ownership, "isLeader">;
  /** False in a process that only writes the state of the endpoints that it owns. */
  readonly schedules: boolean;
}

/**
 * Housekeeping: expiry, cancelling deliveries of deleted webhooks, retention. It works in small steps, so that it never
 * stalls delivery: a step processes as many rows as fit into a few milliseconds, followed by a pause several times as
 * long. If there is nothing to do, a full round runs once a minute.
 */
export class Upkeep {
  readonly #options: UpkeepOptions;
  readonly #loop: Loop;
  /**
   * When the last complete round ended, or when this process started upkeep; null while another process does upkeep.
   */
  #endedMs: number | null = null;
  #bringingNear: Promise<void> | null = null;
  /** Delays the correction of due times until lanes have had time to return deliveries that are no longer due. */
  readonly #giveBack: Alarm;

  constructor(options: UpkeepOptions) {
    this.#options = options;
    this.#giveBack = new Alarm(options.clock);
    this.#loop = new Loop({
      clock: options.clock,
      round: () => this.round(),
      pauseMs: () => roundMs,
      failed: (error) =>
        options.telemetry.log.error({ err: String(error) }, "upkeep failed; the next round will retry"),
    });
  }

  start(): void {
    this.#loop.soon(firstRoundMs);
  }

  async stop(): Promise<void> {
    this.#giveBack.close();
    await Promise.all([this.#loop.stop(), this.#bringingNear]);
  }

  /**
   * Corrects due times after the clock was set back. Deliveries that were stored while this clock was ahead may be due
   * too late. Leased deliveries are skipped, so lanes first get a moment to return those that are no longer due.
   */
  clockSetBack(): void {
    const { telemetry } = this.#options;
    this.#giveBack.set(giveBackMs, () => {
      this.#bringNear().catch((error: unknown) =>
        telemetry.log.error({ err: String(error) }, "correcting due times failed"),
      );
    });
  }

  #bringNear(): Promise<void> {
    this.#bringingNear ??= this.#walkDueTimes().finally(() => (this.#bringingNear = null));
    return this.#bringingNear;
  }

  /**
   * Restarts waits of endpoints and moves due times earlier. Any process may do this, so it does not matter whose clock
   * was ahead or which process leads.
   */
  async #walkDueTimes(): Promise<void> {
    const { store, clock, directory, dispatcher, states, telemetry } = this.#options;
    for (const endpoint of directory.all()) {
      if (!endpoint.clockSetBack(clock.now())) continue;
      states.changed(endpoint);
      dispatcher.considerEndpoint(endpoint);
    }
    let rows = 0;
    for (let after: string | null = null; !this.#loop.isStopped; ) {
      const startedMs = clock.monotonicMs();
      const step = await store.bringNear({ now: clock.now(), after, limit: stepRowsMax });
      rows += step.changed;
      after = step.next;
      if (after === null) break;
      await this.#pause(clock.monotonicMs() - startedMs);
    }
    if (rows === 0) return;
    telemetry.log.warn({ rows }, "a clock was ahead; due times of waiting deliveries were corrected");
    for (const endpoint of directory.all()) dispatcher.dueTimesChanged(endpoint);
  }

  /** Runs one full round. Public so that tests and `posthorn` commands can run it immediately. */
  async round(): Promise<void> {
    const { store, clock, directory } = this.#options;
    this.#options.states.write();
    await this.#options.problems.reload();
    if (!this.#options.schedules || !(await this.#isLeader())) {
      this.#endedMs = null;
      return;
    }
    const isFirst = this.#endedMs === null;
    this.#endedMs ??= clock.monotonicMs();
    // Resumes fan-outs that a crashed process left unfinished.
    await this.#options.fanOuts.run();
    if (isFirst || (await store.hasFutureDeliveries(clock.now()))) await this.#bringNear();
    this.#checkSuspensions();
    const ageMsByWebhook = horizons(directory);
    const { ageMsDefault, countsEnds: isCounted } = this.#options;
    const expired = await this.#repeat("expire", (limit) =>
      store.expire({
        now: clock.now(),
        limit,
        ageMsByWebhook,
        ageMsDefault,
        isCounted,
        tell: (rows) => this.#expired(rows),
      }),
    );
    if (expired > 0) {
      this.#headsChanged();
      this.#options.told();
    }
    for (const webhookId of await this.#options.webhooks.deletedWithWork()) {
      await this.#repeat("cancel", (limit) =>
        store.cancelWebhook({ webhookId, now: clock.now(), limit, isCounted }),
      );
    }
    const { payloadMs, historyMs, auditMs = auditMsDefault } = this.#options.retention;
    // History first. Otherwise the body of an event might be removed just before the whole event is deleted.
    await this.#repeat("history", (limit) =>
      store.forgetHistory({ createdBefore: clock.now() - historyMs, now: clock.now(), limit }),
    );
    await this.#repeat("payloads", (limit) => store.forgetPayloads(clock.now() - payloadMs, limit));
    await this.#repeat("audit", (limit) => store.forgetAudit(clock.now() - auditMs, limit));
    await this.#repeat("keys", (limit) => store.forgetKeys(clock.now(), limit));
    await this.#forgetReceived();
    await this.#forgetNotifications();
    await this.#keepStatistics();
    await this.#keepProblems();
    this.#endedMs = clock.monotonicMs();
  }

  /**
   * Time since the last complete round; null while another process does the rounds. Large if retention cannot keep up.
   */
  get lagMs(): number | null {
    return this.#endedMs === null ? null : this.#options.clock.monotonicMs() - this.#endedMs;
  }

  async #keepProblems(): Promise<void> {
    const { problems, clock } = this.#options;
    await this.#repeat("problems resolved", (limit) => problems.resolveQuiet({ now: clock.now(), limit }));
    await this.#repeat("problems", (limit) => problems.forget({ now: clock.now(), limit }));
  }

  #expired(deliveries: readonly ExpiredDelivery[]): readonly OperationalEvent[] {
    const { directory, clock } = this.#options;
    return deliveries.flatMap((delivery) => {
      const webhook = directory.get(delivery.webhookId)?.webhook;
      // A tenant must not be notified of another tenant's delivery.
      if (webhook === undefined || webhook.tenantId !== delivery.tenantId) return [];
      return expiredEvent(webhook, delivery, clock.now());
    });
  }

  /** Removes old gateway requests and expired responses. */
  async #forgetReceived(): Promise<void> {
    const { gateway, clock } = this.#options;
    await this.#repeat("received requests", (limit) => {
      const now = clock.now();
      return gateway.forgetRequests({
        before: now - receivedMs,
        bodiesBefore: now - receivedBodiesMs,
        limit,
      });
    });
    await this.#repeat("stored responses", (limit) => gateway.answers.purge(clock.now(), limit));
  }

  async #forgetNotifications(): Promise<void> {
    const { notifications, clock } = this.#options;
    await this.#repeat("notifications", (limit) =>
      notifications.forget(clock.now() - notificationsMs, limit),
    );
  }

  /** Recovers the journals of dead processes before rolling up hours and days, then removes old buckets. */
  async #keepStatistics(): Promise<void> {
    const { statistics, statisticsKeptMs: kept, clock } = this.#options;
    await this.#repeat("leftover statistics", () => statistics.recover(clock.now() - silentWriterMs));
    await this.#repeat("aggregated statistics", (limit) =>
      statistics.rollUp(clock.now() - settlingMs, limit),
    );
    const now = clock.now();
    const before = { minute: now - kept.minute, hour: now - kept.hour, day: now - kept.day };
    await this.#repeat("statistics", (limit) => statistics.forget({ before, limit }));
  }

  /**
   * Cancels waiting deliveries of a webhook that this process has just deleted. Upkeep rounds cancel the rest,
   * including deliveries from publishers that have not seen the deletion yet.
   */
  async cancelWaiting(webhookId: string): Promise<void> {
    const { store, clock, telemetry, countsEnds: isCounted } = this.#options;
    const limit = stepRowsMax;
    try {
      await store.cancelWebhook({ webhookId, now: clock.now(), limit, isCounted, keepsMark: true });
    } catch (error) {
      telemetry.log.warn(
        { err: String(error), webhookId },
        "cancelling waiting deliveries failed; the next upkeep will retry",
      );
    }
  }

  /** Repeats a step until it finds no more rows. Returns the number of changed rows. */
  async #repeat(what: string, step: (limit: number) => Promise<StepResult>): Promise<number> {
    const { clock } = this.#options;
    let changed = 0;
    let limit = stepRowsFirst;
    while (!this.#loop.isStopped && (await this.#isLeader())) {
      const startedAt = clock.monotonicMs();
      const result = await step(limit);
      const tookMs = clock.monotonicMs() - startedAt;
      changed += result.changed;
      if (!result.more) break;
      limit = nextLimit(limit, tookMs);
      await this.#pause(tookMs);
    }
    if (changed > 0) this.#options.telemetry.log.info({ what, rows: changed }, "upkeep");
    return changed;
  }

  /** Pauses, to give deliveries priority. */
  #pause(tookMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.#options.clock.schedule(Math.min(pauseMsMax, Math.max(pauseMs, restShare * tookMs)), resolve);
    });
  }

  #checkSuspensions(): void {
    const now = this.#options.clock.now();
    for (const endpoint of this.#options.directory.all()) {
      const { status, statusChangedAt } = endpoint.webhook;
      if (status !== "suspended") continue;
      if (now - statusChangedAt >= endpoint.policy.disable.suspendedToDisabledMs)
        this.#options.lifecycle.suspensionElapsed(endpoint);
    }
  }

  /**
   * Makes ordered lanes check for a new head. Deliveries expired in the store, and lanes may be waiting for one of
   * them.
   */
  #headsChanged(): void {
    for (const endpoint of this.#options.directory.all()) this.#options.dispatcher.headsChanged(endpoint);
  }

  #isLeader(): Promise<boolean> {
    return this.#options.ownership.isLeader(leadership);
  }
}

function horizons(directory: Directory): ReadonlyMap<string, number> {
  const ages = new Map<string, number>();
  for (const endpoint of directory.all()) ages.set(endpoint.webhook.id, endpoint.policy.ageMsMax);
  return ages;
}

/**
 * The number of rows for the next step. It grows up to twofold after a fast step, and shrinks immediately after a slow
 * one.
 */
function nextLimit(limit: number, tookMs: number): number {
  const fitting = Math.floor(limit * Math.min(2, stepMs / Math.max(tookMs, 1)));
  return Math.min(stepRowsMax, Math.max(stepRowsMin, fitting));
}

const auditMsDefault = 400 * 86_400_000;
/** How long finished messages and published operational events are kept. */
const notificationsMs = 30 * 86_400_000;
const stepRowsFirst = 50;
const stepRowsMin = 10;
const stepRowsMax = 500;
/** Maximum duration of a step, because SQLite blocks the event loop. */
const stepMs = 8;
const pauseMs = 20;
const pauseMsMax = 1_000;
/** The pause after a step is this many times as long as the step. */
const restShare = 4;
/** Age after which a writer counts as dead. A live process writes its statistics within a few seconds. */
const silentWriterMs = 60_000;
/** Delay between the end of an hour or a day and its rollup, in which its last minutes are written or recovered. */
const settlingMs = 5 * 60_000;
/** How long lanes get to return deliveries. Much longer than they need. */
const giveBackMs = 2_000;
const firstRoundMs = 5_000;
const roundMs = 60_000;
/** Longer than a pause of upkeep, so the same process remains the leader for as long as it runs. */
const leadership = { name: "upkeep", forMs: 90_000 };
