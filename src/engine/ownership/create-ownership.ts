import type { OwnershipStore, RuntimeOrder } from "../../ports/store/ownership.ts";
import type { StoredWebhook } from "../../ports/store/webhooks.ts";
import type { Directory } from "../directory.ts";
import type { Dispatcher } from "../dispatcher.ts";
import type { Endpoint } from "../endpoint.ts";
import type { EngineOptions } from "../engine-options.ts";
import type { EndpointNotes } from "../shared/endpoint-notes.ts";
import type { Wakeups } from "../wakeups.ts";
import { ConfigSync } from "./config-sync.ts";
import { Duties } from "./duties.ts";
import { EndpointReporter } from "./endpoint-reporter.ts";
import { followOrder, type OrderEffects } from "./endpoint-orders.ts";
import { HeldEndpoints } from "./held-endpoints.ts";
import { type Ownership, soleOwner } from "./ownership.ts";
import { QueuedWork } from "./queued-work.ts";
import { SharedOwnership } from "./shared-ownership.ts";
import { StoreListener } from "./store-listener.ts";
import { Sweeper } from "./sweeper.ts";

export interface OwnershipParts extends OrderEffects {
  readonly options: EngineOptions;
  readonly directory: Directory;
  readonly dispatcher: Dispatcher;
  readonly wakeups: Wakeups;
  /** What owners leave for the next one beside the store. */
  readonly notes: EndpointNotes | null;
  readonly apply: (stored: StoredWebhook) => void;
  readonly remove: (webhookId: string) => void;
  /** Resolves once the states that changed are stored. */
  readonly written: () => Promise<void>;
  /** Makes the name of this process among those that ask for duties. */
  readonly nextId: () => string;
  /** Deliveries on their way, by endpoint. */
  readonly flying: () => ReadonlyMap<Endpoint, readonly string[]>;
}

/**
 * Sole owner of a store that is not shared; else a worker among others, or a process that delivers nothing.
 *
 *   worker     stays alive, takes webhooks and gives them back; `held` is what it owns
 *   listener   hears what others leave, and looks for work of what is owned
 *   sync       brings configuration that others changed
 *   reporter   tells the others what only the owner sees
 *   duties     what one process at a time does: upkeep, sweeping
 *   queued     the worker's end of the queue, with one
 *   sweeper    announces again what nobody serves, with a queue
 *
 * A process that delivers nothing has the parts and starts those that bring configuration. With `schedules` it sweeps too.
 */
export function createOwnership(parts: OwnershipParts): Ownership {
  const { ownership } = parts.options.store;
  return ownership === undefined ? soleOwner : createShared(parts, ownership);
}

function createShared(parts: OwnershipParts, store: OwnershipStore): Ownership {
  const { delivers, schedules = delivers } = parts.options;
  const { held, sync, worker, listener, reporter, queued, sweeper, leads, resign } = buildParts(parts, store);
  const { workQueue } = parts.options;
  return {
    holds: () => worker.holds(),
    owned: () => held.size,
    start: async () => {
      if (delivers) {
        await worker.start();
        reporter.start();
      }
      listener.start();
      sync.start();
      if (delivers) queued?.start();
      if (schedules) sweeper?.start();
    },
    wanted: (webhookId) => {
      if (!delivers) return;
      worker.leftFor(webhookId);
      // What is left here is announced to all, and this process may hear of it like any other.
      if (workQueue?.isConnected !== true) void worker.wanted(webhookId);
    },
    order: async (endpoint, order) => {
      if (endpoint.owned) return;
      await store.order({ webhookId: endpoint.webhook.id, order: JSON.stringify(order) });
    },
    refresh: (webhookIds) => sync.load(webhookIds),
    leads,
    pause: async () => {
      listener.stop();
      sync.stop();
      worker.pause();
      await Promise.all([reporter.stop(), sweeper?.stop(), workQueue?.stopConsuming()]);
    },
    retire: () => {
      if (delivers) worker.retire();
    },
    leave: async () => {
      await Promise.all([resign(), delivers ? worker.leave() : undefined]);
    },
  };
}

