import {
  createBucket,
  giveBack,
  peekWaitMs,
  type RateBucket,
  reconfigureBucket,
  tryTake,
} from "../../../src/domain/rate-limit.ts";
import {
  type ConfigNews,
  type EndpointMemory,
  type EndpointNote,
  type PublishKey,
  type PublishMemory,
  type RememberedPublish,
  type SharedLimits,
  type SharedState,
  SharedStateUnavailableError,
  type SliceCount,
  type TokenDraw,
  type TokenGrant,
} from "../../../src/ports/shared-state.ts";
import type { ConfigChange, StoreChange } from "../../../src/ports/store/changes.ts";

/** Number of slices of a window that are kept (domain/rolling-window.ts). Slices further away are ignored. */
const slicesMax = 60;

interface Endpoint {
  windowMs: number;
  readonly counts: Map<number, SliceCount>;
  rateFullAt: number | null;
  expiresAt: number;
}

/**
 * State shared by several engines of one process, in place of a server. All clients see the same data.
 *
 *     const memory = new SharedMemory({ now: () => clock.now() });
 *     const first = memory.open();
 *     const second = memory.open();
 *     memory.disconnect(); // both: calls are refused, watchers are notified
 *     memory.reconnect(second);
 *     memory.forget(); // as after a flush
 *
 * Calls settle after the current turn of the microtask queue. No timer is needed.
 */
export class SharedMemory {
  readonly now: () => number;
  readonly buckets = new Map<string, RateBucket>();
  readonly endpoints = new Map<string, Endpoint>();
  readonly publishes = new Map<string, { readonly publish: RememberedPublish; readonly until: number }>();
  readonly #clients = new Set<Client>();

  constructor({ now = Date.now }: { readonly now?: () => number } = {}) {
    this.now = now;
  }

