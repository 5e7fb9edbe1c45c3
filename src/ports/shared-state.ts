import type { RateLimitConfig } from "../domain/profile.ts";
import type { ConfigChange, StoreChanges } from "./store/changes.ts";

/**
 * State that workers share in addition to the store. The state is useful but may be lost, and every caller works
 * without it, so calls fail fast with SharedStateUnavailableError and never hang. Without the shared state, each worker
 * uses only its share of a limit, a new owner starts with an empty window, the store detects repeats, and configuration
 * is reloaded periodically.
 *
 * Promises, proved by test/conformance/shared-state:
 * - each entry of a batch is atomic: two processes that call it at the same time leave the same state as two
 *   consecutive calls;
 * - every entry expires;
 * - time is read from the clock of the shared state, so the clocks of workers need not agree; times passed in are Unix
 *   ms.
 */
export interface SharedState {
  readonly limits: SharedLimits;
  readonly endpoints: EndpointMemory;
  readonly publishes: PublishMemory;
  readonly news: ConfigNews;
  /** Whether the last call succeeded. While it is false, the adapter retries periodically. */
  readonly isAvailable: boolean;
  /** Called when `isAvailable` changes. Returns a function that ends the subscription. Listeners must not throw. */
  watch(listener: (isAvailable: boolean) => void): () => void;
  /** Safe to call twice. */
  close(): Promise<void>;
}

/** Token buckets that several workers share, by key. The arithmetic is that of domain/rate-limit.ts. */
export interface SharedLimits {
  /** Grants each entry the available tokens, up to the requested number. */
  draw(draws: readonly TokenDraw[]): Promise<readonly TokenGrant[]>;
  /** Returns unused tokens. A bucket never holds more tokens than its burst size. */
  giveBack(draws: readonly TokenDraw[]): Promise<void>;
}

/** Tokens of one bucket; `limit` is the current limit. */
export interface TokenDraw {
  readonly key: string;
  readonly limit: RateLimitConfig;
  readonly tokens: number;
}

/** `waitMs` is the time until the next token if fewer were granted than requested; otherwise 0. */
export interface TokenGrant {
  readonly granted: number;
  readonly waitMs: number;
}

/**
 * Endpoint state that is held only by the owner and would be lost with it: the window of the circuit, and the used part
 * of the rate limit.
 */
export interface EndpointMemory {
  note(notes: readonly EndpointNote[]): Promise<void>;
  /** Returns the results in the order of the queries. */
  recall(queries: readonly EndpointQuery[]): Promise<readonly EndpointRecollection[]>;
}

/** What changed at an endpoint since the last update. */
export interface EndpointNote {
  readonly webhookId: string;
  /** Length of the circuit's window. Counts for a different length are discarded. */
  readonly windowMs: number;
  /** Whether to discard the earlier counts before adding these. */
  readonly cleared: boolean;
  readonly counts: readonly SliceCount[];
  /**
   * When the endpoint's token bucket will be full again. If updates differ, the latest time is used. Null for endpoints
   * without a limit.
   */
  readonly rateFullAt: number | null;
}

/** Results in one slice of a rolling window (domain/rolling-window.ts). */
export interface SliceCount {
  readonly slice: number;
  readonly successes: number;
  readonly failures: number;
}

/** `windowMs` is the current length of the circuit's window. */
export interface EndpointQuery {
  readonly webhookId: string;
  readonly windowMs: number;
}

/** Slices may be older than the window; the reader skips them. */
export interface EndpointRecollection {
  readonly counts: readonly SliceCount[];
  readonly rateFullAt: number | null;
}

/**
 * Recent publishes by key. They allow repeats to be detected without a store query. Only committed publishes are
 * stored.
 */
export interface PublishMemory {
  recall(keys: readonly PublishKey[]): Promise<readonly (RememberedPublish | null)[]>;
  /** The first publish stored under a key remains until it expires. */
  remember(entries: readonly PublishEntry[]): Promise<void>;
}

/** Identifies a publish. Keys are scoped to the tenant (WDS-115). */
export interface PublishKey {
  readonly tenantId: string;
  readonly idempotencyKey: string;
}

/** An entry to store. */
export interface PublishEntry {
  readonly key: PublishKey;
  readonly publish: RememberedPublish;
  /** In Unix milliseconds. */
  readonly until: number;
}

/**
 * The data of a publish that is needed to give a repeat the same response, and to distinguish a repeat from a different
 * use of the key.
 */
export interface RememberedPublish {
  readonly fingerprint: string | null;
  readonly id: string;
  readonly eventType: string;
  readonly timestamp: number;
  readonly sequenceNumber: number;
  readonly deliveries: number;
}

/**
 * Announces configuration changes to all other processes. The announcements are only hints (store/changes.ts).
 * `unknown` is sent after a gap.
 */
export interface ConfigNews extends StoreChanges {
  announce(change: ConfigChange): Promise<void>;
}

/** The shared state cannot respond now. The requested change may or may not have been made. */
export class SharedStateUnavailableError extends Error {
  override readonly name = "SharedStateUnavailableError";
}