/** Ties the parts together, mostly by functions, so that each can be tested alone. */
function buildParts(parts: OwnershipParts, store: OwnershipStore): WorkerParts {
  const { options, directory, dispatcher, wakeups } = parts;
  const { clock, random, telemetry, delivers, workQueue: queue, pool = defaultPool } = options;
  const common = { clock, random, telemetry };
  const isBrought = (): boolean => queue?.isConnected === true;
  const held = new HeldEndpoints({ clock, dispatcher, notes: parts.notes });
  const { apply, remove } = parts;
  const { webhooks, changes } = options.store;
  const news = options.sharedState?.news;
  const hears = changes !== undefined || news !== undefined;
  const sync = new ConfigSync({ ...common, webhooks, ownership: store, directory, hears, apply, remove });
  const endpoint = (id: string): Endpoint | undefined => directory.get(id);
  const worker: SharedOwnership = new SharedOwnership({
    ...{ ...common, store, held, pool, isBrought, endpoint },
    endpoints: () => directory.all(),
    load: (ids) => sync.load(ids),
    taken: (each) => dispatcher.considerEndpoint(each),
    follow: (orders) => follow(parts, { store, orders, worker: worker.worker }),
    resumed: () => dispatcher.schedulePump(),
    workers: (count) => directory.shareTenantLimits(count),
    poolOf: ({ webhook }) => options.poolOf?.(webhook.tenantId) ?? defaultPool,
    renamed: (number) => {
      queue?.listenAs(number);
      // What is told to it before the queue listens for it is lost.
      if (queue !== undefined && number !== null) listener.lookSoon();
    },
  });
  const listener: StoreListener = new StoreListener({
    ...{ ...common, store: options.store, directory, sync, delivers, wakeups, isBrought },
    hasQueue: queue !== undefined,
    ...(news !== undefined && { news }),
    consider: (lane) => dispatcher.consider(lane),
    wanted: (id) => worker.wanted(id),
    ordered: () => worker.ordered(),
  });
  const duties = new Duties(store, parts.nextId());
  const leads: Ownership["leads"] = (duty) => duties.lead(duty);
  const reporter = new EndpointReporter({ store, clock, held: () => held.all(), flying: parts.flying });
  const shared = { held, sync, worker, listener, reporter, leads, resign: () => duties.resign() };
  if (queue === undefined) return { ...shared, queued: null, sweeper: null };
  const queued = new QueuedWork({
    ...{ queue, store, pool, endpoint },
    worker: () => worker.worker,
    lookInto: (lane) => listener.lookInto(lane),
    take: (webhookId) => worker.wanted(webhookId),
    isStranger: (webhookId) => worker.isStranger(webhookId),
    missed: () => {
      worker.lookNow();
      void listener.lookEverywhere();
    },
  });
  const sweeper = new Sweeper({ ...common, queue, store, leads: () => leads(sweepDuty) });
  return { ...shared, queued, sweeper };
}

/** Follows orders once each. They are forgotten when their effect is stored; until then a repeat changes nothing. */
function follow(
  parts: OwnershipParts,
  given: {
    readonly store: OwnershipStore;
    readonly orders: readonly RuntimeOrder[];
    readonly worker: number | null;
  },
): void {
  const { store, orders, worker } = given;
  const refs: number[] = [];
  for (const order of orders) {
    const endpoint: Endpoint | undefined = parts.directory.get(order.webhookId);
    if (endpoint?.owned !== true) continue;
    followOrder(endpoint, order, parts);
    parts.dispatcher.considerEndpoint(endpoint);
    refs.push(order.ref);
  }
  if (refs.length === 0 || worker === null) return;
  parts
    .written()
    .then(() => store.followed({ worker, refs }))
    .catch((error: unknown) => {
      parts.options.telemetry.log.warn({ err: String(error) }, "orders that were followed are still stored");
    });
}

interface WorkerParts extends Pick<Ownership, "leads"> {
  readonly held: HeldEndpoints;
  readonly sync: ConfigSync;
  readonly worker: SharedOwnership;
  readonly listener: StoreListener;
  readonly reporter: EndpointReporter;
  /** Leaves the duties of this process to others. */
  readonly resign: () => Promise<void>;
  /** Only with a queue. */
  readonly queued: QueuedWork | null;
  readonly sweeper: Sweeper | null;
}

/** Of workers and tenants that were given no other. */
const defaultPool = "default";
/** Longer than a pause between two rounds, so that it stays with one process while that one lives. */
const sweepDuty = { name: "sweep", forMs: 15_000 };
