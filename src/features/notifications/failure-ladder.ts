import { type EndpointHealth, healthFromJson } from "../../domain/endpoint-health.ts";
import { tryParseJson } from "../../domain/json/json-text.ts";
import { messageOf } from "../../domain/thrown.ts";
import type { Webhook } from "../../domain/webhook.ts";
import type { LiveWebhook } from "../../engine/endpoint/endpoint-config.ts";
import type { EngineAccess } from "../../engine/engine-access.ts";
import { type Clock, Loop, unlimitedBudget } from "../../ports/clock.ts";
import type { HistoryStore } from "../../ports/store/history.ts";
import type { FailureEpisode, NotificationQueue } from "../../ports/store/notifications.ts";
import { everyDelivery } from "../../ports/store/search.ts";
import type { WebhookStore } from "../../ports/store/webhooks.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { disablementAt, dueSteps, failingEventAt, type FailingWebhook, type LadderStep } from "./due.ts";
import { oneLine } from "./mail.ts";
import { type MessageName, spokenDuration, spokenTime, type Wording } from "./messages.ts";
import { draftsFor, type NotificationDesk, type NotificationDraft } from "./notification-desk.ts";
import type { NotificationContent, NotificationFact, NotificationLanguage } from "./notification.ts";
import {
  instant,
  type OperationalEvent,
  shownUrl,
  webhookEvent,
  webhookUrlShown,
} from "./operational-event.ts";

type Content = (language: NotificationLanguage, timeZone: string) => NotificationContent;

interface LadderMessagesOptions {
  readonly wording: Wording;
  readonly history: Pick<HistoryStore, "attemptStats" | "backlog" | "searchDeliveries">;
  /** Builds the URL of a webhook's page; null if the host application has no such page. */
  readonly linkTo: (webhook: Pick<Webhook, "id" | "tenantId">) => string | null;
}

/**
 * Messages about a failing webhook: what fails, when the failures started, the last response, the backlog, and the next
 * step.
 */
export class LadderMessages {
  readonly #options: LadderMessagesOptions;

  constructor(options: LadderMessagesOptions) {
    this.#options = options;
  }

  async failing(live: LiveWebhook, step: LadderStep, failing: FailingWebhook): Promise<Content> {
    const facts = await this.#facts(live);
    const { failingSince, disabledAt } = failing;
    const isOpenEnded = disabledAt === null && step === "half_time";
    const name = isOpenEnded ? "still_failing" : step;
    return (language, timeZone) => {
      const time = (at: number | null) => (at === null ? "-" : spokenTime(at, language, timeZone));
      const values = {
        url: shownUrl(webhookUrlShown(live.webhook)),
        tenant: live.webhook.tenantId,
        since: time(failingSince),
        disabled_at: time(disabledAt),
      };
      const say = (message: MessageName) => this.#options.wording.say(language, message, values);
      const next =
        disabledAt === null || step === "disabled"
          ? []
          : [{ label: say("label.next"), value: values.disabled_at }];
      return {
        subject: say(`${name}.subject`),
        text: say(`${name}.text`),
        facts: [...this.#about(live, language, values.since), ...facts(language), ...next],
        severity: step === "disabled" ? "critical" : "warning",
        link: this.#options.linkTo(live.webhook),
        resolves: false,
      };
    };
  }

  async recovered(live: LiveWebhook, since: number, at: number): Promise<Content> {
    const { id, tenantId } = live.webhook;
    const { requests, accepted } = await this.#attempts(id, since);
    return (language, timeZone) => {
      const values = {
        url: shownUrl(webhookUrlShown(live.webhook)),
        tenant: tenantId,
        since: spokenTime(since, language, timeZone),
        duration: spokenDuration(at - since),
        failed: requests - accepted,
      };
      const say = (message: MessageName) => this.#options.wording.say(language, message, values);
      return {
        subject: say("recovered.subject"),
        text: say("recovered.text"),
        facts: this.#about(live, language, values.since),
        severity: "info",
        link: this.#options.linkTo(live.webhook),
        resolves: true,
      };
    };
  }

  #about(
    { webhook }: LiveWebhook,
    language: NotificationLanguage,
    since: string,
  ): readonly NotificationFact[] {
    const { wording } = this.#options;
    return [
      {
        label: wording.say(language, "label.webhook"),
        value: `${shownUrl(webhookUrlShown(webhook))} (${webhook.id})`,
      },
      { label: wording.say(language, "label.tenant"), value: webhook.tenantId },
      { label: wording.say(language, "label.since"), value: since },
    ];
  }

