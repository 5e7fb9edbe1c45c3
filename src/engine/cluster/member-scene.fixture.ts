import type { LaneKey } from "../../domain/webhook.ts";
import type {
  AcquiredWebhook,
  AcquireRequest,
  Acquisition,
  EndpointReportRow,
  Heartbeat,
  JoiningWorker,
  OwnedWebhook,
  PendingLane,
  PendingLanePage,
  Handover,
  OverdueQuery,
  OwnershipStore,
  RuntimeOrder,
} from "../../ports/store/ownership.ts";
import type { LanePage, WebhookRuntimeState } from "../../ports/store/deliveries.ts";
import type { Logger } from "../../ports/telemetry.ts";
import { bareEndpoint } from "../endpoint/bare-endpoint.fixture.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { ManualClock } from "../manual-clock.fixture.ts";
import { OwnedEndpoints } from "./owned-endpoints.ts";
import { ClusterMember } from "./cluster-member.ts";

/** An ownership store with scripted results that records its calls. */
export class ScriptedOwnershipStore implements OwnershipStore {
  readonly calls: string[] = [];
  readonly requests: AcquireRequest[] = [];
  readonly released: string[] = [];
  /** Arguments of each call to `join`. */
  readonly kept: (readonly OwnedWebhook[])[] = [];
  /** The webhooks that this worker owns according to the store. */
  readonly given = new Set<string>();
  /** Unowned webhooks; acquired ones are removed. */
  readonly free: string[] = [];
  /** Unclaimed lanes of webhooks that the worker owns. */
  overdueLanes: () => readonly LaneKey[] = () => [];
  pendingOrders: RuntimeOrder[] = [];
  heartbeatAnswer: () => Promise<Heartbeat | null> = async () => ({ workers: 1, owned: 0 });
  /** Calls wait until the test resolves this. */
  acquireGate: () => Promise<void> = async () => undefined;
  releaseGate: () => Promise<void> = async () => undefined;
  ordersGate: () => Promise<void> = async () => undefined;
  #joined = 0;

  async join({ keeps = [] }: JoiningWorker): Promise<number> {
    this.calls.push("join");
    this.kept.push(keeps);
    this.#joined += 1;
    return this.#joined;
  }

  async heartbeat({ worker }: { readonly worker: number }): Promise<Heartbeat | null> {
    this.calls.push(`heartbeat ${worker}`);
    return this.heartbeatAnswer();
  }

  async acquire(request: AcquireRequest): Promise<Acquisition> {
    this.requests.push(request);
    const { from } = request;
    const wanted = this.free.filter((id) =>
      from.kind === "webhooks" ? from.ids.includes(id) : !from.except.includes(id),
    );
    const acquired = wanted.slice(0, request.limit);
    for (const id of acquired) this.free.splice(this.free.indexOf(id), 1);
    for (const id of acquired) this.given.add(id);
    await this.acquireGate();
    return { webhooks: acquired.map(acquiredWebhook), next: null };
  }

  async pendingLanes(): Promise<readonly PendingLane[]> {
    return [];
  }

  async unownedLanes(): Promise<PendingLanePage> {
    return { lanes: [], next: null };
  }

  async overdue(_query: OverdueQuery): Promise<LanePage> {
    return { lanes: this.overdueLanes(), next: null };
  }

  async report(): Promise<void> {}

  async reports(): Promise<readonly EndpointReportRow[]> {
    return [];
  }

  async states(): Promise<readonly WebhookRuntimeState[]> {
    return [];
  }

  async release(_worker: number, webhooks: readonly Handover[]): Promise<void> {
    const ids = webhooks.map(({ state }) => state.webhookId);
    this.released.push(...ids);
    for (const id of ids) this.given.delete(id);
    await this.releaseGate();
  }

  async keepOnly(_worker: number, webhookIds: readonly string[]): Promise<void> {
    for (const id of this.given) {
      if (webhookIds.includes(id)) continue;
      this.given.delete(id);
      this.free.push(id);
    }
  }

  async retire(worker: number): Promise<void> {
    this.calls.push(`retire ${worker}`);
  }

  async pools(): Promise<ReadonlyMap<string, number>> {
    return new Map([["default", 1]]);
  }

  async leave(worker: number): Promise<void> {
    this.calls.push(`leave ${worker}`);
  }

  async order(): Promise<void> {}

  async orders(): Promise<readonly RuntimeOrder[]> {
    await this.ordersGate();
    return this.pendingOrders;
  }

  async followed(): Promise<void> {}

  async acquireLeadership(): Promise<boolean> {
    return true;
  }

  async leaderships(): Promise<ReadonlySet<string>> {
    return new Set();
  }
}

function acquiredWebhook(webhookId: string): AcquiredWebhook {
  return { webhookId, ownerEpoch: 7, runtime: null, rate: { kind: "unused" }, lanes: [] };
}
/** One worker with a scripted store; `events` records the order of calls. */
export class MemberScene {
  readonly store = new ScriptedOwnershipStore();
  readonly endpoints = new Map<string, Endpoint>();
  readonly events: string[] = [];
  readonly warnings: string[] = [];
  /** The worker numbers, in order. */
  readonly numbers: (number | null)[] = [];
  isBrought = false;
  load: (ids: readonly string[]) => Promise<void> = async () => undefined;
  readonly member: ClusterMember;
  readonly #clock: ManualClock;

  constructor(clock: ManualClock) {
    this.#clock = clock;
    const log: Logger = {
      debug: () => undefined,
      info: () => undefined,
      warn: (_, message) => void this.warnings.push(message),
      error: () => undefined,
    };
    const owned = new OwnedEndpoints(clock, { giveBack: () => undefined }, null);
    this.member = new ClusterMember({
      store: this.store,
      clock,
      owned,
      random: { uniform: () => 0.5, bytes: (count) => new Uint8Array(count) },
      telemetry: { log, metrics: {} as never },
      endpoint: (id) => this.endpoints.get(id),
      endpoints: () => this.endpoints.values(),
      load: (ids) => this.load(ids),
      acquired: (endpoint) => void this.events.push(`taken ${endpoint.webhook.id}`),
      follow: (orders) => void this.events.push(`follow ${orders.map(({ order }) => order).join()}`),
      resumed: () => void this.events.push("resumed"),
      workers: () => undefined,
      pool: "default",
      poolOf: () => "default",
      isBrought: () => this.isBrought,
      renamed: (worker) => void this.numbers.push(worker),
    });
  }

  /** An endpoint with work and no owner. */
  add(id: string): Endpoint {
    const endpoint = bareEndpoint({ id });
    this.endpoints.set(id, endpoint);
    this.store.free.push(id);
    return endpoint;
  }

  bare(id: string): Endpoint {
    return bareEndpoint({ id });
  }

  /** Advances time in small steps, and runs the callbacks that are due after each step. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= stepMs) {
      this.#clock.advance(Math.min(left, stepMs));
      for (let turn = 0; turn < 3; turn += 1) await this.#clock.turn();
    }
  }
}

const stepMs = 100;
