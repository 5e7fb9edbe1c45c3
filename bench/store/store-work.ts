import type { Store } from "../../src/ports/store.ts";
import type {
  ClaimRequest,
  CommitResult,
  Lease,
  PublishCommand,
  Settlement,
} from "../../src/ports/store/deliveries.ts";

/**
 * What an engine asks of a store, without the engine: events of 1 KiB for the lanes in turn, claims, successes. Time and
 * ids are made up, so that runs are alike.
 */
export class StoreWork {
  /** Unix ms of every command; grows by itself. */
  now = storeWorkStartAt;
  readonly #store: Store;
  readonly #lanes: number;
  #ids = 0;
  #published = 0;

  constructor(store: Store, lanes: number) {
    this.#store = store;
    this.#lanes = lanes;
  }

  /** `claim`: leased as they are written. With several webhooks an event costs less to write. */
  publications(
    count: number,
    options: { readonly claim: boolean; readonly webhooksPerEvent?: number },
  ): readonly PublishCommand[] {
    this.now += commitGapMs;
    return Array.from({ length: count }, () => this.#publication({ webhooksPerEvent: 1, ...options }));
  }

  /** From the first lanes, or from all of them. */
  claims(from: { readonly perLane: number; readonly lanes?: number }): readonly ClaimRequest[] {
    return Array.from({ length: from.lanes ?? this.#lanes }, (_, lane) => ({
      lane: laneOf(lane),
      now: this.now,
      limit: from.perLane,
      bodyBytesMax: 1e9,
      leaseUntil: this.now + leaseMs,
    }));
  }

  successes(leases: readonly Lease[]): readonly Settlement[] {
    return leases.map((lease) => this.#success(lease));
  }

  publish(publishes: readonly PublishCommand[]): Promise<CommitResult> {
    return this.#commit(publishes, []);
  }

  settle(settlements: readonly Settlement[]): Promise<CommitResult> {
    return this.#commit([], settlements);
  }

  async claim(requests: readonly ClaimRequest[]): Promise<readonly Lease[]> {
    const results = await this.#store.deliveries.claim(requests);
    return results.flatMap(({ deliveries }) => deliveries.map(({ lease }) => lease));
  }

  /** Due deliveries that nobody has leased, each event for every lane, so that a million takes seconds. */
  async park(waiting: number): Promise<void> {
    const webhooksPerEvent = this.#lanes;
    for (let left = waiting; left > 0; left -= parkedPerCommit) {
      const events = Math.min(left, parkedPerCommit) / webhooksPerEvent;
      await this.publish(this.publications(events, { claim: false, webhooksPerEvent }));
    }
  }

  #commit(publishes: readonly PublishCommand[], settlements: readonly Settlement[]): Promise<CommitResult> {
    return this.#store.deliveries.commit({
      publishes,
      settlements,
      requeues: [],
      retries: [],
      webhookStates: [],
    });
  }

  #publication(options: { readonly claim: boolean; readonly webhooksPerEvent: number }): PublishCommand {
    const { now } = this;
    return {
      event: {
        id: this.#newId(),
        tenantId: "default",
        eventType: "order.created",
        timestamp: now,
        source: null,
        idempotencyKey: null,
        fingerprint: null,
        priority: "normal",
        createdAt: now,
        contentType: "application/json",
        trace: null,
        relayed: null,
        raw: false,
        body,
      },
      deliveries: Array.from({ length: options.webhooksPerEvent }, () => ({
        id: this.#newId(),
        lane: laneOf(this.#nextLane()),
        priority: "normal",
        state: "pending",
        reason: null,
        dueAt: now,
        createdAt: now,
        origin: "publish",
        format: "standard",
        claim: options.claim,
        leaseUntil: now + leaseMs,
      })),
      dedupUntil: null,
    };
  }

  #success(lease: Lease): Settlement {
    const { now } = this;
    return {
      lease,
      settledAt: now,
      progress: {
        state: "success",
        attemptCount: 1,
        createdAt: now,
        firstAttemptAt: now,
        dueAt: now,
        reason: null,
        retried: null,
      },
      attempt: {
        id: this.#newId(),
        number: 1,
        outcome: "accepted",
        receiverStateUnknown: false,
        category: null,
        statusCode: 200,
        responseSample: "ok",
        errorMessage: null,
        durationMs: 12,
        scheduledAt: now,
        executedAt: now,
        nextRetryAt: null,
        notes: null,
      },
    };
  }

  #nextLane(): number {
    this.#published += 1;
    return this.#published % this.#lanes;
  }

  /** UUIDv7: about thirty a millisecond, random within it, as a busy publisher makes them. */
  #newId(): string {
    this.#ids += 1;
    const time = (storeWorkStartAt + Math.floor(this.#ids / 30)).toString(16).padStart(12, "0");
    // A multiplicative hash stands in for randomness.
    const low = ((this.#ids * 2_654_435_761) % 2 ** 32).toString(16).padStart(8, "0");
    return `${time.slice(0, 8)}-${time.slice(8)}-7${low.slice(0, 3)}-8${low.slice(3, 6)}-${low}${low.slice(0, 4)}`;
  }
}

export function laneOf(lane: number): ClaimRequest["lane"] {
  const webhookId = `0197f000-0000-7000-8000-${String(lane).padStart(12, "0")}`;
  return { webhookId, ordering: "none", eventType: null };
}

export const storeWorkStartAt = Date.UTC(2026, 0, 1);
export const storeWorkBodyBytes = 1_024;
const body = new Uint8Array(storeWorkBodyBytes).fill(120);
const leaseMs = 60_000;
const commitGapMs = 5;
const parkedPerCommit = 5_000;
