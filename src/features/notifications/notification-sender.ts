import { backoffMs } from "../../domain/retry-schedule.ts";
import { chatBody, pagerBody } from "./chat.ts";
import { afterQuietHours } from "./due.ts";
import { digestContent, renderMail } from "./mail.ts";
import type { Wording } from "./messages.ts";
import { type ChannelStatus, channelState, isClosed, isUrgent, mailboxOf } from "./notification.ts";
import { carriedType, operatorTenantId } from "./operational-event.ts";
import { messageOf } from "../../domain/thrown.ts";
import type { EngineAccess } from "../../engine/engine-access.ts";
import { type Clock, Loop } from "../../ports/clock.ts";
import type { Mailer, MailResult } from "../../ports/mailer.ts";
import type { Random } from "../../ports/random.ts";
import type { SecretBox } from "../../ports/secret-box.ts";
import type {
  NotificationClaim,
  NotificationCounter,
  NotificationOutcome,
  NotificationQueue,
  StoredChannel,
  StoredNotification,
} from "../../ports/store/notifications.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { AddressLinks } from "./channel-input.ts";
import type { Pager } from "./notification-desk.ts";

export interface NotificationSenderOptions {
  readonly queue: NotificationQueue;
  readonly access: Pick<EngineAccess, "webhook" | "publishSystemEvent" | "leads" | "nextId">;
  /** Null if no mail server is configured. */
  readonly mailer: Mailer | null;
  readonly pager: Pager;
  readonly wording: Wording;
  readonly links: AddressLinks;
  readonly secretBox: SecretBox;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
}

/** The result of sending messages to one channel. */
interface Sent {
  readonly state: "sent" | "handed_over" | "failed" | "dropped" | "again";
  readonly error: string | null;
  readonly eventId?: string;
  /** Time of the next attempt, if known. */
  readonly dueAt?: number;
  /** Whether the next message would fail in the same way. */
  readonly isUnreachable?: boolean;
}

/**
 * Sends due notifications: email to the mail server, alarms to the pager, and all others as events to the webhook of
 * the channel. The normal delivery path signs, retries and shows these events. Only one scheduler sends at a time;
 * leases protect a message that another scheduler is still sending.
 */
export class NotificationSender {
  readonly #options: NotificationSenderOptions;
  readonly #leaseOwner: string;
  /** Each transport has its own loop, so that an unresponsive server delays only its own messages. */
  readonly #loops: readonly Loop[];
  /** The tenant that was served last. */
  readonly #turns = new Map<Way, string>();

