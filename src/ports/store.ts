import type { StoreChanges } from "./store/changes.ts";
import type { DeliveryStore } from "./store/deliveries.ts";
import type { HistoryStore } from "./store/history.ts";
import type { IdempotencyStore } from "./store/idempotency.ts";
import type { OperationStore } from "./store/operations.ts";
import type { OwnershipStore } from "./store/ownership.ts";
import type { RegistryStore } from "./store/registry.ts";
import type { UpkeepStore } from "./store/upkeep.ts";
import type { WebhookStore } from "./store/webhooks.ts";

/**
 * The truth: what is not committed here has not happened.
 *
 * Promises of every adapter, proved by test/conformance/store:
 * - a resolved write is durable: it survives a crash of the process and of the machine;
 * - a rejected write left nothing behind;
 * - reads see every write that was resolved before they were called;
 * - methods on the path of an event take batches, and their cost does not grow with the backlog.
 *
 * Errors: `StoreUnavailableError` when the engine may try again (disk full, locked, connection lost); anything else is
 * a bug.
 */
export interface Store {
  readonly deliveries: DeliveryStore;
  readonly history: HistoryStore;
  readonly webhooks: WebhookStore;
  readonly registry: RegistryStore;
  readonly idempotency: IdempotencyStore;
  readonly operations: OperationStore;
  readonly upkeep: UpkeepStore;
  /** Work that other processes leave; absent where one process owns the store, or nothing can be heard. */
  readonly changes?: StoreChanges;
  /** Who serves which webhook; absent where one process owns the store. */
  readonly ownership?: OwnershipStore;
  /** A trivial read; rejects with StoreUnavailableError when the store cannot answer. */
  ping(): Promise<void>;
  /** Waits for running writes. Safe to call twice. */
  close(): Promise<void>;
}

/** The store cannot serve now, and nothing of the refused call was written. */
export class StoreUnavailableError extends Error {
  override readonly name = "StoreUnavailableError";
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
