import { createCircuit } from "../../core/circuit-breaker.ts";
import type { CircuitBreakerState } from "../../core/circuit-breaker.ts";
import type { DeliveryPolicy } from "../../core/delivery-policy.ts";
import { createHealth } from "../../core/endpoint-health.ts";
import type { EndpointHealth, EndpointPause, PauseReason } from "../../core/endpoint-health.ts";
import type { PayloadFormatName } from "../../core/profile.ts";
import { findProfile } from "../../core/profiles/index.ts";
import { createBucket, reconfigureBucket } from "../../core/rate-limit.ts";
import type { RateBucket } from "../../core/rate-limit.ts";
import type { LaneKey, Webhook } from "../../core/webhook.ts";
import type { StoredSecret } from "../../ports/store/webhooks.ts";
import type { AccessTokens } from "../credentials/access-tokens.ts";
import type { EndpointConfig } from "./endpoint-config.ts";
import { Fifo } from "./fifo.ts";
import { GateLog } from "./gate-log.ts";
import type { ClosedGate } from "./gates.ts";
import type { Host } from "./host-places.ts";
import { Lane, laneId } from "./lane.ts";
import type { LiveWebhook } from "../engine-access.ts";
import type { EndpointReport } from "../cluster/endpoint-reports.ts";
import type { Pace } from "./pace.ts";
import type { TenantQueue } from "./tenant-queue.ts";
import type { Sleeper } from "./wakeups.ts";

/** Called when a gate may have opened or a due time was reached. */
export interface EndpointWakes {
  readonly endpointWoke: (endpoint: Endpoint) => void;
  readonly laneWoke: (lane: Lane) => void;
  readonly tenantQueueWoke: (tenantQueue: TenantQueue) => void;
}

/**
 * The running side of a webhook: its gates, its lanes and what is known of its receiver. One exists per webhook that is
 * not deleted. Owned by the engine; everything is changed in place because it is touched on every attempt.
 */
export class Endpoint implements LiveWebhook, Sleeper {
  config: EndpointConfig;
  readonly tenantQueue: TenantQueue;
  circuit: CircuitBreakerState;
  health: EndpointHealth = createHealth();
  pausedUntil: number | null = null;
  pauseReason: PauseReason | null = null;
  lastSuccessAt: number | null = null;
  /** When its gates held something back; null while they never did. */
  gateLog: GateLog | null = null;
  bucket: RateBucket | null = null;

  /** This process serves it (ownership/). Where it does not, nothing of it is listed, claimed or sent. */
  owned: boolean;
  /**
   * Of the ownership, where there are several processes: from when the webhook was taken until the store has taken it back,
   * so also while it is given up and no longer `owned`.
   */
  ownerEpoch: number | null = null;

  /** What its owner said of it a moment ago; null where this process is the owner, or nothing was said. */
  report: EndpointReport | null = null;

  /** Where access tokens come from; null for webhooks without an OAuth 2.0 client. */
  tokens: AccessTokens | null = null;

  readonly lanes = new Map<string, Lane>();
  /** Lanes that may have something to send, by the priority of their head. Entries can be stale; see `Lane.readyTier`. */
  readonly #readyLanes: readonly [Fifo<Lane>, Fifo<Lane>, Fifo<Lane>] = [new Fifo(), new Fifo(), new Fifo()];
  /** In which ready list of its tenant queue it stands; -1 when in none. */
  readyTier = -1;
  wakeAt: number | null = null;
  inFlight = 0;
  /** How it answered last. Endpoints that are not known to be quick may only use a part of the capacity. */
  pace: Pace = "unknown";
  /** It stands in line for one of the places that such endpoints share (fair-shares.ts). */
  inLine = false;
  /** In whose line it stands for a place (host-places.ts). */
  waitsAt: Host | null = null;
  lastSuccessWrittenAt = 0;
  readonly #wakes: EndpointWakes;

  constructor(
    config: EndpointConfig,
    more: {
      readonly tenantQueue: TenantQueue;
      readonly now: number;
      readonly wakes: EndpointWakes;
      readonly owned: boolean;
    },
  ) {
    this.config = config;
    this.owned = more.owned;
    this.tenantQueue = more.tenantQueue;
    this.circuit = createCircuit(more.now);
    this.#wakes = more.wakes;
    this.#applyRateLimit();
  }

  get webhook(): Webhook {
    return this.config.webhook;
  }

