import {
  type AddressConsent,
  type ChannelStatus,
  foldedAddress,
  freshStatus,
  type NotificationChannel,
  type NotificationState,
} from "../features/notifications/notification.ts";
import type { OperationalEvent } from "../features/notifications/operational-event.ts";
import type { Page } from "../ports/store.ts";
import type {
  FailureEpisode,
  NewNotification,
  NotificationQuery,
  SaveChannels,
  StoredChannel,
  StoredNotification,
} from "../ports/store/notifications.ts";

/** The columns of a message, as both stores select them. */
export const notificationColumns =
  "seq, id, key, channel, tenant, state, due_at, attempts, ended_at, error, event, document";

export type NotificationRow = [
  ...[seq: number, id: string, key: string, channel: string, tenant: string | null, state: NotificationState],
  ...[dueAt: number, attempts: number, endedAt: number | null, error: string | null, event: string | null],
  document: string,
];

export type DocumentRow = [document: string];
export type ConsentRow = [
  ...[address: string, id: string],
  ...[confirmationSentAt: number | null, confirmedAt: number | null, unsubscribedAt: number | null],
];
export const consentColumns = "a.address, a.id, a.confirmation_sent_at, a.confirmed_at, a.unsubscribed_at";
export type ChannelRow = [
  ...[document: string, status: string | null, address: string | null, id: string | null],
  ...[confirmationSentAt: number | null, confirmedAt: number | null, unsubscribedAt: number | null],
];

/** The operator is stored as an empty owner. */
export function ownerColumn(owner: string | null): string {
  return owner ?? "";
}

export function toConsent([
  ,
  id,
  confirmationSentAt,
  confirmedAt,
  unsubscribedAt,
]: ConsentRow): AddressConsent {
  return { id, confirmationSentAt, confirmedAt, unsubscribedAt };
}

/** The fields of a message that have no columns. */
export function notificationDocument({ topic, group, content, createdAt }: NewNotification): string {
  return JSON.stringify({ topic, group, content, createdAt });
}

export function toNotification(row: NotificationRow): StoredNotification {
  const [, id, key, channelId, tenantId, state, dueAt, attempts, endedAt, error, eventId, document] = row;
  const kept = JSON.parse(document) as Pick<NewNotification, "topic" | "group" | "content" | "createdAt">;
  return { ...kept, id, key, channelId, tenantId, state, dueAt, attempts, endedAt, error, eventId };
}

/** One row more than the limit shows whether there is an older one. */
export function toNotificationPage(
  rows: readonly NotificationRow[],
  limit: number,
): Page<StoredNotification> {
  const shown = rows.slice(0, limit);
  return {
    rows: shown.map((row) => toNotification(row)),
    next: rows.length > limit ? (shown.at(-1)?.[0] ?? null) : null,
  };
}

/** Parameters of the query: all owners?, tenant, channel, state, position, rows, offset. */
export function notificationParameters({ tenantId, channelId, state, page }: NotificationQuery) {
  const before = page.before ?? Number.MAX_SAFE_INTEGER;
  return [tenantId ?? null, channelId, state, before, page.limit + 1, page.offset] as const;
}

export function toChannel([document, status, address, id, ...dates]: ChannelRow): StoredChannel {
  return {
    // Channels written by earlier versions cover all webhooks.
    channel: { webhookIds: null, ...(JSON.parse(document) as Omit<NotificationChannel, "webhookIds">) },
    status: status === null ? freshStatus : { ...freshStatus, ...(JSON.parse(status) as ChannelStatus) },
    consent: address === null || id === null ? null : toConsent([address, id, ...dates]),
  };
}

/** Columns of an owner's channels, one list each. */
export function channelColumns({ channels }: SaveChannels) {
  return {
    ids: channels.map(({ id }) => id),
    documents: channels.map((channel) => JSON.stringify(channel)),
    addresses: channels.map(({ kind, address }) => (kind === "email" ? foldedAddress(address) : null)),
  };
}

export function toEvent([document]: DocumentRow): OperationalEvent {
  return JSON.parse(document) as OperationalEvent;
}

export function toEpisode([document]: DocumentRow): FailureEpisode {
  return JSON.parse(document) as FailureEpisode;
}

/** In the same order in every transaction, which prevents deadlocks; each key once. */
export function eventsInOrder(events: readonly OperationalEvent[]): readonly OperationalEvent[] {
  const byKey = new Map(events.toReversed().map((event) => [event.key, event]));
  return [...byKey.values()].toSorted((left, right) => (left.key < right.key ? -1 : 1));
}
