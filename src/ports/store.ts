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
 * The source of truth: anything that is not committed here has not happened.
 *
 * Promises of every adapter, proved by test/conformance/store:
 * - a resolved write is durable: it survives a crash of the process and of the machine;
 * - a rejected write had no effect, unless the error says that its outcome is unknown. Then it was written completely
 *   or not at all, and no call reports it as absent before that is certain;
 * - reads see every write that resolved before the read was called;
 * - methods on the event path take batches, and their cost does not grow with the backlog.
 *
 * Errors: `StoreUnavailableError` if the engine may retry (disk full, locked, connection lost) or the data cannot be
 * trusted any more (damaged). Any other error is a bug. Errors surface only in calls: failures of background work are
 * silent, and the next call fails for the same reason.
 */
export interface Store {
  readonly deliveries: DeliveryStore;
  readonly history: HistoryStore;
  readonly webhooks: WebhookStore;
  readonly registry: RegistryStore;
  readonly idempotency: IdempotencyStore;
  readonly operations: OperationStore;
  readonly audit: AuditStore;
  readonly alerts: AlertStore;
  readonly notifications: NotificationQueue;
  readonly portal: PortalStore;
  readonly gateway: GatewayStore;
  readonly statistics: StatisticsStore;
  readonly problems: DeliveryProblemStore;
  readonly upkeep: UpkeepStore;

  // The following members may be absent, because callers work differently without them: an engine that owns the store
  // alone starts no membership and no polling, and a store on this machine shares its clock and its disk.

  /** Work and changes stored by other processes. Absent if one process owns the store. */
  readonly changes?: StoreChanges;
  /** Which worker serves which webhook. Absent if one process owns the store. */
  readonly ownership?: OwnershipStore;
  /**
   * Calls back after the database was restarted, or replaced by a failover, a restore or a crash. Commits may be
   * missing. Earlier leases and ownership are void, except for webhooks that the worker keeps when it rejoins
   * (`OwnershipStore.join`). The caller reloads everything that it cached from the store. Absent if the store cannot be
   * replaced while it is open. Returns a function that ends the subscription. Listeners must not throw.
   */
  watchRestarts?(listener: () => void): () => void;
  /** Facts about the store for operators. Rejects with StoreUnavailableError. */
  facts(): Promise<StoreFacts>;
  /** The disk that contains the store; null if it cannot be queried. Absent if the disk belongs to another machine. */
  disk?(): DiskSpace | null;
  /** Reads the store's clock, in Unix milliseconds. Absent if the store uses the clock of this machine. */
  time?(): Promise<number>;
  /**
   * Performs a trivial read. Rejects with StoreUnavailableError if the store cannot respond, and always once the store
   * has found damage.
   */
  ping(): Promise<void>;
  /** Waits for pending writes. Safe to call twice. */
  close(): Promise<void>;
}

/** Disk space available to this user. */
export interface DiskSpace {
  readonly freeBytes: number;
  readonly sizeBytes: number;
}

/** Schema version and size. */
export interface StoreFacts {
  /** Number of the newest migration. */
  readonly schemaVersion: number;
  /** Size of data and indexes on disk, excluding write-ahead logs. */
  readonly sizeBytes: number;
}

/**
 * Why a store cannot serve. `away`: another system is down, or the failure is temporary. `standby`, `read_only` and
 * `waits_for_standby`: the store responds, but accepts no writes. `disk_full` ends when space is freed. `damaged` lasts
 * until a backup is restored; the store no longer writes to the damaged files.
 */
export type StoreTrouble = "away" | "standby" | "read_only" | "waits_for_standby" | "disk_full" | "damaged";

/** Explains each trouble to operators and names the remedy. */
export const storeTroubles: Readonly<Record<StoreTrouble, string>> = {
  away: "the database cannot be read or written now",
  standby: "the database address points to a standby, which accepts no writes until it is promoted",
  read_only: "the database is read-only: default_transaction_read_only is on",
  waits_for_standby: "commits wait for a synchronous standby that does not respond",
  disk_full:
    "the disk of the database is full; free some space or enlarge the disk, and Posthorn continues automatically",
  damaged:
    "the database is damaged; stop the server and restore a backup (docs/operations.md, Backup and restore)",
};

/**
 * The store cannot serve now. The failed call wrote nothing, unless the outcome is `unknown`. In that case it was
 * written completely or not at all, and it may become visible later.
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

  /** The cause and the remedy, for operators. */
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

/** The rows of one page, and where the next page starts. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  /** Position at which to continue; null at the end. */
  readonly next: number | null;
}
