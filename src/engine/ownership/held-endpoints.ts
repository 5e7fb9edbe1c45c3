import { createCircuit } from "../../core/circuit-breaker.ts";
import { createHealth } from "../../core/endpoint-health.ts";
import { createBucket } from "../../core/rate-limit.ts";
import { addResults, resizeWindow } from "../../core/rolling-window.ts";
import type { Clock } from "../../ports/clock.ts";
import type { EndpointRecollection } from "../../ports/shared-state.ts";
import type { AcquiredWebhook, Handover, RateHandover } from "../../ports/store/ownership.ts";
import type { Dispatcher } from "../dispatcher.ts";
import type { Endpoint } from "../endpoint.ts";
import { restoreRuntimeState, runtimeStateOf } from "../runtime-state.ts";
import type { EndpointNotes } from "../shared/endpoint-notes.ts";

/** An endpoint that this process owns, and since when nothing has happened there. */
interface Held {
  idleSinceMs: number | null;
  lastSuccessAt: number | null;
}

export interface HeldEndpointsOptions {
  readonly clock: Clock;
  readonly dispatcher: Pick<Dispatcher, "giveBack">;
  /** What owners leave for the next one beside the store; null where they leave nothing. */
  readonly notes: EndpointNotes | null;
}

/**
 * The endpoints that a worker owns, and those that it is about to give back: those send nothing new, and go as soon as
 * their last request is settled. The states are drawn in docs/state-machine.md, "Endpoint at a worker":
 *
 *   elsewhere ──take──▶ held ──drop──▶ leaving ──released──▶ elsewhere
 *   owned  false        true           false                false
 *   fence  null         n              n                    null
 *
 * The fence stays while an endpoint leaves, because what is still on its way is settled and written under it.
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

  /** What the last owners noted of endpoints that are about to be taken. Soon, and never rejects. */
  recall(endpoints: readonly (Endpoint | undefined)[]): Promise<Recollections> {
    const known = endpoints.filter((endpoint) => endpoint !== undefined);
    return this.#options.notes?.recall(known) ?? nothingKnown;
  }

  /** Takes an endpoint into service with what its last owner knew. It must be quiet. */
  take(endpoint: Endpoint, acquired: AcquiredWebhook, recollections: Recollections): void {
    this.#inherit(endpoint, acquired, recollections.get(endpoint));
    this.#options.notes?.taken(endpoint);
    // What its lanes remember is from an earlier ownership.
    for (const lane of endpoint.lanes.values()) lane.renew();
    endpoint.wakeAt = null;
    endpoint.responsive = false;
    endpoint.owned = true;
    endpoint.report = null;
    // The store had taken it back already, and only its answer was lost.
    this.leaving.delete(endpoint);
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
    this.#options.notes?.hurry();
  }

  /** Another process may own them all by now, so there is nothing to give back. */
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

  /** Webhooks that the store has given to this worker, as far as is known here. */
  ids(): readonly string[] {
    return [...this.#held.keys(), ...this.leaving].map(({ webhook }) => webhook.id);
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

  #inherit(endpoint: Endpoint, acquired: AcquiredWebhook, recollection?: EndpointRecollection): void {
    const { fence, runtime } = acquired;
    const now = this.#options.clock.now();
    endpoint.fence = fence;
    endpoint.circuit = createCircuit(now);
    endpoint.health = createHealth();
    endpoint.pausedUntil = null;
    endpoint.pauseReason = null;
    if (runtime !== null) restoreRuntimeState(endpoint, runtime);
    const { rateLimit, circuitBreaker } = endpoint.policy;
    const { window } = endpoint.circuit;
    resizeWindow(window, circuitBreaker.windowSizeMs);
    if (recollection !== undefined) addResults(window, recollection.counts, now);
    if (rateLimit === null) return;
    const bucket = createBucket(rateLimit);
    // When a bucket is full again whose burst was used up just now: the tolerance is all of it but one token.
    const emptyFullAt = now + bucket.toleranceMs + bucket.intervalMs;
    bucket.fullAt = inheritedFullAt(acquired.rate, {
      notedFullAt: recollection?.rateFullAt ?? null,
      emptyFullAt,
    });
    endpoint.bucket = bucket;
  }
}

type Recollections = ReadonlyMap<Endpoint, EndpointRecollection>;

const nothingKnown: Promise<Recollections> = Promise.resolve(new Map());

/**
 * When a bucket is full again, the later of what the store and the notes say. One that a dead owner may have emptied and
 * of which nothing was noted begins empty: the limit holds, and a burst comes a little later.
 */
function inheritedFullAt(
  rate: RateHandover,
  known: { readonly notedFullAt: number | null; readonly emptyFullAt: number },
): number {
  if (rate.kind === "unknown") return known.notedFullAt ?? known.emptyFullAt;
  return Math.max(rate.kind === "full_at" ? rate.fullAt : 0, known.notedFullAt ?? 0);
}

/** What the next owner gets. */
export function handoverOf(endpoint: Endpoint): Handover {
  return { state: runtimeStateOf(endpoint), rateFullAt: endpoint.bucket?.fullAt ?? null };
}

/** No request, no lease and no write of the endpoint is under way in this process. */
export function isQuiet(endpoint: Endpoint): boolean {
  if (endpoint.inFlight > 0) return false;
  for (const lane of endpoint.lanes.values()) {
    if (lane.inFlight > 0 || lane.settling > 0 || lane.buffered > 0 || lane.reserved > 0) return false;
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
