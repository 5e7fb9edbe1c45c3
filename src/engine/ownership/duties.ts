import type { OwnershipStore } from "../../ports/store/ownership.ts";

/**
 * Duties that one process at a time has, such as upkeep, and which of them this one had last. The store decides and this
 * remembers nothing else: whoever does a duty asks before each round, so there is no lease here that could be believed in
 * for too long.
 */
export class Duties {
  readonly #store: Pick<OwnershipStore, "lead">;
  /** The name of this process among those that ask. */
  readonly #holder: string;
  readonly #had = new Set<string>();

  constructor(store: Pick<OwnershipStore, "lead">, holder: string) {
    this.#store = store;
    this.#holder = holder;
  }

  /** Whether this process may do it. Others may after `forMs` without a word. */
  async lead({ name, forMs }: { readonly name: string; readonly forMs: number }): Promise<boolean> {
    const holder = this.#holder;
    const leads = await this.#store.lead({ name, holder, forMs });
    if (leads) this.#had.add(name);
    else this.#had.delete(name);
    return leads;
  }

  /** At the end: nobody has to wait until the time of this process is over. */
  async resign(): Promise<void> {
    const holder = this.#holder;
    const ended = [...this.#had].map((name) => this.#store.lead({ name, holder, forMs: 0 }));
    // Where the store does not hear of it, the time runs out.
    await Promise.allSettled(ended);
  }
}
