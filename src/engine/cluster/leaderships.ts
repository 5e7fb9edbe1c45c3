import type { OwnershipStore } from "../../ports/store/ownership.ts";

/**
 * Tasks that one process performs at a time, such as upkeep, and the leaderships that this process last held. The store
 * decides who leads. The leader asks before each round, so this class keeps no lease that could outlive the store's
 * decision.
 */
export class Leaderships {
  readonly #store: Pick<OwnershipStore, "acquireLeadership">;
  /** Identifies this process. */
  readonly #owner: string;
  readonly #led = new Set<string>();

  constructor(store: Pick<OwnershipStore, "acquireLeadership">, owner: string) {
    this.#store = store;
    this.#owner = owner;
  }

  /** Whether this process is the leader now. Other processes may take over after `forMs` without renewal. */
  async acquire(name: string, forMs: number): Promise<boolean> {
    const owner = this.#owner;
    const isLeader = await this.#store.acquireLeadership(name, owner, forMs);
    if (isLeader) this.#led.add(name);
    else this.#led.delete(name);
    return isLeader;
  }

  /** Resigns all leaderships. Called at shutdown, so that other processes do not have to wait for their expiry. */
  async resign(): Promise<void> {
    const owner = this.#owner;
    const ended = [...this.#led].map((name) => this.#store.acquireLeadership(name, owner, 0));
    // If the call does not reach the store, the leadership expires on its own.
    await Promise.allSettled(ended);
  }
}