  open(): SharedState {
    const client = new Client(this, () => this.#clients.delete(client));
    this.#clients.add(client);
    return client;
  }

  /** Makes the shared state unavailable to one client or to all clients. */
  disconnect(only?: SharedState): void {
    for (const client of this.#clientsOf(only)) client.setAvailable(false);
  }

  reconnect(only?: SharedState): void {
    for (const client of this.#clientsOf(only)) client.setAvailable(true);
  }

  /** Deletes all stored data. */
  forget(): void {
    this.buckets.clear();
    this.endpoints.clear();
    this.publishes.clear();
  }

  announce(from: SharedState, change: ConfigChange): void {
    for (const client of this.#clients) {
      if (client !== from && client.isAvailable) client.hear({ kind: "config", change });
    }
  }

  #clientsOf(only: SharedState | undefined): readonly Client[] {
    return [...this.#clients].filter((client) => only === undefined || client === only);
  }
}

class Client implements SharedState {
  readonly limits: SharedLimits;
  readonly endpoints: EndpointMemory;
  readonly publishes: PublishMemory;
  readonly news: ConfigNews;
  isAvailable = true;
  readonly #watchers = new Set<(isAvailable: boolean) => void>();
  readonly #listeners = new Set<(change: StoreChange) => void>();
  readonly #closed: () => void;
  #isClosed = false;

  constructor(memory: SharedMemory, closed: () => void) {
    this.#closed = closed;
    const each =
      <Entry, Answer>(answer: (memory: SharedMemory, entry: Entry) => Answer) =>
      async (entries: readonly Entry[]): Promise<Answer[]> => {
        this.#judge();
        return entries.map((entry) => answer(memory, entry));
      };
    const all =
      <Entry>(act: (memory: SharedMemory, entry: Entry) => void) =>
      async (entries: readonly Entry[]): Promise<void> => {
        this.#judge();
        for (const entry of entries) act(memory, entry);
      };
    this.limits = { draw: each(draw), giveBack: all(returnTokens) };
    this.endpoints = { note: all(note), recall: each(recallEndpoint) };
    this.publishes = { recall: each(recallPublish), remember: all(remember) };
    this.news = {
      carriesWork: false,
      subscribe: (listener) => {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
      },
      announce: async (change) => {
        this.#judge();
        memory.announce(this, change);
      },
    };
  }

  watch(listener: (isAvailable: boolean) => void): () => void {
    this.#watchers.add(listener);
    return () => this.#watchers.delete(listener);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#listeners.clear();
    this.#watchers.clear();
    this.#closed();
  }

  setAvailable(isAvailable: boolean): void {
    if (this.isAvailable === isAvailable) return;
    this.isAvailable = isAvailable;
    for (const watcher of this.#watchers) watcher(isAvailable);
    if (isAvailable) this.hear({ kind: "unknown" });
  }

  /** Listeners are notified with a delay, as they would be by a server. */
  hear(change: StoreChange): void {
    queueMicrotask(() => {
      for (const listener of this.#listeners) listener(change);
    });
  }

  #judge(): void {
    if (this.#isClosed) throw new SharedStateUnavailableError("the shared state is closed");
    if (!this.isAvailable) throw new SharedStateUnavailableError("the shared state is disconnected");
  }
}

function draw(memory: SharedMemory, { key, limit, tokens }: TokenDraw): TokenGrant {
  const now = memory.now();
  const bucket = memory.buckets.get(key) ?? createBucket(limit);
  reconfigureBucket(bucket, limit);
  judgeTokens(tokens);
  memory.buckets.set(key, bucket);
  let granted = 0;
  while (granted < tokens && tryTake(bucket, now) === 0) granted += 1;
  return { granted, waitMs: granted < tokens ? peekWaitMs(bucket, now) : 0 };
}

function returnTokens(memory: SharedMemory, { key, limit, tokens }: TokenDraw): void {
  const bucket = memory.buckets.get(key) ?? createBucket(limit);
  reconfigureBucket(bucket, limit);
  judgeTokens(tokens);
  for (let count = 0; count < tokens; count += 1) giveBack(bucket);
}

function judgeTokens(tokens: number): void {
  if (!Number.isSafeInteger(tokens) || tokens < 0) throw new RangeError(`not a number of tokens: ${tokens}`);
}

function note(memory: SharedMemory, entry: EndpointNote): void {
  const { webhookId, windowMs, cleared, counts, rateFullAt } = entry;
  const known = knownEndpoint(memory, webhookId) ?? {
    windowMs,
    counts: new Map<number, SliceCount>(),
    rateFullAt: null,
    expiresAt: 0,
  };
  if (cleared || known.windowMs !== windowMs) known.counts.clear();
  for (const { slice, successes, failures } of counts) {
    const sum = known.counts.get(slice) ?? { slice, successes: 0, failures: 0 };
    known.counts.set(slice, {
      slice,
      successes: sum.successes + successes,
      failures: sum.failures + failures,
    });
  }
  const head = Math.max(
    ...(counts.length > 0 ? counts : [...known.counts.values()]).map(({ slice }) => slice),
  );
  for (const slice of known.counts.keys()) {
    if (Math.abs(slice - head) >= slicesMax) known.counts.delete(slice);
  }
  known.windowMs = windowMs;
  if (rateFullAt !== null) known.rateFullAt = Math.max(known.rateFullAt ?? rateFullAt, rateFullAt);
  known.expiresAt = Math.max(memory.now() + windowMs, known.rateFullAt ?? 0);
  memory.endpoints.set(webhookId, known);
}

function recallEndpoint(
  memory: SharedMemory,
  { webhookId, windowMs }: { readonly webhookId: string; readonly windowMs: number },
): { readonly counts: readonly SliceCount[]; readonly rateFullAt: number | null } {
  const known = knownEndpoint(memory, webhookId);
  if (known === undefined) return { counts: [], rateFullAt: null };
  const counts = known.windowMs === windowMs ? [...known.counts.values()] : [];
  return { counts: counts.toSorted((left, right) => left.slice - right.slice), rateFullAt: known.rateFullAt };
}

function knownEndpoint(memory: SharedMemory, webhookId: string): Endpoint | undefined {
  const known = memory.endpoints.get(webhookId);
  return known === undefined || known.expiresAt <= memory.now() ? undefined : known;
}

function recallPublish(memory: SharedMemory, key: PublishKey): RememberedPublish | null {
  const known = memory.publishes.get(nameOf(key));
  return known === undefined || known.until <= memory.now() ? null : known.publish;
}

function remember(
  memory: SharedMemory,
  {
    key,
    publish,
    until,
  }: { readonly key: PublishKey; readonly publish: RememberedPublish; readonly until: number },
): void {
  if (recallPublish(memory, key) === null) memory.publishes.set(nameOf(key), { publish, until });
}

function nameOf({ tenantId, idempotencyKey }: PublishKey): string {
  return JSON.stringify([tenantId, idempotencyKey]);
}
