import type { RateLimitConfig } from "../core/profile.ts";
import type { StoreChanges } from "./store/changes.ts";
import type { ConfigChange } from "./store/config-changes.ts";

/**
 * What workers share beside the store: state that is worth having and may be lost. Whoever asks goes on without an answer
 * (C-35), so calls fail soon, with SharedStateUnavailableError, and never hang. What goes on without it: each worker keeps to
 * its part of a limit, a new owner begins with an empty window, the store answers repeats, configuration is read again.
 *
 * Promises, proved by test/conformance/shared-state:
 * - each entry of a batch is atomic: two processes that do the same in the same moment leave what one after the other
 *   would have left;
 * - everything expires by itself;
 * - time is that of the shared state, so that the clocks of workers need not agree; times handed over are Unix ms.
 */
export interface SharedState {
  readonly limits: SharedLimits;
  readonly endpoints: EndpointMemory;
  readonly publishes: PublishMemory;
  readonly news: ConfigNews;
  /** Whether the last call was answered. While it is false, somebody tries again from time to time. */
  readonly isAvailable: boolean;
  /** Is told when `isAvailable` changes. Returns a function that ends the subscription. Listeners must not throw. */
  watch(listener: (isAvailable: boolean) => void): () => void;
  /** Safe to call twice. */
  close(): Promise<void>;
}

/** Token buckets that several workers draw from, by key. Arithmetic as in core/rate-limit.ts. */
export interface SharedLimits {
  /** For each entry as many tokens as there are, at most those asked for. */
  draw(draws: readonly TokenDraw[]): Promise<readonly TokenGrant[]>;
  /** Tokens that were drawn and not used. A bucket never holds more than its burst. */
  giveBack(draws: readonly TokenDraw[]): Promise<void>;
}

/** Tokens of one bucket; `limit` is the one now in force. */
export interface TokenDraw {
  readonly key: string;
  readonly limit: RateLimitConfig;
  readonly tokens: number;
}

/** `waitMs` until the next token when fewer were granted than asked for, else 0. */
export interface TokenGrant {
  readonly granted: number;
  readonly waitMs: number;
}

/**
 * What the owner of an endpoint knows of it and what would be lost with the owner: the window of its circuit, and how much
 * of its rate limit is used up.
 */
export interface EndpointMemory {
  note(notes: readonly EndpointNote[]): Promise<void>;
  /** In the order of the queries. */
  recall(queries: readonly EndpointQuery[]): Promise<readonly EndpointRecollection[]>;
}

/** What happened at an endpoint since the last note. */
export interface EndpointNote {
  readonly webhookId: string;
  /** Length of the circuit's window; counts of another length are forgotten. */
  readonly windowMs: number;
  /** Forget the counts that are known before these are added. */
  readonly cleared: boolean;
  readonly counts: readonly SliceCount[];
  /** When its bucket is full again; the latest of all notes counts. Null without a limit. */
  readonly rateFullAt: number | null;
}

/** Results in one slice of a rolling window (core/rolling-window.ts). */
export interface SliceCount {
  readonly slice: number;
  readonly successes: number;
  readonly failures: number;
}

/** `windowMs` is the length of the circuit's window now. */
export interface EndpointQuery {
  readonly webhookId: string;
  readonly windowMs: number;
}

/** Slices may be older than the window; the reader leaves those out. */
export interface EndpointRecollection {
  readonly counts: readonly SliceCount[];
  readonly rateFullAt: number | null;
}

/** Publishes of the recent past by their key, so that a repeat costs the store nothing. Only what was committed enters. */
export interface PublishMemory {
  recall(keys: readonly PublishKey[]): Promise<readonly (RememberedPublish | null)[]>;
  /** The first one that is remembered under a key stays until it expires. */
  remember(entries: readonly PublishEntry[]): Promise<void>;
}

/** Keys of publishers are theirs alone (WDS-115). */
export interface PublishKey {
  readonly tenantId: string;
  readonly idempotencyKey: string;
}

/** Something to remember. */
export interface PublishEntry {
  readonly key: PublishKey;
  readonly publish: RememberedPublish;
  /** Unix ms. */
  readonly until: number;
}

/** Enough to answer a repeat as the first one was answered, and to tell it from another use of the key. */
export interface RememberedPublish {
  readonly fingerprint: string | null;
  readonly id: string;
  readonly eventType: string;
  readonly timestamp: number;
  readonly sequenceNumber: number;
  readonly deliveries: number;
}

/** Configuration that was changed, for every other process. Hints only (store/changes.ts); `unknown` after a gap. */
export interface ConfigNews extends StoreChanges {
  announce(change: ConfigChange): Promise<void>;
}

/** The shared state cannot answer now. Whether what was asked for has happened is then not known. */
export class SharedStateUnavailableError extends Error {
  override readonly name = "SharedStateUnavailableError";
}
