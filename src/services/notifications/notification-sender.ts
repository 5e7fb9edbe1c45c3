import { backoffMs } from "../../core/backoff.ts";
import { chatBody, pagerBody } from "../../core/notifications/chat.ts";
import { afterQuietHours } from "../../core/notifications/due.ts";
import { renderMail } from "../../core/notifications/mail.ts";
import type { Wording } from "../../core/notifications/messages.ts";
import type { ChannelStatus } from "../../core/notifications/notification.ts";
import { operatorTenantId } from "../../core/notifications/operational-event.ts";
import { messageOf } from "../../core/thrown.ts";
import type { EngineAccess } from "../../engine/engine-access.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Mailer, MailResult } from "../../ports/mailer.ts";
import type { Random } from "../../ports/random.ts";
import type { SecretBox } from "../../ports/secret-box.ts";
import type {
  NotificationClaim,
  NotificationOutcome,
  NotificationQueue,
  StoredChannel,
  StoredNotification,
} from "../../ports/store/notifications.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { Loop } from "../../ports/timing/loop.ts";
import type { Pager } from "./pager.ts";
import type { UnsubscribeLinks } from "./unsubscribe-links.ts";

export interface NotificationSenderOptions {
  readonly queue: NotificationQueue;
  readonly access: Pick<EngineAccess, "webhook" | "publishSystemEvent" | "leads" | "nextId">;
  /** Null where no mail server is set. */
  readonly mailer: Mailer | null;
  readonly pager: Pager;
  readonly wording: Wording;
  readonly links: UnsubscribeLinks;
  readonly secretBox: SecretBox;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
}

/** What became of messages to one channel. */
interface Sent {
  readonly state: "sent" | "handed_over" | "failed" | "dropped" | "again";
  readonly error: string | null;
  readonly eventId?: string;
}

/**
 * Sends what is due: mail to the mail server, alarms to the pager, the rest as an event to the webhook that carries the channel, which the
 * delivery path signs, retries and shows. One scheduler at a time does so; leases keep a second one off a message that the
 * first is at work on.
 */
export class NotificationSender {
  readonly #options: NotificationSenderOptions;
  readonly #holder: string;
  /** One for each way out, so that a server that hangs holds up its own messages alone. */
  readonly #loops: readonly Loop[];

