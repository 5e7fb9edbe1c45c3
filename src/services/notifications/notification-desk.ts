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

/** A message to people, before it is known which channels take it. */
export interface NotificationDraft {
  /** Names what it tells. A channel that has a message of this key gets no second one. */
  readonly key: string;
  /** Whose channels; null for the operator's. */
  readonly tenantId: string | null;
  /** To all enabled channels that chose it. */
  readonly topic: NotificationTopic;
  /** To these of them alone, whatever they chose. */
  readonly channelIds?: readonly string[];
  /** What belongs together, such as the id of a webhook or the name of an alert. */
  readonly group: string;
  /** A channel says nothing about the webhook that carries it. */
  readonly webhookId?: string | null;
  /** Not before this time, though the channel would take it. */
  readonly notBefore?: number;
  /** In the language of the channel, with times of its zone. What receivers answered may stand in it: it is escaped when it gets its form. */
  readonly content: (language: NotificationLanguage, timeZone: string) => NotificationContent;
}

export interface NotificationDeskOptions {
  readonly queue: NotificationQueue;
  readonly clock: Clock;
  readonly nextId: () => string;
}

/**
 * Where whoever has something to tell people hands it over. A message is stored for each channel that takes it; a
 * scheduler sends it. Nothing is stored where nobody takes it.
 */
export class NotificationDesk {
  readonly #options: NotificationDeskOptions;

  constructor(options: NotificationDeskOptions) {
    this.#options = options;
  }

  /** Resolves when they are stored; the channels of each in the order of the drafts. */
  async enqueue(drafts: readonly NotificationDraft[]): Promise<readonly NewNotification[]> {
    if (drafts.length === 0) return [];
    const notifications = this.addressed(drafts, await this.#options.queue.channels());
    if (notifications.length > 0) await this.#options.queue.enqueue(notifications);
    return notifications;
  }

  /** One message for each channel that takes it, for callers that store it along with something else. */
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
      ...{ id: nextId(), key, topic, group, createdAt },
      ...{ channelId: channel.id, tenantId: channel.tenantId },
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
