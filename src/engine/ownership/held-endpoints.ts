import { createCircuit } from "../../core/circuit-breaker.ts";
import { createHealth } from "../../core/endpoint-health.ts";
import { createBucket } from "../../core/rate-limit.ts";
import type { Clock } from "../../ports/clock.ts";
import type { AcquiredWebhook, Handover } from "../../ports/store/ownership.ts";
import type { Dispatcher } from "../dispatcher.ts";
import type { Endpoint } from "../endpoint.ts";
import { restoreRuntimeState, runtimeStateOf } from "../runtime-state.ts";

/** An endpoint that this process owns, and since when nothing has happened there. */
interface Held {
  idleSinceMs: number | null;
  lastSuccessAt: number | null;
}

export interface HeldEndpointsOptions {
  readonly clock: Clock;
  readonly dispatcher: Pick<Dispatcher, "giveBack">;
}

/**
 * The endpoints that a worker owns, and those that it is about to give back: those send nothing new, and go as soon as
 * their last request is settled.
 */
export class HeldEndpoints {
  readonly #options: HeldEndpointsOptions;
  readonly #held = new Map<Endpoint, Held>();
  readonly leaving = new Set<Endpoint>();

  constructor(options: HeldEndpointsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#held.size;
  }

  /** Takes an endpoint into service with what its last owner knew. It must be quiet. */
  take(endpoint: Endpoint, acquired: AcquiredWebhook): void {
    this.#inherit(endpoint, acquired);
    for (const lane of endpoint.lanes.values()) lane.renew();
    endpoint.wakeAt = null;
    endpoint.responsive = false;
    endpoint.owned = true;
    this.#held.set(endpoint, { idleSinceMs: null, lastSuccessAt: endpoint.lastSuccessAt });
    for (const key of acquired.lanes) endpoint.lane(key).markAllMore();
  }

  /** Sends nothing more for the endpoint and gives its buffered deliveries back. */
  drop(endpoint: Endpoint): void {
    if (!this.#held.delete(endpoint)) return;
    endpoint.owned = false;
    for (const lane of endpoint.lanes.values()) this.#options.dispatcher.giveBack(lane);
    endpoint.unlistLanes();
    this.leaving.add(endpoint);
  }

  /** Another process may own them all by now. */
  loseAll(): void {
    for (const endpoint of [...this.#held.keys()]) this.drop(endpoint);
    for (const endpoint of this.leaving) endpoint.fence = null;
    this.leaving.clear();
  }

  /** Those about to leave that may go. */
  readyToLeave(): readonly Endpoint[] {
    return [...this.leaving].filter(isQuiet);
  }

  all(): readonly Endpoint[] {
    return [...this.#held.keys()];
  }

  /** Endpoints where nothing waits and nothing has happened for so long. Looks at each, so not to be asked too often. */
  idleFor(idleMs: number): readonly Endpoint[] {
    const now = this.#options.clock.monotonicMs();
    const idle: Endpoint[] = [];
    for (const [endpoint, held] of this.#held) {
      const isBusy = endpoint.lastSuccessAt !== held.lastSuccessAt || !isIdle(endpoint);
      held.lastSuccessAt = endpoint.lastSuccessAt;
      held.idleSinceMs = isBusy ? null : (held.idleSinceMs ?? now);
      if (held.idleSinceMs !== null && now - held.idleSinceMs >= idleMs) idle.push(endpoint);
    }
    return idle;
  }

  /** Endpoints to give up for others, those first whose going disturbs least. */
  toGiveUp(count: number): readonly Endpoint[] {
    const rank = (endpoint: Endpoint): number => {
      if (isIdle(endpoint)) return 0;
      return isQuiet(endpoint) ? 1 : 2;
    };
    return [...this.#held.keys()].toSorted((left, right) => rank(left) - rank(right)).slice(0, count);
  }

  /** A bucket that a dead owner may have emptied begins empty: the limit holds, and a burst comes a little later. */
  #inherit(endpoint: Endpoint, { fence, runtime, rate }: AcquiredWebhook): void {
    const now = this.#options.clock.now();
    endpoint.fence = fence;
    endpoint.circuit = createCircuit(now);
    endpoint.health = createHealth();
    endpoint.pausedUntil = null;
    endpoint.pauseReason = null;
    if (runtime !== null) restoreRuntimeState(endpoint, runtime);
    const limit = endpoint.policy.rateLimit;
    if (limit === null) return;
    const bucket = createBucket(limit);
    if (rate.kind === "full_at") bucket.fullAt = rate.fullAt;
    if (rate.kind === "unknown") bucket.fullAt = now + bucket.toleranceMs + bucket.intervalMs;
    endpoint.bucket = bucket;
  }
}

/** What the next owner gets. */
export function handoverOf(endpoint: Endpoint): Handover {
  return { state: runtimeStateOf(endpoint), rateFullAt: endpoint.bucket?.fullAt ?? null };
}

/** No request, no lease and no write of the endpoint is under way in this process. */
export function isQuiet(endpoint: Endpoint): boolean {
  if (endpoint.inFlight > 0) return false;
  for (const lane of endpoint.lanes.values()) {
    if (lane.inFlight > 0 || lane.buffered > 0 || lane.reserved > 0) return false;
    if (lane.claiming || lane.releasing > 0) return false;
  }
  return true;
}

/** Quiet, and as far as is known nothing waits in the store: neither now nor for later. */
function isIdle(endpoint: Endpoint): boolean {
  if (!isQuiet(endpoint)) return false;
  for (const lane of endpoint.lanes.values()) if (lane.hasMore() || lane.wakeAt !== null) return false;
  return true;
}
