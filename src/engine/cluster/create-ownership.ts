import type { OwnershipStore, RuntimeOrder } from "../../ports/store/ownership.ts";
import type { StoredWebhook } from "../../ports/store/webhooks.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { Directory } from "../endpoint/directory.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import { type Ownership, soleOwner } from "../endpoint/ownership.ts";
import type { Wakeups } from "../endpoint/wakeups.ts";
import type { EngineOptions } from "../engine-options.ts";
import { ClusterMember } from "./cluster-member.ts";
import { ConfigSync } from "./config-sync.ts";
import { type EndpointNotes, followOrder, type OrderEffects } from "./endpoint-notes.ts";
import { EndpointReporter } from "./endpoint-reports.ts";
import { Leaderships } from "./leaderships.ts";
import { OwnedEndpoints } from "./owned-endpoints.ts";
import { QueuedWork, Reannouncer } from "./queued-work.ts";
import { StalledLanes } from "./stalled-lanes.ts";
import { StoreListener } from "./store-listener.ts";

export interface OwnershipParts extends OrderEffects {
  readonly options: EngineOptions;
  readonly directory: Directory;
  readonly dispatcher: Dispatcher;
  readonly wakeups: Wakeups;
  /** Endpoint state that an owner publishes for the next one, in addition to the store. */
  readonly notes: EndpointNotes | null;
  readonly apply: (stored: StoredWebhook) => void;
  readonly remove: (webhookId: string) => void;
  /** Resolves once the changed states are stored. */
  readonly written: () => Promise<void>;
  /** Retries failed writes immediately. */
  readonly storeReturned: () => void;
  /** Creates the name under which this process requests leaderships. */
  readonly nextId: () => string;
  /** IDs of the deliveries in flight, by endpoint. */
  readonly flying: () => ReadonlyMap<Endpoint, readonly string[]>;
}

/**
 * Creates the ownership for this process: the sole owner of an embedded store, one worker among others, or a process
 * that delivers nothing.
 *
 *   member        sends heartbeats, acquires webhooks and releases them; `owned` holds its webhooks
 *   listener      receives hints from other processes, and polls for work of owned webhooks
 *   stalled       finds deliveries that are overdue and not claimed, regardless of the state in memory
 *   sync          loads configuration that other processes changed
 *   reporter      reports endpoint state that only the owner has to other processes
 *   leaderships   tasks that one process performs at a time: upkeep, announcing lost work again
 *   queued        the worker's end of the queue, if there is one
 *   reannouncer   announces work again that no worker serves, if there is a queue
 *
 * A process that delivers nothing has all parts, but starts only those that read configuration. With `schedules` it
 * also announces lost work again.
 */
export function createOwnership(parts: OwnershipParts): Ownership {
  const { ownership } = parts.options.store;
  return ownership === undefined ? soleOwner : createShared(parts, ownership);
}

function createShared(parts: OwnershipParts, store: OwnershipStore): Ownership {
  const { delivers, schedules = delivers } = parts.options;
  const built = buildParts(parts, store);
  const { owned, sync, member, listener, reporter, stalled, queued, reannouncer, isLeader, resign } = built;
  const { workQueue } = parts.options;
  const unwatch = parts.options.store.watchRestarts?.(() => {
    const { log, metrics } = parts.options.telemetry;
    log.warn({}, "the database was restarted or replaced; reloading everything from it");
    metrics.alarmed("store_restarted");
    // Settlements that were waiting for a retry are written immediately, because their webhooks wait for them.
    parts.storeReturned();
    member.rejoin();
    void sync.reloadFromScratch();
  });
  return {
    holds: () => member.holds(),
    owned: () => owned.size,
    start: async () => {
      if (delivers) {
        await member.start();
        reporter.start();
        stalled.start();
      }
      listener.start();
      sync.start();
      if (delivers) queued?.start();
      if (schedules) reannouncer?.start();
    },
    wanted: (webhookId) => {
      if (!delivers) return;
      member.acquirer.workAdded(webhookId);
      // Without a queue, every worker receives the hint, and this process is one of them.
      if (workQueue?.isConnected !== true) void member.acquirer.wanted(webhookId);
    },
    order: async (endpoint, order) => {
      if (endpoint.owned) return;
      await store.order(endpoint.webhook.id, JSON.stringify(order));
    },
    refresh: (webhookIds, part) => (part === "states" ? sync.loadStates(webhookIds) : sync.load(webhookIds)),
    isLeader,
    pause: async () => {
      unwatch?.();
      member.pause();
      const loops = [listener, sync, reporter, stalled, reannouncer];
      await Promise.all([...loops.map((loop) => loop?.stop()), workQueue?.stopConsuming()]);
    },
    retire: () => {
      if (delivers) member.retire();
    },
    leave: async () => {
      await Promise.all([resign(), delivers ? member.leave() : undefined]);
    },
  };
}

