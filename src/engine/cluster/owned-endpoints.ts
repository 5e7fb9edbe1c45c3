import { createBucket, fillAt } from "../../domain/rate-limit.ts";
import { addResults, resizeWindow } from "../../domain/rolling-window.ts";
import type { Clock } from "../../ports/clock.ts";
import type { EndpointRecollection } from "../../ports/shared-state.ts";
import type { AcquiredWebhook, Handover, OwnedWebhook, RateHandover } from "../../ports/store/ownership.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { EndpointNotes } from "./endpoint-notes.ts";

/** An endpoint that this process owns, and when it became idle. */
interface Owned {
  idleSinceMs: number | null;
  lastSuccessAt: number | null;
}

/**
 * The endpoints that a worker owns, and those that it is about to release. A leaving endpoint starts no new requests,
 * and is released when its last request is settled. The states are drawn in docs/state-machine.md, "Endpoint at a
 * worker":
 *
 *               elsewhere ──acquire──▶ owned ──drop──▶ leaving ──released──▶ elsewhere
 *   owned       false                  true            false                 false
 *   ownerEpoch  null                   n               n                     null
 *
 * A leaving endpoint keeps its owner epoch, because its last requests are settled and written under it.
 */
export class OwnedEndpoints {
  readonly #clock: Clock;
  readonly #dispatcher: Pick<Dispatcher, "giveBack">;
  /**
   * Endpoint state that an owner publishes for the next one, in addition to the store; null if there are no other
   * processes.
   */
  readonly #notes: EndpointNotes | null;
  readonly #owned = new Map<Endpoint, Owned>();
  readonly leaving = new Set<Endpoint>();

  constructor(clock: Clock, dispatcher: Pick<Dispatcher, "giveBack">, notes: EndpointNotes | null) {
    this.#clock = clock;
    this.#dispatcher = dispatcher;
    this.#notes = notes;
  }

  get size(): number {
    return this.#owned.size;
  }

  /** Reads the published state of previous owners for the endpoints to acquire. Fast, and never rejects. */
  recall(endpoints: readonly (Endpoint | undefined)[]): Promise<Recollections> {
    const known = endpoints.filter((endpoint) => endpoint !== undefined);
    return this.#notes?.recall(known) ?? nothingKnown;
  }

  /** Brings an endpoint into service with the state from its last owner. The endpoint must be quiet. */
  acquire(endpoint: Endpoint, acquired: AcquiredWebhook, recollections: Recollections): void {
    this.#inherit(endpoint, acquired, recollections.get(endpoint));
    this.#notes?.acquired(endpoint);
    // The lane state in memory dates from an earlier ownership.
    for (const lane of endpoint.lanes.values()) lane.renew();
    endpoint.serve();
    // A leaving endpoint can be acquired only if the store had already released it and the reply was lost.
    this.leaving.delete(endpoint);
    this.#owned.set(endpoint, { idleSinceMs: null, lastSuccessAt: endpoint.lastSuccessAt });
    for (const key of acquired.lanes) endpoint.lane(key).markAllMore();
  }

