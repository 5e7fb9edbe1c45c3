import type { AlertStore } from "./store/alerts.ts";
import type { StoreChanges } from "./store/changes.ts";
import type { AuditStore } from "./store/audit.ts";
import type { DeliveryStore } from "./store/deliveries.ts";
import type { DeliveryProblemStore } from "./store/delivery-problems.ts";
import type { GatewayStore } from "./store/gateway.ts";
import type { HistoryStore } from "./store/history.ts";
import type { IdempotencyStore } from "./store/idempotency.ts";
import type { NotificationQueue } from "./store/notifications.ts";
import type { OperationStore } from "./store/operations.ts";
import type { OwnershipStore } from "./store/ownership.ts";
import type { PortalStore } from "./store/portal.ts";
import type { RegistryStore } from "./store/registry.ts";
import type { StatisticsStore } from "./store/statistics.ts";
import type { UpkeepStore } from "./store/upkeep.ts";
import type { WebhookStore } from "./store/webhooks.ts";

/**
 * The truth: what is not committed here has not happened.
 *
 * Promises of every adapter, proved by test/conformance/store:
 * - a resolved write is durable: it survives a crash of the process and of the machine;
 * - a rejected write left nothing behind, unless the error says that its outcome is unknown: then it was written whole or
 *   not at all, and no call says that it was before that is certain;
 * - reads see every write that was resolved before they were called;
 * - methods on the path of an event take batches, and their cost does not grow with the backlog.
 *
 * Errors: `StoreUnavailableError` when the engine may try again (disk full, locked, connection lost) or nothing can be
 * trusted any more (damaged); anything else is a bug. No error ever surfaces outside a call: what a store does by itself
 * in between fails in silence, and the next call meets the cause.
 */
export interface Store {
  readonly deliveries: DeliveryStore;
  readonly history: HistoryStore;
  readonly webhooks: WebhookStore;
  readonly registry: RegistryStore;
  readonly idempotency: IdempotencyStore;
  readonly operations: OperationStore;
  readonly audit: AuditStore;
  /** Absent in a store that only models deliveries. */
  readonly alerts?: AlertStore;
  /** Absent in a store that only models deliveries. */
  readonly notifications?: NotificationQueue;
  readonly portal: PortalStore;
  readonly gateway: GatewayStore;
  /** Absent where no statistics are kept. */
  readonly statistics?: StatisticsStore;
  /** Absent where nothing is kept of problems. */
  readonly problems?: DeliveryProblemStore;
  readonly upkeep: UpkeepStore;
  /** Hints of work that other processes stored; absent where one process owns the store, or nothing can be heard. */
  readonly changes?: StoreChanges;
  /** Who serves which webhook; absent where one process owns the store. */
  readonly ownership?: OwnershipStore;
  /**
   * Calls back after the database was restarted or replaced: by a failover, a restore or a crash, and commits may be
   * missing. Earlier leases and ownership are void, except of webhooks that the worker keeps when it joins again
   * (`OwnershipStore.join`), and everything kept of the store is read again. Absent where
   * nothing can take the store's place while it is open. Returns a function that ends the subscription. Listeners must
   * not throw.
   */
  watchRestarts?(listener: () => void): () => void;
  /** What an operator wants to know of it. Rejects with StoreUnavailableError. */
  facts(): Promise<StoreFacts>;
  /** The disk that it lies on; null where it cannot be asked. Absent where that is another machine's. */
  disk?(): DiskSpace | null;
  /** The store's clock, Unix milliseconds. Absent where it is that of this machine. */
  time?(): Promise<number>;
  /**
   * A trivial read; rejects with StoreUnavailableError when the store cannot answer, and always once it has met damage
   * anywhere.
   */
  ping(): Promise<void>;
  /** Waits for running writes. Safe to call twice. */
  close(): Promise<void>;
}

/** Of a disk, for this user. */
export interface DiskSpace {
  readonly freeBytes: number;
  readonly sizeBytes: number;
}

/** How far its schema is, and how much it holds. */
export interface StoreFacts {
  /** Number of the newest migration. */
  readonly schemaVersion: number;
  /** What its data and indexes take on disk, without logs of changes. */
  readonly sizeBytes: number;
}

/**
 * What keeps a store from serving. `away` is an outage of something else, or passes by itself. A `standby`, one that is
 * `read_only` and one that `waits_for_standby` answer, and take no writes. `disk_full` ends when somebody makes room.
 * `damaged` stays until a backup is restored: the store writes nothing more into the wreck.
 */
export type StoreTrouble = "away" | "standby" | "read_only" | "waits_for_standby" | "disk_full" | "damaged";

/** What each trouble means to a person, and what to do. */
export const storeTroubles: Readonly<Record<StoreTrouble, string>> = {
  away: "the database cannot be read or written now",
  standby: "the address of the database leads to a standby, which takes no writes before it is promoted",
  read_only: "the database is read-only: default_transaction_read_only is on",
  waits_for_standby: "commits wait for a synchronous standby, which does not answer",
  disk_full:
    "the disk of the database is full; free some space or make it larger, and everything goes on by itself",
  damaged:
    "the database is damaged; stop the server and restore a backup (docs/operations.md, Backup and restore)",
};

/**
 * The store cannot serve now. Nothing of the refused call was written, unless the outcome is `unknown`: then all of it was,
 * or nothing, and what was written may show later.
 */
export class StoreUnavailableError extends Error {
  override readonly name = "StoreUnavailableError";
  readonly outcome: "nothing" | "unknown";
  readonly trouble: StoreTrouble;

  constructor(
    message: string,
    more: ErrorOptions & {
      readonly outcome?: "nothing" | "unknown";
      readonly trouble?: StoreTrouble;
    } = {},
  ) {
    super(message, more);
    this.outcome = more.outcome ?? "nothing";
    this.trouble = more.trouble ?? "away";
  }

  /** For whoever has to do something about it. */
  get explanation(): string {
    return this.trouble === "away" ? this.message : storeTroubles[this.trouble];
  }
}

/** One page of a listing, newest first. */
export interface PageRequest {
  readonly limit: number;
  /** Only rows older than this position; null starts at the newest. */
  readonly before: number | null;
  readonly offset: number;
}

/** Rows of one page and where the next one starts. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  /** Position to continue from, null when there is nothing older. */
  readonly next: number | null;
}
