import type { Clock } from "../../ports/clock.ts";
import type { MailResult } from "../../ports/mailer.ts";
import type { NewNotification, NotificationQueue, StoredChannel } from "../../ports/store/notifications.ts";
import type { OutboundRequest, Transport } from "../../ports/transport.ts";
import { dueAt } from "./due.ts";
import {
  channelState,
  isClosed,
  type NotificationChannel,
  type NotificationContent,
  type NotificationLanguage,
  type NotificationTopic,
} from "./notification.ts";

export interface PagerOptions {
  /** Enforces the egress rules. */
  readonly transport: Pick<Transport, "send">;
  readonly userAgent: string;
}

/** Endpoint of the Events API, version 2. */
export const pagerUrl = new URL("https://events.pagerduty.com/v2/enqueue");
const timeoutMs = 10_000;

/**
 * Sends messages to the incident service directly rather than as events, because each request body contains the
 * integration key, which would otherwise be stored with every message. The notification queue retries, as for email.
 */
export class Pager {
  readonly #options: PagerOptions;

  constructor(options: PagerOptions) {
    this.#options = options;
  }

  /**
   * Sends a request to the incident service. `failed`: the message will never be accepted, so a retry does not help.
   * `unreachable`: retry later. Never rejects.
   */
  async page(body: object): Promise<MailResult> {
    const { observation, errorMessage } = await this.#options.transport.send(this.#request(body));
    if (observation.kind === "failure")
      return { kind: "unreachable", error: `PagerDuty: ${errorMessage ?? observation.category}` };
    const { status } = observation;
    if (status >= 200 && status <= 299) return { kind: "sent" };
    const isFinal = status >= 400 && status <= 499 && status !== 408 && status !== 429;
    return { kind: isFinal ? "failed" : "unreachable", error: `PagerDuty responded with ${status}` };
  }

  #request(body: object): OutboundRequest {
    return {
      method: "POST",
      origin: pagerUrl.origin,
      path: pagerUrl.pathname,
      headers: ["Content-Type", "application/json", "User-Agent", this.#options.userAgent],
      body: Buffer.from(JSON.stringify(body)),
      timeoutMs,
      http2: false,
      clientCertificate: null,
    };
  }
}

/** A notification before its channels are determined. */
export interface NotificationDraft {
  /** Deduplication key: a channel receives only one message per key. */
  readonly key: string;
  /** Owner of the channels; null for the operator. */
  readonly tenantId: string | null;
  /** Sent to all enabled channels that selected this topic. */
  readonly topic: NotificationTopic;
  /** Sent only to these channels, regardless of their selection. */
  readonly channelIds?: readonly string[];
  /** Groups related messages, for example by webhook id or alert name. */
  readonly group: string;
  /** Lets a channel skip notifications about the webhook that delivers its messages. */
  readonly webhookId?: string | null;
  /** Earliest time to send the message, even if the channel would accept it earlier. */
  readonly notBefore?: number;
  /**
   * The text in the channel's language, with times in its zone. It may contain text from receivers, which is escaped
   * when the message is rendered.
   */
  readonly content: (language: NotificationLanguage, timeZone: string) => NotificationContent;
}

/** One notification for a tenant's channels and one for those of the operator. */
export function draftsFor(
  tenantId: string,
  draft: Omit<NotificationDraft, "tenantId">,
): readonly NotificationDraft[] {
  return [
    { ...draft, tenantId },
    { ...draft, tenantId: null },
  ];
}

/**
 * Entry point for notifications. A message is stored for each channel that accepts it, and a scheduler sends it. If no
 * channel accepts it, nothing is stored.
 */
export class NotificationDesk {
  readonly #queue: NotificationQueue;
  readonly #clock: Clock;
  readonly #nextId: () => string;

  constructor(queue: NotificationQueue, clock: Clock, nextId: () => string) {
    this.#queue = queue;
    this.#clock = clock;
    this.#nextId = nextId;
  }

  /**
   * Resolves once the notifications are stored. Returns one notification per accepting channel, in the order of the
   * drafts.
   */
  async enqueue(drafts: readonly NotificationDraft[]): Promise<readonly NewNotification[]> {
    if (drafts.length === 0) return [];
    const notifications = this.addressed(drafts, await this.#queue.channels());
    if (notifications.length > 0) await this.#queue.enqueue(notifications);
    return notifications;
  }

  /** Returns one notification per accepting channel, for callers that store notifications in their own transaction. */
  addressed(
    drafts: readonly NotificationDraft[],
    channels: readonly StoredChannel[],
  ): readonly NewNotification[] {
    const now = this.#clock.now();
    return drafts.flatMap((draft) =>
      channels
        .filter((stored) => takes(stored, draft, now))
        .map(({ channel }) => this.#notification(draft, channel)),
    );
  }

  #notification(draft: NotificationDraft, channel: NotificationChannel): NewNotification {
    const { key, topic, group, content, notBefore = 0 } = draft;
    const createdAt = this.#clock.now();
    return {
      id: this.#nextId(),
      key,
      topic,
      group,
      createdAt,
      channelId: channel.id,
      tenantId: channel.tenantId,
      content: content(channel.language, channel.timeZone),
      dueAt: dueAt(channel, Math.max(createdAt, notBefore)),
    };
  }
}

function takes(stored: StoredChannel, draft: NotificationDraft, now: number): boolean {
  const { channel } = stored;
  if (channel.tenantId !== draft.tenantId || isClosed(channelState(stored, now))) return false;
  if (channel.webhookId !== null && channel.webhookId === draft.webhookId) return false;
  if (draft.channelIds !== undefined) return draft.channelIds.includes(channel.id);
  if (channel.webhookIds !== null && !channel.webhookIds.includes(draft.webhookId ?? "")) return false;
  return channel.topics.includes(draft.topic);
}