  async #attempts(webhookId: string, since: number) {
    const stats = await this.#options.history.attemptStats(webhookId, since);
    return { requests: stats.total, accepted: stats.accepted };
  }

  /** The last response, masked and truncated as elsewhere, and the backlog. */
  async #facts(live: LiveWebhook): Promise<(language: NotificationLanguage) => readonly NotificationFact[]> {
    const { history, wording } = this.#options;
    const { id } = live.webhook;
    const { waiting, isMore } = await history.backlog(id, waitingMax);
    const count = waiting.high + waiting.normal + waiting.low;
    const answer = await this.#lastAnswer(id);
    return (language) => [
      ...(answer === null ? [] : [{ label: wording.say(language, "label.last_answer"), value: answer }]),
      { label: wording.say(language, "label.waiting"), value: isMore ? `> ${count}` : String(count) },
    ];
  }

  async #lastAnswer(webhookId: string): Promise<string | null> {
    const { rows } = await this.#options.history.searchDeliveries({
      filter: { ...everyDelivery, webhookIds: [webhookId], states: ["failed", "exhausted"] },
      order: "newest",
      after: null,
      limit: 1,
      budget: unlimitedBudget,
    });
    const attempt = rows[0]?.lastAttempt ?? null;
    if (attempt === null) return null;
    const { statusCode, responseSample, errorMessage, category } = attempt;
    const said = responseSample ?? errorMessage ?? category ?? "";
    return `${statusCode ?? ""} ${oneLine(said)}`.trim().slice(0, answerLengthMax);
  }
}

const answerLengthMax = 200;

interface FailureLadderOptions {
  readonly queue: NotificationQueue;
  readonly webhooks: Pick<WebhookStore, "some">;
  readonly history: Pick<HistoryStore, "backlog">;
  readonly access: Pick<EngineAccess, "webhook" | "relay" | "leads">;
  readonly desk: NotificationDesk;
  readonly messages: LadderMessages;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
}

/**
 * Notifies owners of failing webhooks in steps, and of their recovery. One scheduler at a time checks the failing
 * endpoints in the store. Sent steps are stored together with the messages, so that no step is repeated. Channels that
 * were notified of a failure are also notified when it ends.
 */
export class FailureLadder {
  readonly #options: FailureLadderOptions;
  readonly #loop: Loop;

