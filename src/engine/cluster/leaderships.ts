import type { OwnershipStore } from "../../ports/store/ownership.ts";

/**
 * What one process does at a time, such as upkeep, and where this process led last. The store decides. The leader asks
 * before each round, so this class keeps no lease that could outlive the store's answer.
 */
export class Leaderships {
  readonly #store: Pick<OwnershipStore, "acquireLeadership">;
  /** The name of this process among those that ask. */
  readonly #holder: string;
  readonly #led = new Set<string>();

  constructor(store: Pick<OwnershipStore, "acquireLeadership">, holder: string) {
    this.#store = store;
    this.#holder = holder;
  }

  /** Whether this process leads now. Others may after `forMs` without renewal. */
  async acquire({ name, forMs }: { readonly name: string; readonly forMs: number }): Promise<boolean> {
    const holder = this.#holder;
    const isLeader = await this.#store.acquireLeadership({ name, holder, forMs });
    if (isLeader) this.#led.add(name);
    else this.#led.delete(name);
    return isLeader;
  }

  /** At the end: nobody has to wait until the leaderships of this process run out. */
  async resign(): Promise<void> {
    const holder = this.#holder;
    const ended = [...this.#led].map((name) => this.#store.acquireLeadership({ name, holder, forMs: 0 }));
    // Where the call does not reach the store, the leadership runs out.
    await Promise.allSettled(ended);
  }
}
