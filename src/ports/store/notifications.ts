import type {
  AddressConsent,
  ChannelStatus,
  NotificationChannel,
  NotificationContent,
  NotificationState,
} from "../../features/notifications/notification.ts";
import type { OperationalEvent } from "../../features/notifications/operational-event.ts";
import type { Page, PageRequest } from "../store.ts";
import type { AuditEntry } from "./audit.ts";
import type { StepResult } from "./upkeep.ts";

/**
 * Notifications that have not been sent yet. Operational events are stored in the transaction of their cause and kept
 * until they are published. Messages to people are stored with that publication and kept until a channel has accepted
 * them.
 */
export interface NotificationQueue {
  /** Events whose key is already stored are skipped. `WebhookStore.save` and a commit also append events. */
  appendEvents(events: readonly OperationalEvent[]): Promise<void>;
  /** Events that have not been relayed, oldest first. */
  pendingEvents(limit: number): Promise<readonly OperationalEvent[]>;
  /** Marks events as relayed and queues the messages about them in the same transaction. */
  relayed(step: RelayedEvents): Promise<void>;

  channels(): Promise<readonly StoredChannel[]>;
  /**
   * Replaces all channels of an owner, in this order, together with the audit row. Existing channels keep their status.
   */
  saveChannels(command: SaveChannels, audit?: AuditEntry): Promise<void>;
  saveStatus(channelId: string, status: ChannelStatus): Promise<void>;

  /** A message is skipped if the store still contains a message with the same key and channel. */
  enqueue(notifications: readonly NewNotification[]): Promise<void>;
  /**
   * The recipients' consent for these email addresses of an owner. Addresses have the form that `foldedAddress`
   * returns.
   */
  consents(owner: AddressOwner, addresses: readonly string[]): Promise<ReadonlyMap<string, AddressConsent>>;
  /** The email address that a link refers to; null for an unknown ID. */
  address(id: string): Promise<StoredAddress | null>;
  /** Adds email addresses. Existing addresses are not changed. */
  rememberAddresses(owner: AddressOwner, addresses: readonly NewAddress[]): Promise<void>;
  /** Number of unconfirmed email addresses of an owner: all of them, and those added after a given time. */
  unconfirmed(owner: AddressOwner, since: number): Promise<{ readonly all: number; readonly recent: number }>;
  confirmationSent(id: string, at: number): Promise<void>;
  /** Stores whether the recipient opts in or opts out. Opting in also confirms the address. */
  saveConsent(id: string, at: number, wanted: boolean): Promise<void>;
  /** Increments the counter and returns its new value. */
  count(counter: NotificationCounter): Promise<number>;
  counts(counters: readonly NotificationCounter[]): Promise<readonly number[]>;

  /** Leases due messages, earliest first, exclusively until `leaseUntil`. */
  claim(request: NotificationClaim): Promise<readonly StoredNotification[]>;
  /**
   * Writes outcomes only for messages that the caller still leases. Increments the counters in the same transaction.
   */
  settle(
    outcomes: readonly NotificationOutcome[],
    leaseOwner: string,
    counted?: readonly NotificationCounter[],
  ): Promise<void>;
  /** Newest first. */
  list(query: NotificationQuery): Promise<Page<StoredNotification>>;
  /** Number of waiting messages, and the due time of the oldest; null if no messages are waiting. */
  waiting(): Promise<{ readonly count: number; readonly oldestDueAt: number | null }>;

  episodes(): Promise<readonly FailureEpisode[]>;
  /** Writes or ends an episode together with its notifications, in one transaction. */
  saveEpisode(command: SaveEpisode): Promise<void>;
  /** Webhooks whose last attempts failed, without a success since then, with their stored health. Sorted by ID. */
  failing(after: string | null, limit: number): Promise<readonly FailingRow[]>;

  /** Removes relayed events, finished messages and counters that are older than a given time. */
  forget(before: number, limit: number): Promise<StepResult>;
}

