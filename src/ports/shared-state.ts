import type { RateLimitConfig } from "../domain/profile.ts";
import type { ConfigChange, StoreChanges } from "./store/changes.ts";

/**
 * State that workers share in addition to the store. It is useful but may be lost, and every caller works without it,
 * so calls fail fast with SharedStateUnavailableError and never hang. Without it, each worker keeps to its share of a
 * limit, a new owner starts with an empty window, the store detects repeats, and configuration is read again.
 *
 * Promises, proved by test/conformance/shared-state:
 * - each entry of a batch is atomic: two processes that do the same at the same time leave the same state as one
 *   after the other;
 * - every entry expires;
 * - time is the clock of the shared state, so the clocks of workers need not agree; times passed in are Unix ms.
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

/** Token buckets that several workers draw from, by key. The arithmetic is that of domain/rate-limit.ts. */
export interface SharedLimits {
  /** Grants each entry the available tokens, up to the requested number. */
  draw(draws: readonly TokenDraw[]): Promise<readonly TokenGrant[]>;
  /** Returns unused tokens. A bucket never holds more than its burst. */
  giveBack(draws: readonly TokenDraw[]): Promise<void>;
}

/** Tokens of one bucket; `limit` is the current limit. */
export interface TokenDraw {
  readonly key: string;
  readonly limit: RateLimitConfig;
  readonly tokens: number;
}

/** `waitMs` until the next token if fewer were granted than requested, else 0. */
export interface TokenGrant {
  readonly granted: number;
  readonly waitMs: number;
}

/**
 * What the owner of an endpoint knows and would be lost with it: the window of its circuit, and how much of its rate
 * limit is used.
 */
export interface EndpointMemory {
  note(notes: readonly EndpointNote[]): Promise<void>;
  /** In the order of the queries. */
  recall(queries: readonly EndpointQuery[]): Promise<readonly EndpointRecollection[]>;
}

/** What happened at an endpoint since the last note. */
export interface EndpointNote {
  readonly webhookId: string;
  /** Length of the circuit's window. Counts for another length are discarded. */
  readonly windowMs: number;
  /** Discard the known counts before adding these. */
  readonly cleared: boolean;
  readonly counts: readonly SliceCount[];
  /** When its token bucket is full again. The latest time of all notes wins. Null without a limit. */
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

/** Slices may be older than the window; the reader skips those. */
export interface EndpointRecollection {
  readonly counts: readonly SliceCount[];
  readonly rateFullAt: number | null;
}

/** Recent publishes by key, so that a repeat costs no store query. Only committed publishes are remembered. */
export interface PublishMemory {
  recall(keys: readonly PublishKey[]): Promise<readonly (RememberedPublish | null)[]>;
  /** The first publish remembered under a key stays until it expires. */
  remember(entries: readonly PublishEntry[]): Promise<void>;
}

/** Keys are scoped to the tenant (WDS-115). */
export interface PublishKey {
  readonly tenantId: string;
  readonly idempotencyKey: string;
}

/** An entry to remember. */
export interface PublishEntry {
  readonly key: PublishKey;
  readonly publish: RememberedPublish;
  /** Unix ms. */
  readonly until: number;
}

/** Enough to answer a repeat like the first publish, and to distinguish it from a different use of the key. */
export interface RememberedPublish {
  readonly fingerprint: string | null;
  readonly id: string;
  readonly eventType: string;
  readonly timestamp: number;
  readonly sequenceNumber: number;
  readonly deliveries: number;
}

/** Configuration changes, sent to all other processes. Hints only (store/changes.ts); `unknown` after a gap. */
export interface ConfigNews extends StoreChanges {
  announce(change: ConfigChange): Promise<void>;
}

/** The shared state cannot answer now. The requested change may or may not have happened. */
export class SharedStateUnavailableError extends Error {
  override readonly name = "SharedStateUnavailableError";
}