  /** Nothing is sent before. A pause that lasts longer stays. */
  pause({ until, reason }: EndpointPause): boolean {
    if (this.pausedUntil !== null && this.pausedUntil >= until) return false;
    this.pausedUntil = until;
    this.pauseReason = reason;
    return true;
  }

  /** Ends a pause; the wake-up that was to end it finds nothing. */
  resume(): void {
    this.pausedUntil = null;
    this.pauseReason = null;
  }

  /** Something that was to be sent found a gate closed. */
  noteClosed(gate: ClosedGate, now: number): void {
    this.gateLog ??= new GateLog();
    this.gateLog.note(gate, now);
  }

  get isQuick(): boolean {
    return this.pace === "quick";
  }

  get policy(): DeliveryPolicy {
    return this.config.policy;
  }

  get secrets(): readonly StoredSecret[] {
    return this.config.secrets;
  }

  reconfigure(config: EndpointConfig): void {
    this.config = config;
    this.#applyRateLimit();
  }

  wake(): void {
    this.#wakes.endpointWoke(this);
  }

  laneWoke(lane: Lane): void {
    this.#wakes.laneWoke(lane);
  }

  /** The lane of a key, made on first use. */
  lane(key: LaneKey): Lane {
    const id = laneId(key);
    let lane = this.lanes.get(id);
    if (lane === undefined) {
      lane = new Lane(key, this);
      this.lanes.set(id, lane);
    }
    return lane;
  }

  /** The lane that events of a type enter when they are published now. */
  laneFor(eventType: string): Lane {
    return this.lane(laneKeyFor(this.webhook, eventType));
  }

  /** Notes that a lane may have something of a tier to send. */
  list(lane: Lane, tier: number): void {
    if (lane.readyTier !== -1 && lane.readyTier <= tier) return;
    lane.readyTier = tier;
    this.#readyLanes[tier]?.push(lane);
  }

  /** Lists a lane that came with `nextLane` and sent nothing before all others of its tier. */
  putBack(lane: Lane, tier: number): void {
    lane.readyTier = tier;
    this.#readyLanes[tier]?.unshift(lane);
  }

  /** How many deliveries are in memory in listed lanes, as far as `max`. An ordered lane sends one at a time. */
  readyCount(max: number): number {
    let count = 0;
    for (const [tier, list] of this.#readyLanes.entries()) {
      for (const lane of list) {
        if (count >= max) return max;
        if (lane.readyTier === tier) count += lane.ordered ? Math.min(lane.buffered, 1) : lane.buffered;
      }
    }
    return Math.min(count, max);
  }

  /** The highest tier with a listed lane, -1 without one. A stale entry may make it too high. */
  listedTier(): number {
    const [high, normal, low] = this.#readyLanes;
    if (high.length > 0) return 0;
    if (normal.length > 0) return 1;
    return low.length > 0 ? 2 : -1;
  }

  /** Takes the next listed lane, highest priority first. */
  nextLane(): Lane | undefined {
    for (let tier = 0; tier < this.#readyLanes.length; tier += 1) {
      const list = this.#readyLanes[tier as 0 | 1 | 2];
      for (let lane = list.shift(); lane !== undefined; lane = list.shift()) {
        if (lane.readyTier !== tier) continue;
        lane.readyTier = -1;
        if (!lane.ordered || lane.inFlight === 0) return lane;
      }
    }
    return undefined;
  }

  unlistLanes(): void {
    for (const lane of this.lanes.values()) lane.readyTier = -1;
    for (const list of this.#readyLanes) list.drain();
  }

  #applyRateLimit(): void {
    const limit = this.config.policy.rateLimit;
    if (limit === null) this.bucket = null;
    else if (this.bucket === null) this.bucket = createBucket(limit);
    else reconfigureBucket(this.bucket, limit);
  }
}

/** A change of `ordering` applies to events published from then on: old lanes drain under the mode they began with. */
function laneKeyFor(webhook: Webhook, eventType: string): LaneKey {
  return {
    webhookId: webhook.id,
    ordering: webhook.ordering,
    eventType: webhook.ordering === "per_event_type" ? eventType : null,
  };
}

/** How a new delivery joins a webhook as it is now. */
export function placeOf(
  webhook: Webhook,
  eventType: string,
): { readonly lane: LaneKey; readonly format: PayloadFormatName } {
  const profile = findProfile(webhook.profile);
  if (profile === undefined) throw new Error(`webhook ${webhook.id} has an unknown profile`);
  return {
    lane: laneKeyFor(webhook, eventType),
    format: webhook.payloadFormat ?? profile.payloadFormats[0],
  };
}
