import type { StoredChannel } from "../../ports/store/notifications.ts";
import type { StoredOf } from "../../resources/field.ts";
import type { channelSettings } from "../../resources/notification.ts";

/**
 * Messages to people: channels, their topics, and the content of a message before it is formatted for a channel. Times
 * are Unix milliseconds.
 */

/** Email is sent by SMTP; messages of the other kinds are requests to a URL on the normal delivery path. */
export const channelKinds = ["email", "slack", "teams", "discord", "pagerduty", "webhook"] as const;
export type ChannelKind = (typeof channelKinds)[number];

/**
 * Topics of a channel. `failing` warns halfway to the disabling of a webhook and again one day before; `first_problem`
 * comes after 15 minutes. A recipient of either topic is also notified when the webhook works again.
 */
export const notificationTopics = [
  "first_problem",
  "failing",
  "disabled",
  "circuit",
  "attention",
  "exhausted",
  "secret_rotated",
  "paused",
  "limit_reached",
  "problem",
  "alert",
] as const;
export type NotificationTopic = (typeof notificationTopics)[number];

export const notificationFrequencies = ["immediate", "hourly", "daily"] as const;

export const notificationLanguages = ["en", "de"] as const;
export type NotificationLanguage = (typeof notificationLanguages)[number];

export type NotificationSeverity = "info" | "warning" | "critical";

/** Defines where messages are sent, and which messages. */
export interface NotificationChannel extends StoredOf<typeof channelSettings> {
  readonly id: string;
  /** The owning tenant; null for the operator. */
  readonly tenantId: string | null;
  readonly kind: ChannelKind;
  /** For email, the address; for other kinds, the host to which messages are sent. */
  readonly address: string;
  /** The webhook that delivers the messages, for all kinds except email. */
  readonly webhookId: string | null;
  /** The encrypted integration key of the incident service. */
  readonly sealedKey: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Outcome of the latest messages to a channel. */
export interface ChannelStatus {
  readonly lastSentAt: number | null;
  readonly lastErrorAt: number | null;
  readonly lastError: string | null;
  /** When the mail server refused the address. Nothing is sent until the channel is saved again or tested. */
  readonly refusedAt: number | null;
  /**
   * End of the period in which the hourly limit blocks messages. Until then, further messages are collected for a
   * digest.
   */
  readonly limitedUntil: number | null;
}

/**
 * The decision of an address's recipient. It belongs to a tenant and an address, not to a channel, so removing and
 * re-adding a channel does not change it.
 */
export interface AddressConsent {
  /** Identifies the address in links in emails. */
  readonly id: string;
  readonly confirmationSentAt: number | null;
  readonly confirmedAt: number | null;
  readonly unsubscribedAt: number | null;
}

export const channelStates = ["on", "off", "refused", "unsubscribed", "unconfirmed", "limited"] as const;
export type ChannelState = (typeof channelStates)[number];

/** What a channel can currently receive. The operator's addresses need no confirmation. */
export function channelState({ channel, status, consent }: StoredChannel, now: number): ChannelState {
  if (!channel.enabled) return "off";
  if (channel.kind === "email") {
    if ((consent?.unsubscribedAt ?? null) !== null) return "unsubscribed";
    if (status.refusedAt !== null) return "refused";
    if (channel.tenantId !== null && (consent?.confirmedAt ?? null) === null) return "unconfirmed";
  }
  return status.limitedUntil !== null && status.limitedUntil > now ? "limited" : "on";
}

/** Whether the channel is closed: nothing is sent to it or stored for it. */
export function isClosed(state: ChannelState): boolean {
  return state !== "on" && state !== "limited";
}

/**
 * Whether a message is urgent. The operator's alerts are sent before all other messages and are never collected into a
 * digest.
 */
export function isUrgent(tenantId: string | null, topic: string): boolean {
  return tenantId === null && topic === "alert";
}

/** Normalizes an address, so that upper case or another form of the host does not create a second address. */
export function foldedAddress(address: string): string {
  const folded = address.normalize("NFKC").toLowerCase();
  const at = folded.lastIndexOf("@");
  const host = folded.slice(at + 1).replace(/\.$/, "");
  const url = URL.canParse(`http://${host}`) ? new URL(`http://${host}`) : null;
  return `${folded.slice(0, at)}@${url?.hostname ?? host}`;
}

/** The mailbox of an address: `ada+orders@example.com` belongs to the mailbox of `ada`. */
export function mailboxOf(address: string): string {
  return foldedAddress(address).replace(/(?!^)\+[^@]*@/, "@");
}

export const freshStatus: ChannelStatus = {
  lastSentAt: null,
  lastErrorAt: null,
  lastError: null,
  refusedAt: null,
  limitedUntil: null,
};

/** One row of the table in a message. */
export interface NotificationFact {
  readonly label: string;
  readonly value: string;
}

/** A message in its recipient's language. Any part of it may contain markup. */
export interface NotificationContent {
  readonly subject: string;
  /** Paragraphs, separated by empty lines. */
  readonly text: string;
  readonly facts: readonly NotificationFact[];
  readonly severity: NotificationSeverity;
  /** Link to details; null if no page shows them. */
  readonly link: string | null;
  /** Whether the message resolves a problem that an earlier message of the same group reported. */
  readonly resolves: boolean;
}

/**
 * `handed_over`: the message became an event, which the delivery path retries. `dropped`: its channel was removed or
 * disabled.
 */
export const notificationStates = ["waiting", "sent", "handed_over", "failed", "dropped"] as const;
export type NotificationState = (typeof notificationStates)[number];
