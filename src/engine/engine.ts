import type { DeliveryGate } from "../domain/gate-explanation.ts";
import type { CircuitTransition } from "../domain/circuit-breaker.ts";
import type { RateLimitConfig } from "../domain/profile.ts";
import { standard } from "../domain/profiles/standard.ts";
import { WaitingSlots } from "../domain/request-slots.ts";
import { statisticsKeptMsDefault } from "../domain/statistics/facts.ts";
import { createUuidV7Source } from "../domain/uuid.ts";
import type { Webhook } from "../domain/webhook.ts";
import type {
  EndResult,
  RequeueCommand,
  RequeueResult,
  RetryCommand,
  RetryResult,
} from "../ports/store/deliveries.ts";
import type { StoredDelivery } from "../ports/store/history.ts";
import type { StoredSecret } from "../ports/store/webhooks.ts";
import {
  Attempts,
  Flights,
  type RenderedFrom,
  type RenderedRequest,
  renderRequest,
} from "./attempt/attempts.ts";
import { EventSpans } from "./attempt/event-spans.ts";
import { OwnFaults, Shortages } from "./attempt/own-faults.ts";
import { OwnerAlerts } from "./attempt/owner-alerts.ts";
import { Settler } from "./attempt/settle.ts";
import { DeliveryChanges, EndpointChanges } from "./changes.ts";
import { createOwnership } from "./cluster/create-ownership.ts";
import type { EngineActivity, EngineOptions } from "./engine-options.ts";
import { EndpointNotes } from "./cluster/endpoint-notes.ts";
import { CommitGroup } from "./commit/commit-group.ts";
import { WaitingStates, CommitRiders } from "./commit/write-group.ts";
import { type CommitStatistics, createStatistics } from "./commit/commit-statistics.ts";
import { ProblemWatch } from "./commit/problem-watch.ts";
import { Dispatcher } from "./dispatch/dispatcher.ts";
import { OldestDue } from "./dispatch/oldest-due.ts";
import { BacklogReader, loadWebhooks } from "./dispatch/recovery.ts";
import { Directory } from "./endpoint/directory.ts";
import { EndpointStates } from "./endpoint/endpoint-states.ts";
import { type DeliveryView, explain, explainWebhook } from "./endpoint/explain.ts";
import { placeOf } from "./endpoint/lane.ts";
import type { EndpointWakes } from "./endpoint/endpoint.ts";
import type { LiveWebhook } from "./endpoint/endpoint-config.ts";
import type { Leadership, Ownership } from "./endpoint/ownership.ts";
import { Wakeups } from "./endpoint/wakeups.ts";
import { WebhookLifecycle } from "./endpoint/webhook-lifecycle.ts";
import { TenantAllowances } from "./endpoint/tenant-allowances.ts";
import type { TenantQueue } from "./endpoint/tenant-queue.ts";
import type { EndDeliveries, EngineAccess, WebhookChange } from "./engine-access.ts";
import { Forwarder } from "./forward/forwarder.ts";
import { RelayedMessages } from "./forward/relayed-messages.ts";
import { FanOuts } from "./publish/fan-outs.ts";
import { OperationalRelay } from "./publish/operational-relay.ts";
import type { SystemEvent } from "./publish/publish-call.ts";
import { KnownPublishes } from "./publish/known-publishes.ts";
import { Publisher } from "./publish/publish.ts";
import { ProblemUpkeep, Upkeep } from "./upkeep.ts";

/**
 * The running system: publish, dispatch, deliver, settle, upkeep, connected to one store and one transport.
 *
 * It can be started once. Stopping it twice is safe, and `stop` waits until all work has ended.
 */