  constructor(options: NotificationSenderOptions) {
    this.#options = options;
    this.#leaseOwner = options.access.nextId();
    const { clock, telemetry } = options;
    this.#loops = ways.map(
      (way) =>
        new Loop({
          clock,
          round: () => this.#round(way),
          pauseMs: () => lookMs,
          failed: (error) =>
            telemetry.log.warn(
              { err: messageOf(error) },
              "failed to send notifications; the next round will retry",
            ),
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

  /** Sends everything that is due. Public for tests. */
  async round(): Promise<void> {
    await Promise.all(ways.map((way) => this.#round(way)));
  }

  /** Messages of the operator are sent first. After that, tenants alternate, with one message or digest each. */
  async #round(way: Way): Promise<void> {
    const { queue, clock, access } = this.#options;
    const { count, oldestDueAt } = await queue.waiting();
    if (count === 0 || (oldestDueAt ?? 0) > clock.now() || !(await access.leads(leadership))) return;
    let leadsUntil = clock.now() + leadership.forMs / 3;
    while (!this.#isStopped) {
      if (clock.now() > leadsUntil) {
        if (!(await access.leads(leadership))) return;
        leadsUntil = clock.now() + leadership.forMs / 3;
      }
      const channels = new Map((await queue.channels()).map((stored) => [stored.channel.id, stored]));
      const lease = { now: clock.now(), leaseUntil: clock.now() + leaseMs, leaseOwner: this.#leaseOwner };
      const first = await this.#next(way, { ...lease, channels: channelsOf(way, channels), limit: 1 });
      if (first === undefined) return;
      const stored = channels.get(first.channelId);
      const sent = await this.#take(stored, first, lease);
      if (sent.isUnreachable === true) return;
    }
  }

  async #next(way: Way, claim: Omit<NotificationClaim, "turn">): Promise<StoredNotification | undefined> {
    const { queue } = this.#options;
    const after = this.#turns.get(way) ?? "";
    const turns = ["operator", { after }, { after: "" }] as const;
    for (const turn of turns.slice(0, after === "" ? 2 : 3)) {
      const [first] = await queue.claim({ ...claim, turn });
      if (first === undefined) continue;
      if (first.tenantId !== null) this.#turns.set(way, first.tenantId);
      return first;
    }
    this.#turns.delete(way);
    return undefined;
  }

  get #isStopped(): boolean {
    return this.#loops.some((loop) => loop.isStopped);
  }

  /** Takes a due message. If it belongs to a digest, the other messages of the digest are included. */
  async #take(
    stored: StoredChannel | undefined,
    first: StoredNotification,
    lease: Omit<NotificationClaim, "channels" | "limit" | "turn">,
  ): Promise<Sent> {
    const withRest = async (): Promise<readonly StoredNotification[]> => {
      const channels = { ids: [first.channelId], isRest: false };
      const rest = await this.#options.queue.claim({ ...lease, channels, limit: gatheredMax });
      return [first, ...rest];
    };
    const isAlone = isSingle(first) || stored === undefined || stored.channel.kind === "pagerduty";
    const limitedUntil = await this.#limitedUntil(stored, first);
    if (limitedUntil !== null && stored !== undefined) {
      const batch = isAlone ? [first] : await withRest();
      const status = { ...stored.status, limitedUntil };
      const sent = { state: "again", error: null, dueAt: limitedUntil } as const;
      await this.#settle({ ...stored, status }, batch, sent);
      await this.#options.queue.saveStatus(stored.channel.id, status);
      return sent;
    }
    const wasLimited = stored !== undefined && stored.status.limitedUntil !== null;
    const gathers = wasLimited || stored?.channel.frequency !== "immediate";
    const batch = gathers && !isAlone ? await withRest() : [first];
    const sent = await this.#send(stored, batch, wasLimited).catch((error: unknown) =>
      this.#notComposed(error),
    );
    const isDone = sent.state === "sent" || sent.state === "handed_over";
    const status = stored && { ...stored.status, ...(isDone && { limitedUntil: null }) };
    await this.#settle(stored && status && { ...stored, status }, batch, sent);
    return sent;
  }

  /** When a channel that exceeded its hourly limit accepts the next message; null if it accepts a message now. */
  async #limitedUntil(stored: StoredChannel | undefined, first: StoredNotification): Promise<number | null> {
    const { clock, queue } = this.#options;
    if (stored === undefined || isSingle(first) || isUrgent(first.tenantId, first.topic)) return null;
    if (isClosed(channelState(stored, clock.now()))) return null;
    const limits = limitsOf(stored, clock.now());
    const counts = await queue.counts(limits.map(({ counter }) => counter));
    const isReached = limits.some(({ max }, index) => (counts[index] ?? 0) >= max);
    return isReached ? hourOf(clock.now()) + hourMs : null;
  }

