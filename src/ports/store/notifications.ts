import type {
  AddressConsent,
  ChannelStatus,
  NotificationChannel,
  NotificationContent,
  NotificationState,
} from "../../core/notifications/notification.ts";
import type { OperationalEvent } from "../../core/notifications/operational-event.ts";
import type { Page, PageRequest } from "../store.ts";
import type { AuditEntry } from "./audit.ts";
import type { StepResult } from "./upkeep.ts";

/**
 * What Posthorn tells of itself and has not told yet: operational events from the transaction of their cause until they are
 * published, and messages to people from then until a channel has taken them.
 */
export interface NotificationQueue {
  /** Those of a key that is kept already are left out. `WebhookStore.save` and a commit take events along as well. */
  appendEvents(events: readonly OperationalEvent[]): Promise<void>;
  /** Not relayed yet, oldest first. */
  pendingEvents(limit: number): Promise<readonly OperationalEvent[]>;
  /** Marks them as relayed, and queues the messages about them in the same transaction. */
  relayed(step: RelayedEvents): Promise<void>;

  channels(): Promise<readonly StoredChannel[]>;
  /** Replaces all channels of an owner, in this order; with the row of the audit log. What is kept keeps its status. */
  saveChannels(command: SaveChannels, audit?: AuditEntry): Promise<void>;
  saveStatus(command: { readonly channelId: string; readonly status: ChannelStatus }): Promise<void>;

  /** A second one of the same key and channel is left out for as long as the first one is kept. */
  enqueue(notifications: readonly NewNotification[]): Promise<void>;
  /** What readers decided about these addresses of an owner, as `foldedAddress` writes them. */
  consents(owner: AddressOwner, addresses: readonly string[]): Promise<ReadonlyMap<string, AddressConsent>>;
  /** The address that a link is for; null for an unknown id. */
  address(id: string): Promise<StoredAddress | null>;
  /** Addresses that are known already stay as they are. */
  rememberAddresses(owner: AddressOwner, addresses: readonly NewAddress[]): Promise<void>;
  /** How many addresses of an owner are not confirmed: in all, and of those remembered since a time. */
  unconfirmed(owner: AddressOwner, since: number): Promise<{ readonly all: number; readonly recent: number }>;
  confirmationSent(sent: { readonly id: string; readonly at: number }): Promise<void>;
  /** The reader starts messages, which also confirms the address, or stops them. */
  saveConsent(decision: {
    readonly id: string;
    readonly at: number;
    readonly wanted: boolean;
  }): Promise<void>;
  /** Counts one more, and answers how many that makes. */
  count(counter: NotificationCounter): Promise<number>;
  counts(counters: readonly NotificationCounter[]): Promise<readonly number[]>;

  /** Leases due messages, earliest first; nobody else gets them before `leaseUntil`. */
  claim(request: NotificationClaim): Promise<readonly StoredNotification[]>;
  /** Only while the lease is the holder's; of others nothing is written. Counters are raised in the same transaction. */
  settle(
    outcomes: readonly NotificationOutcome[],
    by: { readonly holder: string; readonly counted?: readonly NotificationCounter[] },
  ): Promise<void>;
  /** Newest first. */
  list(query: NotificationQuery): Promise<Page<StoredNotification>>;
  /** How many wait, and since when the oldest one is due; null without any. */
  waiting(): Promise<{ readonly count: number; readonly oldestDueAt: number | null }>;

  episodes(): Promise<readonly FailureEpisode[]>;
  /** Writes an episode, or ends it, with what is to be told about that, in one transaction. */
  saveEpisode(command: SaveEpisode): Promise<void>;
  /** Webhooks that failed last and have not been accepted by since, with their health as it was stored, by id. */
  failing(page: { readonly after: string | null; readonly limit: number }): Promise<readonly FailingRow[]>;

  /** Removes relayed events, messages that have ended, and counters, from before a time. */
  forget(step: { readonly before: number; readonly limit: number }): Promise<StepResult>;
}

/** Events that were published, and the messages about them. */
export interface RelayedEvents {
  readonly keys: readonly string[];
  readonly at: number;
  readonly notifications: readonly NewNotification[];
}

/** A channel with what became of its messages, and of mail what its reader decided. */
export interface StoredChannel {
  readonly channel: NotificationChannel;
  readonly status: ChannelStatus;
  readonly consent: AddressConsent | null;
}

/** Null is the operator. */
export type AddressOwner = string | null;

/** An address that is new to its owner. */
export interface NewAddress {
  readonly id: string;
  readonly address: string;
  readonly createdAt: number;
}

/** An address with its owner, and what its reader decided. */
export interface StoredAddress {
  readonly tenantId: AddressOwner;
  readonly address: string;
  readonly consent: AddressConsent;
}

/** How many messages left for a subject, such as a channel, from a time on. */
export interface NotificationCounter {
  readonly subject: string;
  readonly since: number;
}

/** `tenantId` is null for the operator's. */
export interface SaveChannels {
  readonly tenantId: string | null;
  readonly channels: readonly NotificationChannel[];
}

/** A message to one channel. Times are Unix milliseconds. */
export interface NewNotification {
  readonly id: string;
  /** Names what it tells. */
  readonly key: string;
  readonly channelId: string;
  /** Of the channel. */
  readonly tenantId: string | null;
  readonly topic: string;
  /** What belongs together: a webhook, an alert. */
  readonly group: string;
  readonly content: NotificationContent;
  readonly createdAt: number;
  readonly dueAt: number;
}

/** A message with what became of it. */
export interface StoredNotification extends NewNotification {
  readonly state: NotificationState;
  readonly attempts: number;
  readonly endedAt: number | null;
  /** Of the last attempt. */
  readonly error: string | null;
  /** Of the event that carries it; null for mail. */
  readonly eventId: string | null;
}

/** Whose lease it is to be, until when, and of what. */
export interface NotificationClaim {
  /** Messages to these channels, or to all others: a channel may be gone. */
  readonly channels: { readonly ids: readonly string[]; readonly isRest: boolean };
  /** Only the operator's, or those of the first tenant after this one, urgent ones first. Left out: of all owners. */
  readonly turn?: "operator" | { readonly after: string };
  readonly now: number;
  readonly leaseUntil: number;
  readonly holder: string;
  readonly limit: number;
}

/** `dueAt` counts for one that waits on. */
export interface NotificationOutcome {
  readonly id: string;
  readonly state: NotificationState;
  readonly attempts: number;
  readonly dueAt: number;
  readonly at: number;
  readonly error: string | null;
  readonly eventId: string | null;
}

/** Null in `tenantId` is the operator's; `undefined` all. */
export interface NotificationQuery {
  readonly tenantId: string | null | undefined;
  readonly channelId: string | null;
  readonly state: NotificationState | null;
  readonly page: PageRequest;
}

/** A time in which a webhook failed, and what was told of it. */
export interface FailureEpisode {
  readonly webhookId: string;
  readonly tenantId: string;
  readonly since: number;
  /** Steps of the ladder that were told. */
  readonly told: readonly string[];
  /** Channels that got any of them. */
  readonly channelIds: readonly string[];
}

/** What becomes of an episode, and what is told of that. */
export interface SaveEpisode {
  readonly webhookId: string;
  /** Null ends it. */
  readonly episode: FailureEpisode | null;
  readonly events: readonly OperationalEvent[];
  readonly notifications: readonly NewNotification[];
}

/** A webhook that fails. */
export interface FailingRow {
  readonly webhookId: string;
  /** JSON of the endpoint's health. */
  readonly health: string;
}
