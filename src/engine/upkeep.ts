import { receivedBodiesMs, receivedMs } from "../core/gateway/request.ts";
import type { StatisticsStep } from "../core/statistics/buckets.ts";
import type { Clock } from "../ports/clock.ts";
import type { AnswerStore, GatewayStore } from "../ports/store/gateway.ts";
import type { NotificationQueue } from "../ports/store/notifications.ts";
import type { StatisticsStore } from "../ports/store/statistics.ts";
import type { ExpiredDelivery, StepResult, UpkeepStore } from "../ports/store/upkeep.ts";
import type { WebhookStore } from "../ports/store/webhooks.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import { Alarm } from "../ports/timing/alarm.ts";
import { Loop } from "../ports/timing/loop.ts";
import type { OperationalEvent } from "../core/notifications/operational-event.ts";
import { expiredEvent } from "./attempt/owner-alerts.ts";
import type { Directory } from "./endpoint/directory.ts";
import type { RetentionOptions } from "./engine-options.ts";
import type { EndpointStates } from "./endpoint/endpoint-states.ts";
import type { WebhookLifecycle } from "./endpoint/webhook-lifecycle.ts";
import type { FanOuts } from "./publish/fan-outs.ts";
import type { Dispatcher } from "./dispatch/dispatcher.ts";
import type { Ownership } from "./endpoint/ownership.ts";
import type { ProblemUpkeep } from "./problem-upkeep.ts";

export interface UpkeepOptions {
  readonly store: UpkeepStore;
  /** Null where no statistics are kept. */
  readonly statistics: Pick<StatisticsStore, "recover" | "rollUp" | "forget"> | null;
  /** Whether statistics count what the store ends by itself. */
  readonly countsEnds: boolean;
  readonly statisticsKeptMs: Readonly<Record<StatisticsStep, number>>;
  /** Null where nothing is kept of problems. */
  readonly problems: ProblemUpkeep | null;
  readonly gateway: Pick<GatewayStore, "forgetRequests"> & { readonly answers: Pick<AnswerStore, "purge"> };
  /** Null where Posthorn tells nothing of itself. */
  readonly notifications: Pick<NotificationQueue, "forget"> | null;
  readonly webhooks: Pick<WebhookStore, "deletedWithWork">;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly directory: Directory;
  readonly retention: RetentionOptions;
  readonly ageMsDefault: number;
  readonly dispatcher: Pick<Dispatcher, "headsChanged" | "dueTimesChanged" | "considerEndpoint">;
  readonly fanOuts: Pick<FanOuts, "run">;
  /** Operational events were stored. */
  readonly told: () => void;
  readonly lifecycle: Pick<WebhookLifecycle, "suspensionElapsed">;
  readonly states: Pick<EndpointStates, "write" | "changed">;
  /** Of several processes one does the work of the store at a time; asked before each step. */
  readonly ownership: Pick<Ownership, "isLeader">;
  /** False in a process that only writes what it knows of its own endpoints. */
  readonly schedules: boolean;
}

/**
 * House-keeping: expiry, cancelling of deleted webhooks, retention. One small step at a time, so that it never stalls
 * delivery: a step takes as many rows as fit into some milliseconds, and a pause of several times as long follows. A full
 * round once a minute when there is nothing to do.
 */
export class Upkeep {
  readonly #options: UpkeepOptions;
  readonly #loop: Loop;
  /** When the last whole round ended, or when this process began to do it; null while another one does. */
  #endedMs: number | null = null;
  #bringingNear: Promise<void> | null = null;
  /** Until lanes have given back what is no longer due. */
  readonly #giveBack: Alarm;

