import type { Store } from "../../src/ports/store.ts";
import type {
  ClaimRequest,
  CommitResult,
  Lease,
  PublishCommand,
  Settlement,
} from "../../src/ports/store/deliveries.ts";
import {
  commit,
  lane,
  newAttempt,
  progressed,
  publishCommand,
} from "../../test/conformance/store/scene.fixture.ts";

export const storeWorkStartAt = Date.UTC(2026, 0, 1);
const body = new Uint8Array(1_024).fill(120);
const leaseMs = 60_000;
const parkedPerCommit = 5_000;

/**
 * The store operations of an engine, without the engine: publishes of 1 KiB events to the lanes in round-robin order,
 * claims, and settlements of accepted deliveries. Timestamps and IDs are computed, so all runs are alike.
 */
export class StoreWork {
  readonly #store: Store;
  readonly #lanes: number;
  /** Unix ms used in the commands. */
  #now = storeWorkStartAt;
  #ids = 0;
  #published = 0;

  constructor(store: Store, lanes: number) {
    this.#store = store;
    this.#lanes = lanes;
  }

  /**
   * Commands that create due deliveries without a lease. An event costs less to write if it goes to several webhooks.
   */
  publications(count: number, webhooksPerEvent = 1): readonly PublishCommand[] {
    this.#now += 5;
    const createdAt = this.#now;
    return Array.from({ length: count }, () =>
      publishCommand({
        event: { id: this.#newId(), createdAt, body },
        deliveries: Array.from({ length: webhooksPerEvent }, () => ({
          id: this.#newId(),
          lane: laneOf(this.#nextLane()),
        })),
      }),
    );
  }

  /** Claim requests for all lanes. */
  claims(perLane: number): readonly ClaimRequest[] {
    const now = this.#now;
    const limits = { limit: perLane, bodyBytesMax: 1e9, leaseUntil: now + leaseMs };
    return Array.from({ length: this.#lanes }, (_, index) => ({ lane: laneOf(index), now, ...limits }));
  }

  successes(leases: readonly Lease[]): readonly Settlement[] {
    const at = this.#now;
    const progress = progressed({ createdAt: at, firstAttemptAt: at, dueAt: at });
    const times = { responseSample: "ok", durationMs: 12, scheduledAt: at, executedAt: at };
    return leases.map((lease) => {
      const attempt = newAttempt({ id: this.#newId(), ...times });
      return { lease, settledAt: at, progress, attempt };
    });
  }

  publish(publishes: readonly PublishCommand[]): Promise<CommitResult> {
    return commit(this.#store, { publishes });
  }

  settle(settlements: readonly Settlement[]): Promise<CommitResult> {
    return commit(this.#store, { settlements });
  }

  async claim(requests: readonly ClaimRequest[]): Promise<readonly Lease[]> {
    const results = await this.#store.deliveries.claim(requests);
    return results.flatMap(({ deliveries }) => deliveries.map(({ lease }) => lease));
  }

  /**
   * Writes due deliveries without a lease. Each event has a delivery in every lane, so that writing a million takes
   * only seconds.
   */
  async park(waiting: number): Promise<void> {
    for (let left = waiting; left > 0; left -= parkedPerCommit) {
      const events = Math.min(left, parkedPerCommit) / this.#lanes;
      await this.publish(this.publications(events, this.#lanes));
    }
  }

  #nextLane(): number {
    this.#published += 1;
    return this.#published % this.#lanes;
  }

  /** A UUIDv7. About thirty IDs share a millisecond and are random within it, as a busy publisher creates them. */
  #newId(): string {
    this.#ids += 1;
    const time = (storeWorkStartAt + Math.floor(this.#ids / 30)).toString(16).padStart(12, "0");
    // A multiplicative hash is used instead of a random number.
    const low = ((this.#ids * 2_654_435_761) % 2 ** 32).toString(16).padStart(8, "0");
    return `${time.slice(0, 8)}-${time.slice(8)}-7${low.slice(0, 3)}-8${low.slice(3, 6)}-${low}${low.slice(0, 4)}`;
  }
}

function laneOf(index: number): ClaimRequest["lane"] {
  return lane(`0197f000-0000-7000-8000-${String(index).padStart(12, "0")}`);
}