  /** Stops sending for the endpoint and releases its buffered deliveries. */
  drop(endpoint: Endpoint): void {
    if (!this.#owned.delete(endpoint)) return;
    endpoint.giveUp();
    for (const lane of endpoint.lanes.values()) {
      this.#dispatcher.giveBack(lane);
      // The next owner ends all leases when it acquires the webhook, so this process does not need to wait until they
      // expire.
      lane.forgetLost();
    }
    this.leaving.add(endpoint);
    this.#notes?.hurry();
  }

  /** Drops all endpoints and releases nothing in the store, because other processes may own them now. */
  loseAll(): void {
    for (const endpoint of this.all()) this.drop(endpoint);
    for (const endpoint of this.leaving) endpoint.released();
    this.leaving.clear();
  }

  /** Drops all endpoints. The store has released the quiet ones; the others are still leaving. */
  dropAll(): void {
    for (const endpoint of this.all()) this.drop(endpoint);
    for (const endpoint of this.readyToLeave()) {
      endpoint.released();
      this.leaving.delete(endpoint);
    }
  }

  /** Endpoints that are not quiet yet, with the epoch under which their settlements and states are written. */
  unfinished(): readonly OwnedWebhook[] {
    return [...this.leaving].flatMap(({ webhook, ownerEpoch }) =>
      ownerEpoch === null ? [] : { webhookId: webhook.id, ownerEpoch },
    );
  }

  /** Leaving endpoints that are quiet. */
  readyToLeave(): readonly Endpoint[] {
    return [...this.leaving].filter(isQuiet);
  }

  all(): readonly Endpoint[] {
    return [...this.#owned.keys()];
  }

  /** Webhooks that this worker owns in the store, as far as this process knows. */
  ids(): readonly string[] {
    return [...this.#owned.keys(), ...this.leaving].map(({ webhook }) => webhook.id);
  }

  /** Endpoints without work for at least this long. Scans all endpoints, so do not call it often. */
  idleFor(idleMs: number): readonly Endpoint[] {
    const now = this.#clock.monotonicMs();
    const idle: Endpoint[] = [];
    for (const [endpoint, activity] of this.#owned) {
      const isBusy = endpoint.lastSuccessAt !== activity.lastSuccessAt || !isIdle(endpoint);
      activity.lastSuccessAt = endpoint.lastSuccessAt;
      activity.idleSinceMs = isBusy ? null : (activity.idleSinceMs ?? now);
      if (activity.idleSinceMs !== null && now - activity.idleSinceMs >= idleMs) idle.push(endpoint);
    }
    return idle;
  }

  /** Endpoints to release for other workers, the least busy ones first. */
  toGiveUp(count: number): readonly Endpoint[] {
    const disturbance = (endpoint: Endpoint): number => {
      if (isIdle(endpoint)) return 0;
      return isQuiet(endpoint) ? 1 : 2;
    };
    return [...this.#owned.keys()]
      .toSorted((left, right) => disturbance(left) - disturbance(right))
      .slice(0, count);
  }

  #inherit(endpoint: Endpoint, acquired: AcquiredWebhook, recollection?: EndpointRecollection): void {
    const { ownerEpoch, runtime } = acquired;
    const now = this.#clock.now();
    endpoint.acquire(ownerEpoch, runtime, now);
    const { rateLimit, circuitBreaker } = endpoint.policy;
    const { window } = endpoint.circuit;
    resizeWindow(window, circuitBreaker.windowSizeMs);
    if (recollection !== undefined) addResults(window, recollection.counts, now);
    if (rateLimit === null) return;
    const bucket = createBucket(rateLimit);
    // When a bucket is full again after its burst was just used up. The tolerance is the whole burst except one token.
    const emptyFullAt = now + bucket.toleranceMs + bucket.intervalMs;
    const notedFullAt = recollection?.rateFullAt ?? null;
    fillAt(bucket, inheritedFullAt(acquired.rate, notedFullAt, emptyFullAt));
    endpoint.inheritBucket(bucket);
  }
}

type Recollections = ReadonlyMap<Endpoint, EndpointRecollection>;

const nothingKnown: Promise<Recollections> = Promise.resolve(new Map());

/**
 * When a bucket is full again: the later of the timestamps in the store and in the published state. If a dead owner may
 * have emptied the bucket without publishing it, the bucket starts empty. The limit is then respected, but a burst may
 * be delayed slightly.
 */
function inheritedFullAt(rate: RateHandover, notedFullAt: number | null, emptyFullAt: number): number {
  if (rate.kind === "unknown") return notedFullAt ?? emptyFullAt;
  return Math.max(rate.kind === "full_at" ? rate.fullAt : 0, notedFullAt ?? 0);
}

/** The state that the next owner needs. */
export function handoverOf(endpoint: Endpoint): Handover {
  return { state: endpoint.state(), rateFullAt: endpoint.bucket?.fullAt ?? null };
}

/** Whether this process has no request, lease or write of the endpoint in progress. */
export function isQuiet(endpoint: Endpoint): boolean {
  if (endpoint.inFlight > 0) return false;
  for (const lane of endpoint.lanes.values()) {
    if (lane.inFlight > 0 || lane.settling > 0 || lane.buffered > 0 || lane.reserved > 0) return false;
    if (lane.claiming || lane.releasing > 0) return false;
  }
  return true;
}

/**
 * Whether the endpoint is quiet and, as far as this process knows, the store has no deliveries for it, due now or
 * later.
 */
function isIdle(endpoint: Endpoint): boolean {
  if (!isQuiet(endpoint)) return false;
  for (const lane of endpoint.lanes.values()) if (lane.hasMore() || lane.wakeAt !== null) return false;
  return true;
}