/** Connects the parts, mostly by functions, so that each can be tested separately. */
function buildParts(parts: OwnershipParts, store: OwnershipStore): WorkerParts {
  const { options, directory, dispatcher, wakeups } = parts;
  const { clock, random, telemetry, delivers, workQueue: queue, pool = defaultPool } = options;
  const common = { clock, random, telemetry };
  const isBrought = (): boolean => queue?.isConnected === true;
  const owned = new OwnedEndpoints(clock, dispatcher, parts.notes);
  const { apply, remove } = parts;
  const { webhooks } = options.store;
  const news = options.sharedState?.news;
  const sync = new ConfigSync({ ...common, webhooks, ownership: store, directory, apply, remove });
  const endpoint = (id: string): Endpoint | undefined => directory.get(id);
  const member: ClusterMember = new ClusterMember({
    ...common,
    store,
    owned,
    pool,
    isBrought,
    endpoint,
    endpoints: () => directory.all(),
    load: (ids) => sync.load(ids),
    acquired: (each) => dispatcher.considerEndpoint(each),
    follow: (orders) => follow(parts, store, orders, member.worker),
    resumed: () => dispatcher.schedulePump(),
    workers: (count) => directory.shareTenantLimits(count),
    poolOf: ({ webhook }) => options.poolOf?.(webhook.tenantId) ?? defaultPool,
    renamed: (number) => {
      queue?.listenAs(number);
      // Poll once more after the queue is bound: hints that were sent to the new number before that are lost.
      if (queue !== undefined && number !== null) listener.lookSoon();
    },
  });
  const listener: StoreListener = new StoreListener({
    ...common,
    store: options.store,
    directory,
    sync,
    delivers,
    wakeups,
    isBrought,
    hasQueue: queue !== undefined,
    news,
    consider: (lane) => dispatcher.consider(lane),
    wanted: (id) => member.acquirer.wanted(id),
    ordered: () => member.ordered(),
  });
  const leaderships = new Leaderships(store, parts.nextId());
  const isLeader: Ownership["isLeader"] = (leadership) =>
    leaderships.acquire(leadership.name, leadership.forMs);
  const { flying } = parts;
  const reporter = new EndpointReporter(common, store, () => owned.all(), flying);
  const stalled = new StalledLanes({
    ...common,
    store,
    owned,
    endpoint,
    worker: () => (member.holds() ? member.worker : null),
    reread: (lane) => dispatcher.reread(lane),
    releaseUnowned: () => member.acquirer.releaseUnowned(),
  });
  const resign = (): Promise<void> => leaderships.resign();
  const shared = { owned, sync, member, listener, reporter, stalled, isLeader, resign };
  if (queue === undefined) return { ...shared, queued: null, reannouncer: null };
  const queued = new QueuedWork({
    queue,
    store,
    pool,
    endpoint,
    worker: () => member.worker,
    lookInto: (lane) => listener.lookInto(lane),
    acquire: (webhookId) => member.acquirer.wanted(webhookId),
    isUnservable: (webhookId) => member.acquirer.isUnservable(webhookId),
    missed: () => {
      member.acquirer.lookNow();
      void listener.lookEverywhere();
    },
  });
  const reannouncer = new Reannouncer(common, queue, store, () => isLeader(reannounceLeadership));
  return { ...shared, queued, reannouncer };
}

/** Executes each order once. Orders are deleted when their effect is stored; repeats before that have no effect. */
function follow(
  parts: OwnershipParts,
  store: OwnershipStore,
  orders: readonly RuntimeOrder[],
  worker: number | null,
): void {
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
      parts.options.telemetry.log.warn({ err: String(error) }, "removing followed orders failed");
    });
}

interface WorkerParts extends Pick<Ownership, "isLeader"> {
  readonly owned: OwnedEndpoints;
  readonly sync: ConfigSync;
  readonly member: ClusterMember;
  readonly listener: StoreListener;
  readonly reporter: EndpointReporter;
  readonly stalled: StalledLanes;
  /** Releases the leaderships of this process. */
  readonly resign: () => Promise<void>;
  /** Set only if there is a queue. */
  readonly queued: QueuedWork | null;
  readonly reannouncer: Reannouncer | null;
}

/** The pool of workers, and of tenants that are not assigned to another pool. */
const defaultPool = "default";
/** Longer than the pause between two rounds, so that a process remains the leader for as long as it runs. */
const reannounceLeadership = { name: "sweep", forMs: 15_000 };