/** The events that were published, and the messages about them. */
export interface RelayedEvents {
  readonly keys: readonly string[];
  readonly at: number;
  readonly notifications: readonly NewNotification[];
}

/** A channel with the status of its messages and, for email, the consent of its recipient. */
export interface StoredChannel {
  readonly channel: NotificationChannel;
  readonly status: ChannelStatus;
  readonly consent: AddressConsent | null;
}

/** The owner of the rules; null for the operator. */
export type AddressOwner = string | null;

/** An email address that is new to its owner. */
export interface NewAddress {
  readonly id: string;
  readonly address: string;
  readonly createdAt: number;
}

/** An email address with its owner and the consent of its recipient. */
export interface StoredAddress {
  readonly tenantId: AddressOwner;
  readonly address: string;
  readonly consent: AddressConsent;
}

/**
 * Identifies a counter. A counter states how many messages were sent for a subject, such as a channel, since a given
 * time.
 */
export interface NotificationCounter {
  readonly subject: string;
  readonly since: number;
}

/** A null `tenantId` means the operator. */
export interface SaveChannels {
  readonly tenantId: string | null;
  readonly channels: readonly NotificationChannel[];
}

/** A message to one channel. Times are Unix milliseconds. */
export interface NewNotification {
  readonly id: string;
  /** Identifies the subject of the message. */
  readonly key: string;
  readonly channelId: string;
  /** Tenant of the channel. */
  readonly tenantId: string | null;
  readonly topic: string;
  /** What messages are grouped by, such as a webhook or an alert. */
  readonly group: string;
  readonly content: NotificationContent;
  readonly createdAt: number;
  readonly dueAt: number;
}

/** A message with its state. */
export interface StoredNotification extends NewNotification {
  readonly state: NotificationState;
  readonly attempts: number;
  readonly endedAt: number | null;
  /** Error of the last attempt. */
  readonly error: string | null;
  /** The event that contains the message; null for email. */
  readonly eventId: string | null;
}

/** Which messages to lease, for which process, and until when. */
export interface NotificationClaim {
  /** Messages to the given channels or, if `isRest`, to all other channels, including deleted ones. */
  readonly channels: { readonly ids: readonly string[]; readonly isRest: boolean };
  /**
   * Restricts the messages to the operator's, or to those of the first tenant after this one; urgent messages first. If
   * omitted, messages of all owners are leased.
   */
  readonly turn?: "operator" | { readonly after: string };
  readonly now: number;
  readonly leaseUntil: number;
  readonly leaseOwner: string;
  readonly limit: number;
}

/** `dueAt` applies only if the message remains queued. */
export interface NotificationOutcome {
  readonly id: string;
  readonly state: NotificationState;
  readonly attempts: number;
  readonly dueAt: number;
  readonly at: number;
  readonly error: string | null;
  readonly eventId: string | null;
}

/** A null `tenantId` means the operator; `undefined` means all owners. */
export interface NotificationQuery {
  readonly tenantId: string | null | undefined;
  readonly channelId: string | null;
  readonly state: NotificationState | null;
  readonly page: PageRequest;
}

/** A period in which a webhook failed, and the notifications sent about it. */
export interface FailureEpisode {
  readonly webhookId: string;
  readonly tenantId: string;
  readonly since: number;
  /** Escalation steps that were notified. */
  readonly told: readonly string[];
  /** Channels that received at least one of these notifications. */
  readonly channelIds: readonly string[];
}

/** A change to an episode, together with its notifications. */
export interface SaveEpisode {
  readonly webhookId: string;
  /** Null ends the episode. */
  readonly episode: FailureEpisode | null;
  readonly events: readonly OperationalEvent[];
  readonly notifications: readonly NewNotification[];
}

/** A failing webhook. */
export interface FailingRow {
  readonly webhookId: string;
  /** The endpoint's health as JSON. */
  readonly health: string;
}