  constructor(options: FailureLadderOptions) {
    this.#options = options;
    const { clock, telemetry } = options;
    this.#loop = new Loop({
      clock,
      round: () => this.round(),
      pauseMs: () => lookMs,
      failed: (error) =>
        telemetry.log.warn(
          { err: messageOf(error) },
          "failed to check failing webhooks; the next round will retry",
        ),
    });
  }

  start(): void {
    this.#loop.soon(firstLookMs);
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** Checks all failing webhooks once. Public, so that tests can call it. */
  async round(): Promise<void> {
    const { queue, access } = this.#options;
    if (!(await access.leads(leadership))) return;
    const episodes = new Map((await queue.episodes()).map((episode) => [episode.webhookId, episode]));
    const failing = new Set<string>();
    for (let after: string | null = null; !this.#loop.isStopped; ) {
      const rows = await queue.failing(after, pageRows);
      for (const { webhookId, health } of rows) {
        if (await this.#climb(webhookId, health, episodes.get(webhookId) ?? null)) failing.add(webhookId);
      }
      after = rows.at(-1)?.webhookId ?? null;
      if (rows.length < pageRows) break;
    }
    const quiet = [...episodes.values()].filter(({ webhookId }) => !failing.has(webhookId));
    for (let from = 0; from < quiet.length; from += pageRows)
      await this.#lookAtQuiet(quiet.slice(from, from + pageRows));
  }

  /** Returns false if the webhook is no longer failing. */
  async #climb(webhookId: string, storedHealth: string, episode: FailureEpisode | null): Promise<boolean> {
    const live = this.#options.access.webhook(webhookId);
    const health = healthFromJson(tryParseJson(storedHealth));
    if (live === undefined || health === null || health.failingSince === null) return false;
    const since = health.failingSince;
    // A failure after the webhook was enabled again is a new failure, but the same channels are notified when it ends.
    const before = episode?.since === since ? episode.told : [];
    const { status, statusReason } = live.webhook;
    if (status === "unverified" || (status === "disabled" && statusReason === "owner")) return true;
    const failing: FailingWebhook = {
      failingSince: since,
      disabledAt: disablementAt(live.webhook, health, live.policy),
      isStopped: status === "disabled",
    };
    const now = this.#options.clock.now();
    const due: readonly string[] = [
      ...dueSteps(failing, now),
      ...(failingEventAt(failing) <= now ? [failingEvent] : []),
    ];
    const steps = due.filter((step) => !before.includes(step));
    if (steps.length > 0)
      await this.#tell(live, { episode, since, failing, told: [...before, ...steps], steps });
    return true;
  }

  /**
   * Sends the due steps. If several are due together, for example after an outage of all schedulers, only the last one
   * is sent.
   */
  async #tell(live: LiveWebhook, climbed: Climbed): Promise<void> {
    const { queue, access, desk } = this.#options;
    const { id: webhookId, tenantId } = live.webhook;
    const { since, failing, steps, told, episode } = climbed;
    const last = steps.findLast((step): step is LadderStep => step !== failingEvent);
    const channels = await queue.channels();
    const drafts = last === undefined ? [] : await this.#drafts(live, last, failing);
    const notifications = desk.addressed(drafts, channels);
    const events = steps.includes(failingEvent) ? [await this.#failingEvent(live, failing)] : [];
    const channelIds = [...(episode?.channelIds ?? []), ...notifications.map(({ channelId }) => channelId)];
    await queue.saveEpisode({
      webhookId,
      episode: { webhookId, tenantId, since, told, channelIds: [...new Set(channelIds)] },
      events,
      notifications,
    });
    if (events.length > 0) access.relay.stored();
  }

  async #drafts(
    live: LiveWebhook,
    step: LadderStep,
    failing: FailingWebhook,
  ): Promise<readonly NotificationDraft[]> {
    const { messages } = this.#options;
    const { id, tenantId } = live.webhook;
    const content = await messages.failing(live, step, failing);
    const topic = step === "first_problem" || step === "disabled" ? step : "failing";
    return draftsFor(tenantId, {
      key: `${step}:${id}:${failing.failingSince}`,
      topic,
      webhookId: id,
      content,
      group: `failing:${id}`,
    });
  }

  async #failingEvent(live: LiveWebhook, failing: FailingWebhook): Promise<OperationalEvent> {
    const { failingSince, disabledAt } = failing;
    const data = {
      failing_since: instant(failingSince),
      disabled_at: disabledAt === null ? null : instant(disabledAt),
      waiting: await this.#waiting(live),
    };
    const at = this.#options.clock.now();
    return webhookEvent(live.webhook, { type: "posthorn.webhook.failing", of: failingSince, at, data });
  }

  async #lookAtQuiet(episodes: readonly FailureEpisode[]): Promise<void> {
    const { queue, webhooks, access } = this.#options;
    const stored = await webhooks.some(episodes.map(({ webhookId }) => webhookId));
    const healths = new Map(
      stored.map(({ webhook, runtime }) => [
        webhook.id,
        healthFromJson(tryParseJson(runtime?.health ?? "null")),
      ]),
    );
    for (const episode of episodes) {
      const { webhookId } = episode;
      const live = access.webhook(webhookId);
      if (live === undefined || !healths.has(webhookId))
        await queue.saveEpisode({ webhookId, episode: null, events: [], notifications: [] });
      else await this.#recovered(live, episode, healths.get(webhookId) ?? null);
    }
  }

  /**
   * Announces a recovery. Waits for an accepted delivery, because enabling the webhook does not prove that it works.
   */
  async #recovered(live: LiveWebhook, episode: FailureEpisode, health: EndpointHealth | null): Promise<void> {
    const { queue, desk, access, messages } = this.#options;
    const { webhookId, since, channelIds, told } = episode;
    const at = health?.lastAcceptedAt ?? null;
    if (health === null || health.failingSince !== null || at === null || at < since) return;
    const content = await messages.recovered(live, since, at);
    const drafts = draftsFor(episode.tenantId, {
      key: `recovered:${webhookId}:${since}`,
      topic: "failing",
      webhookId,
      content,
      channelIds,
      group: `failing:${webhookId}`,
    });
    const notifications = desk.addressed(drafts, await queue.channels());
    const data = {
      failing_since: instant(since),
      failed_for_ms: at - since,
      waiting: await this.#waiting(live),
    };
    const event = webhookEvent(live.webhook, { type: "posthorn.webhook.recovered", of: since, at, data });
    const events = told.includes(failingEvent) ? [event] : [];
    await queue.saveEpisode({ webhookId, episode: null, events, notifications });
    if (events.length > 0) access.relay.stored();
  }

  async #waiting({ webhook }: LiveWebhook): Promise<number> {
    const { waiting } = await this.#options.history.backlog(webhook.id, waitingMax);
    return waiting.high + waiting.normal + waiting.low;
  }
}

interface Climbed {
  readonly episode: FailureEpisode | null;
  readonly since: number;
  readonly failing: FailingWebhook;
  /** All steps sent for this failure, including the new ones. */
  readonly told: readonly string[];
  readonly steps: readonly string[];
}

/** The operational event, which is published in addition to the steps for people. */
const failingEvent = "event";
const pageRows = 500;
const waitingMax = 10_000;
const lookMs = 30_000;
const firstLookMs = 10_000;
const leadership = { name: "failure-ladder", forMs: 120_000 };
