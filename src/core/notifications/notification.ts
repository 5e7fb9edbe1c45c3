/**
 * Messages to people: what a channel is, what it may be told, and how a message reads before a channel gives it a form.
 * Times are Unix milliseconds.
 */

/** Mail goes by SMTP; the others are requests to a URL, along the path of every delivery. */
export const channelKinds = ["email", "slack", "teams", "discord", "pagerduty", "webhook"] as const;
export type ChannelKind = (typeof channelKinds)[number];

/**
 * What a channel may be told. `failing` warns of the end, at half of the time and a day before; `first_problem` comes after
 * a quarter of an hour. Who got one of these hears when the webhook works again.
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
export type NotificationFrequency = (typeof notificationFrequencies)[number];

export const notificationLanguages = ["en", "de"] as const;
export type NotificationLanguage = (typeof notificationLanguages)[number];

export type NotificationSeverity = "info" | "warning" | "critical";

/** Minutes of the day in the channel's zone; from 22:00 to 07:00 is 1320 and 420. */
export interface QuietHours {
  readonly from: number;
  readonly until: number;
}

/** Where messages go, and which. */
export interface NotificationChannel {
  readonly id: string;
  /** Whose: a tenant's, or the operator's where it is null. */
  readonly tenantId: string | null;
  readonly kind: ChannelKind;
  readonly name: string;
  /** The address of a mail; of the others the host that they go to. */
  readonly address: string;
  /** The webhook that carries it, for all but mail. */
  readonly webhookId: string | null;
  /** Encrypted: the integration key of the incident service. */
  readonly sealedKey: string | null;
  readonly topics: readonly NotificationTopic[];
  /** Only about these; null is about all, and about what is no webhook's. */
  readonly webhookIds: readonly string[] | null;
  readonly frequency: NotificationFrequency;
  /** An IANA name. */
  readonly timeZone: string;
  readonly quietHours: QuietHours | null;
  readonly language: NotificationLanguage;
  readonly enabled: boolean;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** What became of a channel's last messages. */
export interface ChannelStatus {
  readonly lastSentAt: number | null;
  readonly lastErrorAt: number | null;
  readonly lastError: string | null;
  /** The mail server would not take the address: nothing is sent there until the channel is saved again, or tested. */
  readonly refusedAt: number | null;
  /** Too many messages left in this hour: the others are gathered until then, and go as one. */
  readonly limitedUntil: number | null;
}

/**
 * What the reader of an address decided. It belongs to a tenant and an address, not to a channel, so removing a channel and
 * adding it again changes nothing.
 */
export interface AddressConsent {
  /** Names it in the links of mails. */
  readonly id: string;
  readonly confirmationSentAt: number | null;
  readonly confirmedAt: number | null;
  readonly unsubscribedAt: number | null;
}

export const channelStates = ["on", "off", "refused", "unsubscribed", "unconfirmed", "limited"] as const;
export type ChannelState = (typeof channelStates)[number];

/** What a channel takes now. The operator's own addresses need no confirmation. */
export function channelState(
  {
    channel,
    status,
    consent,
  }: {
    readonly channel: Pick<NotificationChannel, "enabled" | "kind" | "tenantId">;
    readonly status: ChannelStatus;
    readonly consent: AddressConsent | null;
  },
  now: number,
): ChannelState {
  if (!channel.enabled) return "off";
  if (channel.kind === "email") {
    if ((consent?.unsubscribedAt ?? null) !== null) return "unsubscribed";
    if (status.refusedAt !== null) return "refused";
    if (channel.tenantId !== null && (consent?.confirmedAt ?? null) === null) return "unconfirmed";
  }
  return status.limitedUntil !== null && status.limitedUntil > now ? "limited" : "on";
}

/** Nothing is sent to it, and nothing is stored for it. */
export function isClosed(state: ChannelState): boolean {
  return state !== "on" && state !== "limited";
}

/** An alert of the operator goes before everything else, and is never gathered. */
export function isUrgent({
  tenantId,
  topic,
}: {
  readonly tenantId: string | null;
  readonly topic: string;
}): boolean {
  return tenantId === null && topic === "alert";
}

/** One spelling for an address, so that capitals or another form of the host are not another address. */
export function foldedAddress(address: string): string {
  const folded = address.normalize("NFKC").toLowerCase();
  const at = folded.lastIndexOf("@");
  const host = folded.slice(at + 1).replace(/\.$/, "");
  const url = URL.canParse(`http://${host}`) ? new URL(`http://${host}`) : null;
  return `${folded.slice(0, at)}@${url?.hostname ?? host}`;
}

/** The mailbox behind an address: `ada+orders@example.com` is read by ada. */
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

/** A line of a message's table. */
export interface NotificationFact {
  readonly label: string;
  readonly value: string;
}

/** What a message says, in the words of its reader. Nothing in it is trusted to be free of markup. */
export interface NotificationContent {
  readonly subject: string;
  /** Paragraphs, separated by empty lines. */
  readonly text: string;
  readonly facts: readonly NotificationFact[];
  readonly severity: NotificationSeverity;
  /** Where to look; null without a page. */
  readonly link: string | null;
  /** It ends what an earlier message of the same group began. */
  readonly resolves: boolean;
}

/** `handed_over`: it is an event now, which the delivery path retries. `dropped`: its channel is gone or closed. */
export const notificationStates = ["waiting", "sent", "handed_over", "failed", "dropped"] as const;
export type NotificationState = (typeof notificationStates)[number];
