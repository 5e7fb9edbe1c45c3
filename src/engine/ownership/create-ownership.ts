import type { OwnershipStore, RuntimeOrder } from "../../ports/store/ownership.ts";
import type { StoredWebhook } from "../../ports/store/webhooks.ts";
import type { Directory } from "../directory.ts";
import type { Dispatcher } from "../dispatcher.ts";
import type { Endpoint } from "../endpoint.ts";
import type { EngineOptions } from "../engine-options.ts";
import type { Wakeups } from "../wakeups.ts";
import { ConfigSync } from "./config-sync.ts";
import { followOrder, type OrderEffects } from "./endpoint-orders.ts";
import { HeldEndpoints } from "./held-endpoints.ts";
import { type Ownership, soleOwner } from "./ownership.ts";
import { SharedOwnership } from "./shared-ownership.ts";
import { StoreListener } from "./store-listener.ts";

export interface OwnershipParts extends OrderEffects {
  readonly options: EngineOptions;
  readonly directory: Directory;
  readonly dispatcher: Dispatcher;
  readonly wakeups: Wakeups;
  readonly apply: (stored: StoredWebhook) => void;
  readonly remove: (webhookId: string) => void;
  /** Resolves once the states that changed are stored. */
  readonly written: () => Promise<void>;
  /** Makes the name of this process among those that ask for duties. */
  readonly nextId: () => string;
}

/** Sole owner of a store that is not shared; else a worker among others, or a process that delivers nothing. */
export function createOwnership(parts: OwnershipParts): Ownership {
  const { ownership } = parts.options.store;
  return ownership === undefined ? soleOwner : createShared(parts, ownership);
}

function createShared(parts: OwnershipParts, store: OwnershipStore): Ownership {
  const { delivers } = parts.options;
  const { held, sync, worker, listener } = buildParts(parts, store);
  const holder = parts.nextId();
  return {
    holds: () => worker.holds(),
    owned: () => held.size,
    start: async () => {
      if (delivers) await worker.start();
      listener.start();
      sync.start();
    },
    wanted: (webhookId) => {
      if (delivers) worker.wanted(webhookId);
    },
    order: async (endpoint, order) => {
      if (endpoint.owned) return;
      await store.order({ webhookId: endpoint.webhook.id, order: JSON.stringify(order) });
    },
    refresh: (webhookIds) => sync.load(webhookIds),
    leads: (name) => store.lead({ name, holder, forMs: dutyMs }),
    pause: () => {
      listener.stop();
      sync.stop();
      worker.pause();
    },
    leave: async () => {
      if (delivers) await worker.leave();
    },
  };
}

function buildParts(parts: OwnershipParts, store: OwnershipStore): SharedParts {
  const { options, directory, dispatcher, wakeups } = parts;
  const { clock, random, telemetry, delivers } = options;
  const common = { clock, random, telemetry };
  const held = new HeldEndpoints({ clock, dispatcher });
  const { apply, remove } = parts;
  const { webhooks, changes } = options.store;
  const hears = changes !== undefined;
  const sync = new ConfigSync({ ...common, webhooks, ownership: store, directory, hears, apply, remove });
  const worker = new SharedOwnership({
    ...{ ...common, store, held },
    endpoint: (id) => directory.get(id),
    endpoints: () => directory.all(),
    load: (ids) => sync.load(ids),
    taken: (endpoint) => dispatcher.considerEndpoint(endpoint),
    follow: (orders) => follow(parts, store, orders),
    resumed: () => dispatcher.schedulePump(),
    workers: (count) => directory.shareTenantLimits(count),
  });
  const listener = new StoreListener({
    ...{ ...common, store: options.store, directory, sync, delivers, wakeups },
    consider: (lane) => dispatcher.consider(lane),
    wanted: (id) => worker.wanted(id),
    ordered: () => worker.ordered(),
  });
  return { held, sync, worker, listener };
}

/** Follows orders once each. They are forgotten when their effect is stored; until then a repeat changes nothing. */
function follow(parts: OwnershipParts, store: OwnershipStore, orders: readonly RuntimeOrder[]): void {
  const refs: number[] = [];
  for (const order of orders) {
    const endpoint: Endpoint | undefined = parts.directory.get(order.webhookId);
    if (endpoint?.owned !== true) continue;
    followOrder(endpoint, order, parts);
    parts.dispatcher.considerEndpoint(endpoint);
    refs.push(order.ref);
  }
  if (refs.length === 0) return;
  parts
    .written()
    .then(() => store.followed(refs))
    .catch((error: unknown) => {
      parts.options.telemetry.log.warn({ err: String(error) }, "orders that were followed are still stored");
    });
}

interface SharedParts {
  readonly held: HeldEndpoints;
  readonly sync: ConfigSync;
  readonly worker: SharedOwnership;
  readonly listener: StoreListener;
}

/** Longer than a pause of upkeep, so that it stays with one process while that one lives. */
const dutyMs = 90_000;