  constructor(options: UpkeepOptions) {
    this.#options = options;
    this.#giveBack = new Alarm(options.clock);
    this.#loop = new Loop({
      clock: options.clock,
      round: () => this.round(),
      pauseMs: () => roundMs,
      failed: (error) =>
        options.telemetry.log.error({ err: String(error) }, "upkeep failed; the next round tries again"),
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
   * What was stored while this clock was ahead may be due too late. Leased deliveries are left alone, so lanes get a moment
   * to give back those that are no longer due.
   */
  clockSetBack(): void {
    const { telemetry } = this.#options;
    this.#giveBack.set(giveBackMs, () => {
      this.#bringNear().catch((error: unknown) =>
        telemetry.log.error({ err: String(error) }, "due times could not be brought near"),
      );
    });
  }

  #bringNear(): Promise<void> {
    this.#bringingNear ??= this.#walkDueTimes().finally(() => (this.#bringingNear = null));
    return this.#bringingNear;
  }

  /** Any process may do it, so nothing depends on whose clock was ahead, or on who leads. */
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
    telemetry.log.warn({ rows }, "a clock was ahead: due times of waiting deliveries were brought near");
    for (const endpoint of directory.all()) dispatcher.dueTimesChanged(endpoint);
  }

  /** One round of everything. Public so that tests and `posthorn` commands can run it at once. */
  async round(): Promise<void> {
    const { store, clock, directory } = this.#options;
    this.#options.states.write();
    const { problems } = this.#options;
    await problems?.reload();
    if (!this.#options.schedules || !(await this.#isLeader())) {
      this.#endedMs = null;
      return;
    }
    const isFirst = this.#endedMs === null;
    this.#endedMs ??= clock.monotonicMs();
    // What a process left that died between two parts.
    await this.#options.fanOuts.run();
    if (isFirst || (await store.hasFutureDeliveries(clock.now()))) await this.#bringNear();
    this.#checkSuspensions();
    const ageMsByWebhook = horizons(directory);
    const { ageMsDefault, countsEnds: isCounted } = this.#options;
    const expired = await this.#repeat("expire", (limit) =>
      store.expire({
        ...{ now: clock.now(), limit, ageMsByWebhook, ageMsDefault, isCounted },
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
    // First, so that no body is removed from an event that goes as a whole.
    await this.#repeat("history", (limit) =>
      store.forgetHistory({ createdBefore: clock.now() - historyMs, now: clock.now(), limit }),
    );
    await this.#repeat("payloads", (limit) =>
      store.forgetPayloads({ createdBefore: clock.now() - payloadMs, limit }),
    );
    await this.#repeat("audit", (limit) =>
      store.forgetAudit({ createdBefore: clock.now() - auditMs, limit }),
    );
    await this.#repeat("keys", (limit) => store.forgetKeys({ now: clock.now(), limit }));
    await this.#forgetReceived();
    await this.#forgetNotifications();
    await this.#keepStatistics();
    await this.#keepProblems();
    this.#endedMs = clock.monotonicMs();
  }

  /** Since the last whole round; null while another process does them. Large where retention does not keep up. */
  get lagMs(): number | null {
    return this.#endedMs === null ? null : this.#options.clock.monotonicMs() - this.#endedMs;
  }

  async #keepProblems(): Promise<void> {
    const { problems, clock } = this.#options;
    if (problems === null) return;
    await this.#repeat("problems resolved", (limit) => problems.resolveQuiet({ now: clock.now(), limit }));
    await this.#repeat("problems", (limit) => problems.forget({ now: clock.now(), limit }));
  }

  #expired(deliveries: readonly ExpiredDelivery[]): readonly OperationalEvent[] {
    const { directory, clock } = this.#options;
    return deliveries.flatMap((delivery) => {
      const webhook = directory.get(delivery.webhookId)?.webhook;
      // A tenant must not hear of another one's delivery.
      if (webhook === undefined || webhook.tenantId !== delivery.tenantId) return [];
      return expiredEvent(webhook, { delivery, now: clock.now() });
    });
  }

  /** What the gateway has of its senders. */
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
    await this.#repeat("kept answers", (limit) => gateway.answers.purge({ now: clock.now(), limit }));
  }

  async #forgetNotifications(): Promise<void> {
    const { notifications, clock } = this.#options;
    if (notifications === null) return;
    await this.#repeat("notifications", (limit) =>
      notifications.forget({ before: clock.now() - notificationsMs, limit }),
    );
  }

  /** What a process left that died, before it is added up; hours and days; and what is too old. */
  async #keepStatistics(): Promise<void> {
    const { statistics, statisticsKeptMs: kept, clock } = this.#options;
    if (statistics === null) return;
    await this.#repeat("statistics left behind", (limit) =>
      statistics.recover({ writtenBefore: clock.now() - silentWriterMs, limit }),
    );
    await this.#repeat("statistics added up", (limit) =>
      statistics.rollUp({ endedBefore: clock.now() - settlingMs, limit }),
    );
    const now = clock.now();
    const before = { minute: now - kept.minute, hour: now - kept.hour, day: now - kept.day };
    await this.#repeat("statistics", (limit) => statistics.forget({ before, limit }));
  }

  /**
   * Right after the webhook was deleted, in whichever process that was. What one step does not take, and what publishers
   * still write that have not heard of it, is cancelled by the rounds.
   */
  async cancelWaiting(webhookId: string): Promise<void> {
    const { store, clock, telemetry, countsEnds: isCounted } = this.#options;
    const limit = stepRowsMax;
    try {
      await store.cancelWebhook({ webhookId, now: clock.now(), limit, isCounted, keepsMark: true });
    } catch (error) {
      telemetry.log.warn({ err: String(error), webhookId }, "what waits is cancelled by the next upkeep");
    }
  }

  /** Returns how many rows changed. */
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
      limit = nextLimit(limit, { tookMs });
      await this.#pause(tookMs);
    }
    if (changed > 0) this.#options.telemetry.log.info({ what, rows: changed }, "upkeep");
    return changed;
  }

  /** Lets deliveries go first. */
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

  /** Deliveries expired in the store: lanes may be waiting for one of them. */
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

/** Grows while steps are quick, at most to twice as much, and shrinks at once when one was slow. */
function nextLimit(limit: number, { tookMs }: { readonly tookMs: number }): number {
  const fitting = Math.floor(limit * Math.min(2, stepMs / Math.max(tookMs, 1)));
  return Math.min(stepRowsMax, Math.max(stepRowsMin, fitting));
}

const auditMsDefault = 400 * 86_400_000;
/** Messages that have ended, and operational events that were published. */
const notificationsMs = 30 * 86_400_000;
const stepRowsFirst = 50;
const stepRowsMin = 10;
const stepRowsMax = 500;
/** A step should take no longer: with SQLite it holds the event loop. */
const stepMs = 8;
const pauseMs = 20;
const pauseMsMax = 1_000;
/** How many times as long as it works it rests. */
const restShare = 4;
/** A process that lives writes its statistics within some seconds. */
const silentWriterMs = 60_000;
/** After the end of an hour or a day, before it is added up: its last minutes are written, or recovered. */
const settlingMs = 5 * 60_000;
/** Lanes give back in much less. */
const giveBackMs = 2_000;
const firstRoundMs = 5_000;
const roundMs = 60_000;
/** Longer than a pause of upkeep, so that it stays with one process while that one lives. */
const leadership = { name: "upkeep", forMs: 90_000 };
