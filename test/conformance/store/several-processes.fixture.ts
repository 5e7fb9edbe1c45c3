import type { AcquireRequest, Acquisition, OwnershipStore } from "../../../src/ports/store/ownership.ts";
import type { Store } from "../../../src/ports/store.ts";
import type { OpenStore } from "./store.suite.ts";

export function ownershipOf(store: Store): OwnershipStore {
  if (store.ownership === undefined) throw new Error("a store that can be shared has ownership");
  return store.ownership;
}

/** Opens the same data again, as another process would. */
export async function another(open: OpenStore): Promise<Store> {
  if (open.openAnother === undefined) throw new Error("the subject says that it can be shared");
  return open.openAnother();
}

export async function acquire(
  store: Store,
  worker: number,
  fields: Partial<Omit<AcquireRequest, "worker">> = {},
): Promise<Acquisition> {
  const from = { kind: "work", after: null, except: [] } as const;
  return ownershipOf(store).acquire({ worker, from, limit: 100, slack: 100, ...fields });
}

export const idsIn = ({ webhooks }: Acquisition): readonly string[] =>
  webhooks.map(({ webhookId }) => webhookId).toSorted();

/** An owner's report of a webhook in its initial state. */
export function blank(webhookId: string) {
  return {
    webhookId,
    pausedUntil: null,
    pauseReason: null,
    lastSuccessAt: null,
    circuit: null,
    health: null,
  };
}
