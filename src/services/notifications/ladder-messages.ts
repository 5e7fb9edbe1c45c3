import type { FailingWebhook, LadderStep } from "../../core/notifications/ladder.ts";
import { oneLine } from "../../core/notifications/mail.ts";
import { spokenDuration, spokenTime, type Wording } from "../../core/notifications/messages.ts";
import type { MessageName } from "../../core/notifications/messages-en.ts";
import type {
  NotificationContent,
  NotificationFact,
  NotificationLanguage,
} from "../../core/notifications/notification.ts";
import { shownUrl, webhookUrlShown } from "../../core/notifications/operational-event.ts";
import type { LiveWebhook } from "../../engine/endpoint/live-webhook.ts";
import type { HistoryStore } from "../../ports/store/history.ts";

type Content = (language: NotificationLanguage, timeZone: string) => NotificationContent;

export interface LadderMessagesOptions {
  readonly wording: Wording;
  readonly history: Pick<HistoryStore, "attemptStats" | "backlog" | "listDeliveries">;
  /** Builds the URL of a webhook's page; null if the host application has none. */
  readonly linkTo: (webhook: { readonly id: string; readonly tenantId: string }) => string | null;
}

/** Messages about a failing webhook: what fails, since when, the last response, the backlog, and the next step. */
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
    const { waiting, isMore } = await history.backlog(id, waitingCountMax);
    const count = waiting.high + waiting.normal + waiting.low;
    const answer = await this.#lastAnswer(id);
    return (language) => [
      ...(answer === null ? [] : [{ label: wording.say(language, "label.last_answer"), value: answer }]),
      { label: wording.say(language, "label.waiting"), value: isMore ? `> ${count}` : String(count) },
    ];
  }

  async #lastAnswer(webhookId: string): Promise<string | null> {
    const { rows } = await this.#options.history.listDeliveries({
      tenantId: null,
      webhookId,
      eventId: null,
      states: ["failed", "exhausted"],
      from: null,
      to: null,
      page: { limit: 1, before: null, offset: 0 },
    });
    const attempt = rows[0]?.lastAttempt ?? null;
    if (attempt === null) return null;
    const { statusCode, responseSample, errorMessage, category } = attempt;
    const said = responseSample ?? errorMessage ?? category ?? "";
    return `${statusCode ?? ""} ${oneLine(said)}`.trim().slice(0, answerLengthMax);
  }
}

const waitingCountMax = 10_000;
const answerLengthMax = 200;