  /**
   * Handles an error during composition. A message that cannot be composed must not block others. Any other error is
   * rethrown and ends the round.
   */
  #notComposed(error: unknown): Sent {
    if (!(error instanceof ComposeError)) throw error;
    this.#options.telemetry.metrics.alarmed("unexpected_error");
    return { state: "again", error: "the message could not be composed; this is a bug in Posthorn" };
  }

  async #send(
    stored: StoredChannel | undefined,
    batch: readonly StoredNotification[],
    wasLimited: boolean,
  ): Promise<Sent> {
    if (stored === undefined) return { state: "dropped", error: null };
    const { channel } = stored;
    const now = this.#options.clock.now();
    const [first] = batch;
    if (first?.topic === confirmationTopic) return this.#confirm(stored, first);
    if (isClosed(channelState(stored, now))) return { state: "dropped", error: null };
    if (first?.topic !== testTopic && afterQuietHours(channel, now) > now)
      return { state: "again", error: null };
    if (channel.kind === "pagerduty") return this.#page(stored, batch);
    if (channel.kind !== "email") return this.#handOver(stored, batch, wasLimited);
    return sentBy(await this.#mail(stored, batch, wasLimited));
  }

  /** Sends the only email that an unconfirmed address receives. */
  async #confirm(stored: StoredChannel, notification: StoredNotification): Promise<Sent> {
    const { mailer, queue, clock, links, wording } = this.#options;
    const { channel, consent } = stored;
    const link = consent === null ? null : links.urlFor(consent.id, "confirm");
    const isWanted =
      channelState(stored, clock.now()) === "unconfirmed" && consent?.confirmationSentAt === null;
    if (consent === null || !isWanted) return { state: "dropped", error: null };
    if (mailer === null) return sentBy(noMailer);
    if (link === null) return { state: "failed", error: "links cannot be opened: set POSTHORN_PUBLIC_URL" };
    const { address, language } = channel;
    const unsubscribeUrl = links.urlFor(consent.id, "unsubscribe");
    const contents = [{ ...notification.content, link }];
    const mail = composed(() =>
      renderMail({ contents, address, language, unsubscribeUrl: null, gathered: null }, wording),
    );
    const messageId = `<${consent.id}@posthorn.invalid>`;
    const result = await mailer.send({
      ...mail,
      to: address,
      channelId: channel.id,
      unsubscribeUrl,
      messageId,
    });
    if (result.kind === "sent") await queue.confirmationSent(consent.id, clock.now());
    return sentBy(result);
  }

  async #mail(
    { channel, consent }: StoredChannel,
    batch: readonly StoredNotification[],
    wasLimited: boolean,
  ): Promise<MailResult> {
    const { mailer, wording, links } = this.#options;
    if (mailer === null) return noMailer;
    const { address, language } = channel;
    const unsubscribeUrl = consent === null ? null : links.urlFor(consent.id, "unsubscribe");
    const contents = batch.map(({ content }) => content);
    const gathered = wasLimited ? "limited.subject" : "digest.subject";
    const mail = composed(() =>
      renderMail({ contents, address, language, unsubscribeUrl, gathered }, wording),
    );
    return mailer.send({
      ...mail,
      to: address,
      channelId: channel.id,
      unsubscribeUrl,
      messageId: `<${batch[0]?.id ?? ""}@posthorn.invalid>`,
    });
  }

  async #page({ channel }: StoredChannel, batch: readonly StoredNotification[]): Promise<Sent> {
    const { pager, secretBox } = this.#options;
    const { id, sealedKey } = channel;
    if (sealedKey === null) return { state: "failed", error: "the channel has no integration key" };
    const key = composed(() => secretBox.open(Buffer.from(sealedKey, "base64"), id));
    for (const notification of batch) {
      const result = await pager.page(composed(() => pagerBody(notification, key)));
      if (result.kind !== "sent")
        return { state: result.kind === "unreachable" ? "again" : "failed", error: result.error };
    }
    return { state: "sent", error: null };
  }

  /** Creates one event with an idempotency key; several messages are combined into one digest. */
  async #handOver(
    { channel }: StoredChannel,
    batch: readonly StoredNotification[],
    wasLimited: boolean,
  ): Promise<Sent> {
    const { access } = this.#options;
    const live = access.webhook(channel.webhookId ?? "");
    if (live === undefined)
      return { state: "failed", error: "the webhook of this channel was deleted; save the channel again" };
    if (live.webhook.status !== "active")
      return {
        state: "failed",
        error: `the webhook of this channel is ${live.webhook.status}; save the channel again`,
      };
    const { kind } = channel;
    if (kind === "email" || kind === "pagerduty") throw new Error(`${kind} has no webhook`);
    const [first] = batch;
    if (first === undefined) throw new Error("a message is missing");
    const contents = batch.map(({ content }) => content);
    const name = wasLimited ? "limited.subject" : "digest.subject";
    const { language } = channel;
    const content =
      batch.length === 1
        ? first.content
        : composed(() => digestContent(contents, language, name, this.#options.wording));
    const { eventId } = await access.publishSystemEvent({
      tenantId: operatorTenantId,
      eventType: carriedType,
      onlyWebhookId: live.webhook.id,
      data: composed(() => chatBody(kind, { ...first, content })),
      idempotencyKey: [
        carriedType,
        first.id,
        ...(batch.length === 1 ? [] : [batch.length, batch.at(-1)?.id]),
      ].join(":"),
      isBare: kind !== "webhook",
      origin: "publish" as const,
    });
    return { state: "handed_over", error: null, eventId };
  }

  async #settle(
    stored: StoredChannel | undefined,
    batch: readonly StoredNotification[],
    sent: Sent,
  ): Promise<void> {
    const { queue, clock, telemetry } = this.#options;
    const outcomes = batch.map((notification) => this.#outcome(notification, stored, sent));
    const isDone = sent.state === "sent" || sent.state === "handed_over";
    const counted =
      isDone && batch[0]?.topic !== confirmationTopic && stored !== undefined
        ? limitsOf(stored, clock.now()).map(({ counter }) => counter)
        : [];
    await queue.settle(outcomes, this.#leaseOwner, counted);
    const channel = stored?.channel.kind ?? "gone";
    for (const { state, error } of outcomes) {
      const outcome = state === "waiting" ? "retried" : state;
      if (state !== "waiting" || error !== null) telemetry.metrics.notified(channel, outcome);
    }
    if (stored === undefined || sent.state === "dropped" || (sent.state === "again" && sent.error === null))
      return;
    const at = clock.now();
    const status: ChannelStatus =
      sent.error === null
        ? { ...stored.status, lastSentAt: at }
        : { ...stored.status, lastErrorAt: at, lastError: sent.error };
    const isRefused = sent.state === "failed" && stored.channel.kind === "email";
    await queue.saveStatus(stored.channel.id, isRefused ? { ...status, refusedAt: at } : status);
    if (sent.error !== null)
      telemetry.log.warn(
        { channelId: stored.channel.id, channel, tenantId: stored.channel.tenantId, err: sent.error },
        "failed to send a notification",
      );
  }

  #outcome(
    { id, attempts: before, createdAt }: StoredNotification,
    stored: StoredChannel | undefined,
    sent: Sent,
  ): NotificationOutcome {
    const { clock, random } = this.#options;
    const now = clock.now();
    const attempts = before + (sent.error === null && sent.state === "again" ? 0 : 1);
    const ended = { id, attempts, dueAt: now, at: now, error: sent.error, eventId: sent.eventId ?? null };
    if (sent.state !== "again") return { ...ended, state: sent.state };
    if (now - createdAt > givenUpAfterMs) return { ...ended, state: "failed" };
    const pauseMs = sent.error === null ? 0 : backoffMs(retry, before, random.uniform());
    const dueAt = sent.dueAt ?? now + Math.round(pauseMs);
    return {
      ...ended,
      state: "waiting",
      dueAt: stored === undefined ? dueAt : afterQuietHours(stored.channel, dueAt),
    };
  }
}

/** Composing a message failed because of a bug or of invalid stored data. */
class ComposeError extends Error {}

function composed<Value>(compose: () => Value): Value {
  try {
    return compose();
  } catch (error) {
    throw new ComposeError("a notification could not be composed", { cause: error });
  }
}

/** Transports of messages: mail server, incident service, or events on the delivery path. */
const ways = ["email", "pagerduty", "event"] as const;
type Way = (typeof ways)[number];

/** Messages to deleted channels are assigned to `event`, the last entry of `ways`. */
function channelsOf(way: Way, channels: ReadonlyMap<string, StoredChannel>): NotificationClaim["channels"] {
  const isOfKind = ({ channel }: StoredChannel): boolean =>
    way === "event" ? channel.kind === "email" || channel.kind === "pagerduty" : channel.kind === way;
  const ids = [...channels.values()].filter(isOfKind).map(({ channel }) => channel.id);
  return { ids, isRest: way === "event" };
}

/** Whether the message is never part of a digest. */
function isSingle({ topic }: StoredNotification): boolean {
  return topic === testTopic || topic === confirmationTopic;
}

function sentBy(result: MailResult): Sent {
  if (result.kind === "sent") return { state: "sent", error: null };
  const { kind, error } = result;
  return { state: kind === "refused" ? "failed" : "again", error, isUnreachable: kind === "unreachable" };
}

interface Limit {
  readonly counter: NotificationCounter;
  readonly max: number;
}

/** Hourly limits: per channel, per mailbox behind it, and for all channels of a tenant. */
function limitsOf({ channel }: StoredChannel, now: number): readonly Limit[] {
  const { id, kind, address, tenantId } = channel;
  const since = hourOf(now);
  const limit = (subject: string, max: number): Limit => ({ counter: { subject, since }, max });
  if (tenantId === null) return [limit(`channel:${id}`, perOperatorChannel)];
  return [
    limit(`channel:${id}`, perChannel),
    limit(`tenant:${tenantId}`, perTenant),
    ...(kind === "email" ? [limit(`mailbox:${mailboxOf(address)}`, perMailbox)] : []),
  ];
}

/** The start of the hour in which messages are counted. */
export function hourOf(at: number): number {
  return at - (at % hourMs);
}

const hourMs = 3_600_000;
const perChannel = 10;
const perMailbox = 20;
const perTenant = 100;
const perOperatorChannel = 60;
const noMailer: MailResult = {
  kind: "unreachable",
  error: "no mail server is configured (POSTHORN_SMTP_URL)",
};

/** Topic of test messages. */
export const testTopic = "test";
/** Topic of the only email that an unconfirmed address receives. */
export const confirmationTopic = "confirmation";
const leadership = { name: "notifications", forMs: 60_000 };
const lookMs = 2_000;
/** Maximum number of messages per digest. */
const gatheredMax = 200;
const leaseMs = 180_000;
const retry = { delayMsMin: 60_000, delayMsMax: 3_600_000 };
const givenUpAfterMs = 3 * 86_400_000;