  constructor(options: NotificationSenderOptions) {
    this.#options = options;
    this.#holder = options.access.nextId();
    const { clock, telemetry } = options;
    this.#loops = ways.map(
      (way) =>
        new Loop({
          clock,
          round: () => this.#round(way),
          pauseMs: () => lookMs,
          failed: (error) =>
            telemetry.log.warn({ err: messageOf(error) }, "messages wait; the next round tries again"),
        }),
    );
  }

  start(): void {
    for (const loop of this.#loops) loop.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#loops.map((loop) => loop.stop()));
    this.#options.mailer?.close();
  }

  /** Everything that is due now. Public for tests. */
  async round(): Promise<void> {
    await Promise.all(ways.map((way) => this.#round(way)));
  }

  async #round(way: Way): Promise<void> {
    const { queue, clock, access } = this.#options;
    const { count, oldestDueAt } = await queue.waiting();
    if (count === 0 || (oldestDueAt ?? 0) > clock.now() || !(await access.leads(leadership))) return;
    const now = clock.now();
    const channels = new Map((await queue.channels()).map((stored) => [stored.channel.id, stored]));
    const lease = { now, leaseUntil: now + leaseMs, holder: this.#holder };
    const claimed = await queue.claim({ ...lease, channels: channelsOf(way, channels), limit: atOnce });
    const road = { isOpen: true };
    for (const [channelId, notifications] of Map.groupBy(claimed, (each) => each.channelId)) {
      if (clock.now() > lease.leaseUntil - sendMsMax || this.#isStopped) return;
      await this.#sendTo(channels.get(channelId), notifications, road);
    }
  }

  get #isStopped(): boolean {
    return this.#loops.some((loop) => loop.isStopped);
  }

  async #sendTo(
    stored: StoredChannel | undefined,
    notifications: readonly StoredNotification[],
    road: { isOpen: boolean },
  ): Promise<void> {
    const gathers = stored?.channel.frequency !== "immediate" && stored?.channel.kind !== "pagerduty";
    const batches = gathers ? [notifications] : notifications.map((one) => [one]);
    for (const batch of batches) {
      const sent = await this.#send(stored, batch, road).catch((error: unknown) => this.#notComposed(error));
      await this.#settle(stored, { batch, sent });
    }
  }

  /** A message that cannot be composed must not hold up the others. Any other error ends the round. */
  #notComposed(error: unknown): Sent {
    if (!(error instanceof ComposeError)) throw error;
    this.#options.telemetry.metrics.alarmed("unexpected_error");
    return { state: "again", error: "the message could not be composed; this is a fault in Posthorn" };
  }

  async #send(
    stored: StoredChannel | undefined,
    batch: readonly StoredNotification[],
    road: { isOpen: boolean },
  ): Promise<Sent> {
    if (stored === undefined || isClosed(stored)) return { state: "dropped", error: null };
    const { channel } = stored;
    const isTest = batch.every(({ topic }) => topic === testTopic);
    if (!isTest && afterQuietHours(channel, this.#options.clock.now()) > this.#options.clock.now())
      return { state: "again", error: null };
    if (channel.kind === "pagerduty") return this.#page(stored, batch);
    if (channel.kind !== "email") return this.#handOver(stored, batch);
    if (!road.isOpen) return { state: "again", error: "the mail server cannot be reached" };
    const result = await this.#mail(stored, batch);
    road.isOpen = result.kind !== "unreachable";
    if (result.kind === "sent") return { state: "sent", error: null };
    return { state: result.kind === "refused" ? "failed" : "again", error: result.error };
  }

  async #mail({ channel }: StoredChannel, batch: readonly StoredNotification[]): Promise<MailResult> {
    const { mailer, wording, links } = this.#options;
    if (mailer === null) return { kind: "unreachable", error: "no mail server is set (POSTHORN_SMTP_URL)" };
    const { address, language } = channel;
    const unsubscribeUrl = links.urlFor(channel.id);
    const contents = batch.map(({ content }) => content);
    const mail = composed(() => renderMail({ contents, address, language, unsubscribeUrl }, wording));
    return mailer.send({
      ...mail,
      ...{
        to: address,
        channelId: channel.id,
        unsubscribeUrl,
        messageId: `<${batch[0]?.id ?? ""}@posthorn.invalid>`,
      },
    });
  }

  async #page({ channel }: StoredChannel, batch: readonly StoredNotification[]): Promise<Sent> {
    const { pager, secretBox } = this.#options;
    const { id, sealedKey } = channel;
    if (sealedKey === null) return { state: "failed", error: "the channel has no integration key" };
    const key = composed(() => secretBox.open({ ciphertext: Buffer.from(sealedKey, "base64"), context: id }));
    for (const notification of batch) {
      const result = await pager.page(composed(() => pagerBody(notification, key)));
      if (result.kind !== "sent")
        return { state: result.kind === "unreachable" ? "again" : "failed", error: result.error };
    }
    return { state: "sent", error: null };
  }

  /** Each as an event of its own, under a key, so that none is made twice. */
  async #handOver({ channel }: StoredChannel, batch: readonly StoredNotification[]): Promise<Sent> {
    const { access } = this.#options;
    const live = access.webhook(channel.webhookId ?? "");
    if (live === undefined)
      return { state: "failed", error: "the webhook of this channel is gone; save it again" };
    if (live.webhook.status !== "active")
      return {
        state: "failed",
        error: `the webhook of this channel is ${live.webhook.status}; save it again`,
      };
    const { kind } = channel;
    if (kind === "email" || kind === "pagerduty") throw new Error(`${kind} has no webhook`);
    let eventId = "";
    for (const notification of batch) {
      const data = composed(() => chatBody(kind, notification));
      const event = {
        ...{ tenantId: operatorTenantId, eventType: carriedType, onlyWebhookId: live.webhook.id, data },
        idempotencyKey: `${carriedType}:${notification.id}`,
        isBare: kind !== "webhook",
        origin: "publish" as const,
      };
      eventId = (await access.publishSystemEvent(event)).eventId;
    }
    return { state: "handed_over", error: null, eventId };
  }

  async #settle(
    stored: StoredChannel | undefined,
    { batch, sent }: { readonly batch: readonly StoredNotification[]; readonly sent: Sent },
  ): Promise<void> {
    const { queue, clock, telemetry } = this.#options;
    const outcomes = batch.map((notification) => this.#outcome(notification, { stored, sent }));
    await queue.settle(outcomes, { holder: this.#holder });
    const channel = stored?.channel.kind ?? "gone";
    for (const { state, error } of outcomes) {
      const outcome = state === "waiting" ? "retried" : state;
      if (state !== "waiting" || error !== null) telemetry.metrics.notified({ channel, outcome });
    }
    if (stored === undefined || sent.state === "dropped" || (sent.state === "again" && sent.error === null))
      return;
    const at = clock.now();
    const status: ChannelStatus =
      sent.error === null
        ? { ...stored.status, lastSentAt: at }
        : { ...stored.status, lastErrorAt: at, lastError: sent.error };
    const isRefused = sent.state === "failed" && stored.channel.kind === "email";
    await queue.saveStatus({
      channelId: stored.channel.id,
      status: isRefused ? { ...status, refusedAt: at } : status,
    });
    if (sent.error !== null)
      telemetry.log.warn(
        { channelId: stored.channel.id, channel, tenantId: stored.channel.tenantId, err: sent.error },
        "a message to people could not be sent",
      );
  }

  #outcome(
    { id, attempts: before, createdAt }: StoredNotification,
    { stored, sent }: { readonly stored: StoredChannel | undefined; readonly sent: Sent },
  ): NotificationOutcome {
    const { clock, random } = this.#options;
    const now = clock.now();
    const attempts = before + (sent.error === null && sent.state === "again" ? 0 : 1);
    const ended = { id, attempts, dueAt: now, at: now, error: sent.error, eventId: sent.eventId ?? null };
    if (sent.state !== "again") return { ...ended, state: sent.state };
    if (now - createdAt > givenUpAfterMs) return { ...ended, state: "failed" };
    const pauseMs = sent.error === null ? 0 : backoffMs(retry, { pauses: before, random: random.uniform() });
    const dueAt = now + Math.round(pauseMs);
    return {
      ...ended,
      state: "waiting",
      dueAt: stored === undefined ? dueAt : afterQuietHours(stored.channel, dueAt),
    };
  }
}

/** Building a message failed: a fault in this program or in what it has stored. */
class ComposeError extends Error {}

function composed<Value>(compose: () => Value): Value {
  try {
    return compose();
  } catch (error) {
    throw new ComposeError("a message could not be composed", { cause: error });
  }
}

/** How messages leave: by the mail server, by the incident service, or as events of the delivery path. */
const ways = ["email", "pagerduty", "event"] as const;
type Way = (typeof ways)[number];

/** Messages to a channel that is gone are nobody's, and go the last way. */
function channelsOf(way: Way, channels: ReadonlyMap<string, StoredChannel>): NotificationClaim["channels"] {
  const isOfKind = ({ channel }: StoredChannel): boolean =>
    way === "event" ? channel.kind === "email" || channel.kind === "pagerduty" : channel.kind === way;
  const ids = [...channels.values()].filter(isOfKind).map(({ channel }) => channel.id);
  return { ids, isRest: way === "event" };
}

function isClosed({ channel, status }: StoredChannel): boolean {
  return !channel.enabled || status.unsubscribedAt !== null || status.refusedAt !== null;
}

/** The type of the events that carry messages to chat channels. */
export const carriedType = "posthorn.notification";
/** Of a message that somebody asked for, to see that it arrives. */
export const testTopic = "test";
const leadership = { name: "notifications", forMs: 60_000 };
const lookMs = 2_000;
const atOnce = 50;
const leaseMs = 180_000;
/** One mail takes no longer. */
const sendMsMax = 60_000;
const retry = { delayMsMin: 60_000, delayMsMax: 3_600_000 };
const givenUpAfterMs = 3 * 86_400_000;