export class Engine implements EngineAccess {
  readonly #options: EngineOptions;
  readonly #wakeups: Wakeups;
  readonly #shared: SharedParts;
  readonly #directory: Directory;
  readonly #statistics: CommitStatistics | null;
  readonly #problems: ProblemWatch;
  readonly #commits: CommitGroup;
  readonly #dispatcher: Dispatcher;
  readonly publisher: Publisher;
  readonly #lifecycle: WebhookLifecycle;
  readonly #upkeep: Upkeep;
  readonly #fanOuts: FanOuts;
  readonly oldestDue: OldestDue;
  readonly #backlog: BacklogReader;
  readonly #states: EndpointStates;
  readonly #ownership: Ownership;
  readonly #flights: Flights;
  readonly #shortages: Shortages;
  readonly #ownerAlerts: OwnerAlerts;
  readonly #ownFaults: OwnFaults;
  readonly #spans: EventSpans | null;
  readonly relay: OperationalRelay;
  readonly gateway: RelayedMessages;
  readonly #changes: EndpointChanges;
  readonly #deliveries: DeliveryChanges;
  readonly waitingSlots: WaitingSlots;
  readonly nextId: () => string;
  readonly placeOf = placeOf;
  #stopping: Promise<void> | null = null;

  constructor(options: EngineOptions) {
    this.#options = options;
    const { clock, random } = options;
    const ids = createUuidV7Source(
      () => clock.now(),
      (count) => random.bytes(count),
    );
    this.nextId = () => ids.next();
    const { tracer } = options.telemetry;
    this.#spans = tracer === undefined ? null : new EventSpans(tracer, clock);
    this.#wakeups = new Wakeups(clock, () => this.#upkeep.clockSetBack());
    this.#shared = createSharedParts(options, (tenantQueue) =>
      this.#dispatcher.considerTenantQueue(tenantQueue),
    );
    const touch = () => this.#commits.touch();
    this.#directory = this.#makeDirectory();
    const severalTenants = () => this.#directory.hasSeveralTenants;
    this.waitingSlots = new WaitingSlots(options.limits.waitingRequests, severalTenants);
    this.relay = new OperationalRelay(
      options,
      this.#directory,
      () => this.publisher,
      () => this.#ownership,
      touch,
    );
    const { events } = this.relay;
    this.#states = new EndpointStates(options, this.#directory, this.#shared.notes, events, touch);
    this.#statistics = createStatistics(options, touch);
    this.#problems = new ProblemWatch(options, options.store.problems, (move) =>
      this.relay.problemMoved(move),
    );
    this.#commits = this.#makeCommitGroup();
    this.#flights = new Flights(clock);
    this.#shortages = new Shortages(options, () => this.#dispatcher);
    this.#ownerAlerts = new OwnerAlerts(options, events);
    this.#ownFaults = new OwnFaults(options);
    this.#lifecycle = new WebhookLifecycle(
      options,
      (webhook) => this.#applyStatus(webhook),
      () => this.relay.stored(),
    );
    this.#dispatcher = this.#makeDispatcher(this.#makeSettler());
    this.#fanOuts = new FanOuts(options, this.#directory, this.#dispatcher);
    this.publisher = this.#makePublisher();
    const parts = { directory: this.#directory, dispatcher: this.#dispatcher, commits: this.#commits };
    const { deliveries } = options.store;
    this.#backlog = new BacklogReader(options, deliveries, this.#directory, this.#dispatcher);
    this.oldestDue = this.#makeOldestDue();
    this.#ownership = this.#makeOwnership();
    this.#upkeep = this.#makeUpkeep();
    const { telemetry } = options;
    const ownership = this.#ownership;
    this.gateway = this.#makeGateway();
    this.#changes = new EndpointChanges({ ...parts, telemetry, states: this.#states, ownership });
    const isCounted = this.#statistics !== null;
    this.#deliveries = new DeliveryChanges(
      deliveries,
      this.#commits,
      this.#directory,
      this.#dispatcher,
      isCounted,
    );
  }

  // ---- the parts ----------------------------------------------------------------------------------------------

  #common(): Pick<EngineOptions, "clock" | "random" | "telemetry"> & SharedParts {
    const { clock, random, telemetry } = this.#options;
    return { clock, random, telemetry, ...this.#shared };
  }

  #makeDirectory(): Directory {
    const wakes: EndpointWakes = {
      endpointWoke: (endpoint) => this.#dispatcher.considerEndpoint(endpoint),
      laneWoke: (lane) => this.#dispatcher.consider(lane),
      tenantQueueWoke: (tenantQueue) => this.#dispatcher.considerTenantQueue(tenantQueue),
    };
    return new Directory(this.#options, this.#wakeups, wakes, this.#shared.allowances);
  }

  #makeCommitGroup(): CommitGroup {
    const { store, limits } = this.#options;
    return new CommitGroup({
      ...this.#common(),
      store: store.deliveries,
      waitingStates: new WaitingStates(() => this.#states.take(), this.relay.events),
      riders: new CommitRiders(this.#statistics, this.#problems),
      recovered: () => this.#dispatcher.schedulePump(),
      windowMs: limits.commitWindowMs,
      rowsMax: limits.commitRowsMax,
    });
  }

  /** If several processes share a store, the schedulers check unowned webhooks. */
  #makeOldestDue(): OldestDue {
    const { store, delivers, schedules = delivers } = this.#options;
    const ownership = schedules ? (store.ownership ?? null) : null;
    return new OldestDue(this.#options, store.deliveries, ownership, this.#directory, this.#dispatcher);
  }

  #makeSettler(): Settler {
    return new Settler({
      ...this.#common(),
      commits: this.#commits,
      states: this.#states,
      lifecycle: this.#lifecycle,
      nextId: this.nextId,
      ownerAlerts: this.#ownerAlerts,
      ownFaults: this.#ownFaults,
      dispatcher: () => this.#dispatcher,
      spans: this.#spans,
    });
  }

  #makeDispatcher(settler: Settler): Dispatcher {
    const { store, limits } = this.#options;
    return new Dispatcher({
      ...this.#common(),
      ...limits,
      severalTenants: () => this.#directory.hasSeveralTenants,
      waitingSlots: this.waitingSlots,
      store: store.deliveries,
      wakeups: this.#wakeups,
      attempts: new Attempts(this.#options, this.#flights, settler, this.#shortages),
      settler,
      states: this.#states,
      commits: this.#commits,
      shortages: this.#shortages,
      ownership: () => this.#ownership,
      backlog: () => this.#backlog,
    });
  }

  #makeGateway(): RelayedMessages {
    const forwarder = new Forwarder(this.#options, this.#commits, this.nextId, this.#states, this.#ownFaults);
    const refresh = (ids: readonly string[]) => this.#ownership.refresh(ids);
    return new RelayedMessages(this.#directory, refresh, this.publisher, forwarder);
  }

  #makePublisher(): Publisher {
    const { limits, tenantExists, schemas } = this.#options;
    return new Publisher({
      ...this.#common(),
      commits: this.#commits,
      dispatcher: this.#dispatcher,
      subscriptions: this.#directory.subscriptions,
      tenantExists,
      schemas,
      nextId: this.nextId,
      payloadBytesMax: limits.payloadBytesMax,
      leaseMs: limits.leaseMs,
      eventRowsMax: limits.eventRowsMax,
      spans: this.#spans,
      fanOuts: this.#fanOuts,
    });
  }

  #makeUpkeep(): Upkeep {
    const { store, retention, statisticsKeptMs } = this.#options;
    return new Upkeep({
      ...this.#common(),
      store: store.upkeep,
      statistics: store.statistics,
      webhooks: store.webhooks,
      gateway: store.gateway,
      notifications: store.notifications,
      states: this.#states,
      ownership: this.#ownership,
      statisticsKeptMs: statisticsKeptMs ?? statisticsKeptMsDefault,
      countsEnds: this.#statistics !== null,
      problems: new ProblemUpkeep(store.problems, this.#problems),
      directory: this.#directory,
      dispatcher: this.#dispatcher,
      lifecycle: this.#lifecycle,
      retention,
      fanOuts: this.#fanOuts,
      told: () => this.relay.stored(),
      ageMsDefault: standard.ageMsMax,
      schedules: this.#options.schedules ?? this.#options.delivers,
    });
  }

  #makeOwnership(): Ownership {
    return createOwnership({
      options: this.#options,
      directory: this.#directory,
      dispatcher: this.#dispatcher,
      wakeups: this.#wakeups,
      notes: this.#shared.notes,
      nextId: this.nextId,
      apply: (stored) => this.#changes.apply(stored),
      remove: (id) => this.#changes.remove(id),
      circuitMoved: (endpoint, move) => this.#states.circuitMoved(endpoint, move),
      reenabled: (endpoint) => this.#states.reenabled(endpoint),
      resumed: (endpoint) => this.#states.resumed(endpoint),
      written: () => this.#commits.written(),
      storeReturned: () => this.#commits.retryNow(),
      flying: () => this.#flights.byEndpoint(),
    });
  }

  // ---- start and stop -----------------------------------------------------------------------------------------

  /**
   * Loads the webhooks, then starts to deliver. Resolves before the backlog has been read, which continues in parallel
   * with new work.
   */
  async start(): Promise<void> {
    await loadWebhooks(this.#options.store.webhooks, this.#directory);
    const { delivers, schedules } = this.#options;
    if (delivers) await this.#problems.load();
    if (delivers) this.#dispatcher.start();
    if (delivers || schedules) this.#upkeep.start();
    this.relay.start();
    await this.#ownership.start();
    // With several processes, an acquired endpoint comes with its lanes.
    if (delivers && this.#ownership.owned() === null) this.#backlog.start();
  }

  /** Stops claiming, waits for requests in flight up to the grace time, releases the rest, and writes settlements. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping ??= this.#stop(graceMs);
    await this.#stopping;
  }

  async #stop(graceMs: number): Promise<void> {
    this.publisher.stop();
    this.#shared.knownPublishes?.pause();
    await this.#ownership.pause();
    await this.#dispatcher.stop(this.#directory.all());
    this.#ownership.retire();
    await Promise.all([this.#upkeep.stop(), this.#fanOuts.stop()]);
    await this.relay.stop();
    await this.#backlog.stop();
    await this.#flights.wait(graceMs);
    await this.#dispatcher.letGo(this.#flights.abandon());
    await this.#options.transport.close();
    await this.#lifecycle.stop();
    this.#states.write();
    await this.#commits.drain();
    await this.#dispatcher.released();
    await stopSharedParts(this.#shared);
    await this.#ownership.leave();
    this.#wakeups.stop();
    this.#shortages.stop();
  }

  // ---- interface for services (engine-access.ts) --------------------------------------------------------------

  webhook(id: string): LiveWebhook | undefined {
    return this.#directory.get(id);
  }

  webhooks(): Iterable<LiveWebhook> {
    return this.#directory.all();
  }

  applyWebhook(change: WebhookChange): void {
    this.#changes.made(change);
  }

  removeWebhook(id: string): void {
    this.#changes.remove(id);
  }

  cancelWaiting(webhookId: string): Promise<void> {
    return this.#upkeep.cancelWaiting(webhookId);
  }

  applyTenantKeys(tenantId: string, keys: readonly StoredSecret[]): void {
    this.#directory.applyTenantKeys(tenantId, keys);
  }

  applyTenantLimit(tenantId: string, rateLimit: RateLimitConfig | null): void {
    this.#directory.applyTenantLimit(tenantId, rateLimit);
    this.#dispatcher.considerTenantQueue(this.#directory.tenantQueue(tenantId));
  }

  publishSystemEvent(event: SystemEvent): ReturnType<EngineAccess["publishSystemEvent"]> {
    const only = event.onlyWebhookId === null ? undefined : this.#directory.get(event.onlyWebhookId);
    return this.publisher.publishSystem(event, only);
  }

  leads(leadership: Leadership): Promise<boolean> {
    return this.#ownership.isLeader(leadership);
  }

  retry(command: RetryCommand): Promise<RetryResult> {
    return this.#deliveries.retry(command);
  }

  requeue(command: RequeueCommand): Promise<RequeueResult> {
    return this.#deliveries.requeue(command);
  }

  end(command: EndDeliveries): Promise<readonly EndResult[]> {
    return this.#deliveries.end(command);
  }

  explain(delivery: StoredDelivery): DeliveryView {
    return explain({
      delivery,
      endpoint: this.#directory.get(delivery.webhookId),
      inFlight: this.#flights.has(delivery.id),
      now: this.#options.clock.now(),
    });
  }

  gates(webhookId: string): readonly DeliveryGate[] {
    const endpoint = this.#directory.get(webhookId);
    return endpoint === undefined ? [] : explainWebhook(endpoint, this.#options.clock.now());
  }

  renderRequest(from: Omit<RenderedFrom, "config">): RenderedRequest | null {
    const endpoint = this.#directory.get(from.delivery.webhookId);
    return endpoint === undefined ? null : renderRequest({ ...from, config: endpoint.config });
  }

  circuitChanged(webhookId: string, transition: CircuitTransition | null = null): Promise<void> {
    return this.#changes.circuitChanged(webhookId, transition);
  }

  resume(webhookId: string): Promise<void> {
    return this.#changes.resume(webhookId);
  }

  refresh(webhookIds: readonly string[], part?: "states"): Promise<void> {
    return this.#ownership.refresh(webhookIds, part);
  }

  /** Runs one round of upkeep immediately, for tests and commands. */
  upkeepRound(): Promise<void> {
    return this.#upkeep.round();
  }

  activity(): EngineActivity {
    return {
      inFlight: this.#dispatcher.inFlight,
      active: this.#dispatcher.active,
      concurrency: this.#options.limits.concurrency,
      waitingInUse: this.waitingSlots.inUse,
      waitingRequests: this.waitingSlots.size,
      uncommitted: this.#commits.backlog,
      storeTrouble: this.#commits.trouble,
      shortage: this.#shortages.current,
      webhooks: this.#directory.size,
      owned: this.#ownership.owned(),
      holds: this.#ownership.holds(),
      commitMs: this.#commits.commitMs,
      statisticsLagMs: this.#statistics?.lagMs ?? 0,
      upkeepLagMs: this.#upkeep.lagMs,
    };
  }

  #applyStatus(webhook: Webhook): void {
    const endpoint = this.#directory.get(webhook.id);
    if (endpoint !== undefined) this.#changes.apply({ webhook, secrets: endpoint.secrets });
  }
}

/** The engine parts that use the shared state. All of them are null if it is not configured. */
interface SharedParts {
  readonly allowances: TenantAllowances | null;
  readonly notes: EndpointNotes | null;
  readonly knownPublishes: KnownPublishes | null;
}

/**
 * `woke` is called when the gates of a tenant queue may have opened, or the time at which they open has become known.
 */
function createSharedParts(options: EngineOptions, woke: (tenantQueue: TenantQueue) => void): SharedParts {
  const { sharedState: state, store } = options;
  if (state === undefined) return { allowances: null, notes: null, knownPublishes: null };
  return {
    allowances: new TenantAllowances(options, state, woke),
    // A sole owner has no successor, so it publishes no endpoint state.
    notes: store.ownership === undefined ? null : new EndpointNotes(options, state),
    knownPublishes: new KnownPublishes(options, state),
  };
}

/**
 * Returns unused tokens and sends pending endpoint state. Call after the last commit, and before the endpoints are
 * released.
 */
async function stopSharedParts({ allowances, notes, knownPublishes }: SharedParts): Promise<void> {
  await Promise.all([allowances?.stop(), notes?.stop(), knownPublishes?.stop()]);
}
