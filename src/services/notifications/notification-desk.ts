import { dueAt } from "../../core/notifications/due.ts";
import {
  channelState,
  isClosed,
  type NotificationChannel,
  type NotificationContent,
  type NotificationLanguage,
  type NotificationTopic,
} from "../../core/notifications/notification.ts";
import type { Clock } from "../../ports/clock.ts";
import type { NewNotification, NotificationQueue, StoredChannel } from "../../ports/store/notifications.ts";

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
  /** Groups related messages, by webhook id or alert name for example. */
  readonly group: string;
  /** Lets a channel skip notifications about the webhook that carries it. */
  readonly webhookId?: string | null;
  /** Earliest time to send it, even if the channel would accept it earlier. */
  readonly notBefore?: number;
  /**
   * In the channel's language, with times in its zone. It may contain text from receivers, which is escaped when the
   * message is rendered.
   */
  readonly content: (language: NotificationLanguage, timeZone: string) => NotificationContent;
}

export interface NotificationDeskOptions {
  readonly queue: NotificationQueue;
  readonly clock: Clock;
  readonly nextId: () => string;
}

/**
 * Entry point for notifications. A message is stored for each channel that accepts it, and a scheduler sends it.
 * Nothing is stored without such a channel.
 */
export class NotificationDesk {
  readonly #options: NotificationDeskOptions;

  constructor(options: NotificationDeskOptions) {
    this.#options = options;
  }

  /** Resolves once they are stored; the channels of each draft, in the order of the drafts. */
  async enqueue(drafts: readonly NotificationDraft[]): Promise<readonly NewNotification[]> {
    if (drafts.length === 0) return [];
    const notifications = this.addressed(drafts, await this.#options.queue.channels());
    if (notifications.length > 0) await this.#options.queue.enqueue(notifications);
    return notifications;
  }

  /** One message per accepting channel, for callers that store it in their own transaction. */
  addressed(
    drafts: readonly NotificationDraft[],
    channels: readonly StoredChannel[],
  ): readonly NewNotification[] {
    const now = this.#options.clock.now();
    return drafts.flatMap((draft) =>
      channels
        .filter((stored) => takes(stored, draft, now))
        .map(({ channel }) => this.#notification(draft, channel)),
    );
  }

  #notification(draft: NotificationDraft, channel: NotificationChannel): NewNotification {
    const { clock, nextId } = this.#options;
    const { key, topic, group, content, notBefore = 0 } = draft;
    const createdAt = clock.now();
    return {
      id: nextId(),
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
