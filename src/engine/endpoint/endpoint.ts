import {
  bringCircuitNear,
  type CircuitBreakerState,
  circuitFromJson,
  circuitToJson,
  createCircuit,
} from "../../domain/circuit-breaker.ts";
import type { DeliveryPolicy } from "../../domain/delivery-policy.ts";
import { clockDifferenceMs } from "../../domain/due-times.ts";
import {
  createHealth,
  type EndpointHealth,
  type EndpointPause,
  healthFromJson,
  isFailing,
  noteRecent,
  type PauseReason,
  pauseReasons,
  type RecentAttempts,
  recentFromJson,
} from "../../domain/endpoint-health.ts";
import { createBucket, giveBack, type RateBucket, reconfigureBucket } from "../../domain/rate-limit.ts";
import type { LaneKey, Webhook } from "../../domain/webhook.ts";
import type { WebhookRuntimeState } from "../../ports/store/deliveries.ts";
import type { StoredSecret } from "../../ports/store/webhooks.ts";
import type { AccessTokens } from "../credentials/oauth2-tokens.ts";
import type { EndpointConfig, EndpointReport, LiveWebhook } from "./endpoint-config.ts";
import { type ClosedGate, GateLog, gateLogFromJson } from "./gates.ts";
import type { Host } from "./host-places.ts";
import { Lane, laneId, laneKeyFor } from "./lane.ts";
import { type Pace, paceFromJson } from "./endpoint-states.ts";
import { type Listed, ReadyLists } from "./ready-lists.ts";
import type { TenantQueue } from "./tenant-queue.ts";
import { Sleeper } from "./wakeups.ts";

/** Called when a gate may have opened or a due time was reached. */
export interface EndpointWakes {
  readonly endpointWoke: (endpoint: Endpoint) => void;
  readonly laneWoke: (lane: Lane) => void;
  readonly tenantQueueWoke: (tenantQueue: TenantQueue) => void;
}

/** State of the receiver that is stored together with the health. */
type StoredKnowledge = Partial<Record<"pace" | "hasAnswered" | "gates" | "recent", unknown>>;

/**
 * The runtime state of a webhook: its gates, its lanes, and the state of its receiver. One object exists per webhook
 * that is not deleted. It is owned by the engine, and mutable because it changes with every attempt.
 */
export class Endpoint extends Sleeper implements LiveWebhook, Listed {
  readonly tenantQueue: TenantQueue;
  readonly lanes = new Map<string, Lane>();
  /** The lanes that may have deliveries to send, by the priority of their head. */
  readonly #readyLanes = new ReadyLists<Lane>();
  /** Its ready list in the tenant queue; -1 if it is in none. Managed by ready-lists.ts. */
  readyTier = -1;
  /** Whether it is in line for a slot. Managed by fair-shares.ts. */
  inLine = false;
  /** The host at which it waits for a slot. Managed by host-places.ts. */
  waitsAt: Host | null = null;
  readonly #wakes: EndpointWakes;

  #config: EndpointConfig;
  #bucket: RateBucket | null = null;
  #tokens: AccessTokens | null = null;
  #inFlight = 0;
  #active = 0;

  // Stored state of the receiver.
  #circuit: CircuitBreakerState;
  #health: EndpointHealth = createHealth();
  #recent: RecentAttempts = { count: 0, failures: 0 };
  #pausedUntil: number | null = null;
  /** When the current pause began; null if it was set by an earlier run of the server. */
  #pausedAt: number | null = null;
  #pauseReason: PauseReason | null = null;
  #lastSuccessAt: number | null = null;
  #lastSuccessWrittenAt = 0;
  #pace: Pace = "unknown";
  #hasAnswered = false;
  #gateLog: GateLog | null = null;

  #owned: boolean;
  #ownerEpoch: number | null = null;
  #report: EndpointReport | null = null;

  constructor(
    config: EndpointConfig,
    tenantQueue: TenantQueue,
    now: number,
    wakes: EndpointWakes,
    owned: boolean,
  ) {
    super();
    this.#config = config;
    this.#owned = owned;
    this.tenantQueue = tenantQueue;
    this.#circuit = createCircuit(now);
    this.#wakes = wakes;
    this.#applyRateLimit();
  }

  // ---- configuration ------------------------------------------------------------------------------------------

  get config(): EndpointConfig {
    return this.#config;
  }

  get webhook(): Webhook {
    return this.#config.webhook;
  }

  get policy(): DeliveryPolicy {
    return this.#config.policy;
  }

  get secrets(): readonly StoredSecret[] {
    return this.#config.secrets;
  }

  /** Source of access tokens; null for webhooks without an OAuth 2.0 client. */
  get tokens(): AccessTokens | null {
    return this.#tokens;
  }

  /** `tokens` replaces the source of access tokens; if omitted, the source is unchanged. */
  reconfigure(config: EndpointConfig, tokens: AccessTokens | null = this.#tokens): void {
    this.#config = config;
    this.#tokens = tokens;
    this.#applyRateLimit();
  }

  get bucket(): Readonly<RateBucket> | null {
    return this.#bucket;
  }

  /** Returns the rate limit tokens of a request that was never sent. */
  returnRate(): void {
    this.tenantQueue.returnRate();
    if (this.#bucket !== null) giveBack(this.#bucket);
  }

  /** Resumes with the rate limit state of the last owner. */
  inheritBucket(bucket: RateBucket): void {
    this.#bucket = bucket;
  }

  #applyRateLimit(): void {
    const limit = this.policy.rateLimit;
    if (limit === null) this.#bucket = null;
    else if (this.#bucket === null) this.#bucket = createBucket(limit);
    else reconfigureBucket(this.#bucket, limit);
  }

  // ---- state of the receiver ----------------------------------------------------------------------------------

  /** Modified only by the functions of domain/circuit-breaker.ts. */
  get circuit(): Readonly<CircuitBreakerState> {
    return this.#circuit;
  }

  replaceCircuit(circuit: CircuitBreakerState): void {
    this.#circuit = circuit;
  }

  get health(): Readonly<EndpointHealth> {
    return this.#health;
  }

  /** Results of the last few attempts. */
  get recent(): Readonly<RecentAttempts> {
    return this.#recent;
  }

  /** Records the end of an attempt. Returns true if the endpoint was failing before this attempt and no longer is. */
  attempted(isFailure: boolean): boolean {
    const wasFailing = isFailing(this.#recent);
    noteRecent(this.#recent, isFailure);
    return wasFailing && !isFailing(this.#recent);
  }

  /** Clears old failures. */
  forgetRecent(): void {
    this.#recent = { count: 0, failures: 0 };
  }

  get pausedUntil(): number | null {
    return this.#pausedUntil;
  }

  get pauseReason(): PauseReason | null {
    return this.#pauseReason;
  }

  /** Pauses sending until a given time. A longer existing pause stays in effect. */
  pause({ until, reason }: EndpointPause, now: number): boolean {
    if (this.#pausedUntil !== null && this.#pausedUntil >= until) return false;
    this.#pausedAt = now;
    this.#pausedUntil = until;
    this.#pauseReason = reason;
    return true;
  }

  /** Ends a pause; its wake-up then has no effect. */
  resume(): void {
    this.#pausedUntil = null;
    this.#pauseReason = null;
  }

  /**
   * Handles a clock that was set back: waits that began while the clock was ahead restart now. Returns true if there
   * were any.
   */
  clockSetBack(now: number): boolean {
    const isCircuitChanged = bringCircuitNear(this.#circuit, now);
    if (this.#pausedUntil === null || this.#pausedAt === null || this.#pausedAt <= now + clockDifferenceMs)
      return isCircuitChanged;
    this.#pausedUntil = now + Math.max(0, this.#pausedUntil - this.#pausedAt);
    this.#pausedAt = now;
    return true;
  }

  get lastSuccessAt(): number | null {
    return this.#lastSuccessAt;
  }

  succeeded(now: number): void {
    this.#lastSuccessAt = now;
  }

  /** Whether the last success has not been written yet. */
  get hasUnwrittenSuccess(): boolean {
    return (this.#lastSuccessAt ?? 0) > this.#lastSuccessWrittenAt;
  }

  /** The pace of the last response. Endpoints that are not known to be fast may use only part of the capacity. */
  get pace(): Pace {
    return this.#pace;
  }

  get isQuick(): boolean {
    return this.#pace === "quick";
  }

  /** Whether the receiver has responded before, with any status. Until then, it gets one request at a time. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  /** Called when a request has ended. `isResponse`: whether the receiver responded. */
  answered(pace: Pace, isResponse: boolean): void {
    this.#pace = pace;
    if (isResponse) this.#hasAnswered = true;
  }

  /** Called when a request has been in flight for one second. */
  waits(): void {
    if (this.#pace === "quick") this.#pace = "slow";
  }

  /** Called when a request has been in flight for five seconds. */
  hangs(): void {
    this.#pace = "silent";
  }

  /**
   * Called when the receiver changed. A fast endpoint remains fast until proven otherwise, so that requests in flight
   * to the old URL do not slow it down.
   */
  forgetPace(): void {
    if (this.#pace === "quick") return;
    this.#pace = "unknown";
    this.#hasAnswered = false;
  }

  /** The periods in which the endpoint's gates held deliveries; null if none was recorded. */
  get gateLog(): GateLog | null {
    return this.#gateLog;
  }

  /** Called when a delivery was ready, but a gate was closed. */
  noteClosed(gate: ClosedGate, now: number): void {
    this.#gateLog ??= new GateLog();
    this.#gateLog.note(gate.waitingFor, gate.until, now);
  }

  /** Returns the state to store, so that an open circuit or a pause survives a restart, and marks it as written. */
  takeState(): WebhookRuntimeState {
    this.#lastSuccessWrittenAt = this.#lastSuccessAt ?? 0;
    return this.state();
  }

  state(): WebhookRuntimeState {
    // The endpoint's health, and other state that stores do not interpret.
    const known = {
      ...this.#health,
      pace: this.#pace,
      recent: this.#recent,
      hasAnswered: this.#hasAnswered,
      ...(this.#gateLog !== null && { gates: this.#gateLog.toJSON() }),
    };
    return {
      webhookId: this.webhook.id,
      pausedUntil: this.#pausedUntil,
      pauseReason: this.#pauseReason,
      lastSuccessAt: this.#lastSuccessAt,
      circuit: JSON.stringify(circuitToJson(this.#circuit)),
      health: JSON.stringify(known),
      ...(this.#ownerEpoch === null ? {} : { ownerEpoch: this.#ownerEpoch }),
    };
  }

  restore(state: WebhookRuntimeState): void {
    this.#pausedUntil = state.pausedUntil;
    this.#pauseReason = pauseReasons.find((reason) => reason === state.pauseReason) ?? null;
    this.#lastSuccessAt = state.lastSuccessAt;
    this.#lastSuccessWrittenAt = state.lastSuccessAt ?? 0;
    if (state.circuit !== null) this.#circuit = circuitFromJson(JSON.parse(state.circuit)) ?? this.#circuit;
    if (state.health === null) return;
    const stored = JSON.parse(state.health) as StoredKnowledge;
    this.#recent = recentFromJson(stored.recent);
    this.#health = healthFromJson(stored) ?? this.#health;
    this.#pace = paceFromJson(stored.pace);
    this.#hasAnswered = stored.hasAnswered === true || this.isQuick || state.lastSuccessAt !== null;
    this.#gateLog = gateLogFromJson(stored.gates);
  }

  // ---- ownership with several processes -----------------------------------------------------------------------

  /** Whether this process serves the endpoint (cluster/). If not, the endpoint is not listed, claimed or sent to. */
  get owned(): boolean {
    return this.#owned;
  }

  /**
   * The owner epoch under which this process acquired the webhook, if there are several processes. It is kept until the
   * webhook is released in the store, even while the endpoint is leaving and no longer `owned`.
   */
  get ownerEpoch(): number | null {
    return this.#ownerEpoch;
  }

  /** The latest report of the owner; null if this process is the owner or the owner has sent no report. */
  get report(): EndpointReport | null {
    return this.#report;
  }

  /** Applies the stored state of the receiver. Call `serve` afterwards. */
  acquire(ownerEpoch: number, runtime: WebhookRuntimeState | null, now: number): void {
    this.#ownerEpoch = ownerEpoch;
    this.#circuit = createCircuit(now);
    this.#health = createHealth();
    this.forgetRecent();
    this.resume();
    this.#pace = "unknown";
    this.#hasAnswered = false;
    this.#gateLog = null;
    if (runtime !== null) this.restore(runtime);
  }

  serve(): void {
    this.stayAwake();
    this.#owned = true;
    this.#report = null;
  }

  /** Stops sending. The store still counts the endpoint as owned by this process. */
  giveUp(): void {
    this.#owned = false;
    this.unlistLanes();
  }

  /** Called when the endpoint was released in the store. */
  released(): void {
    this.#ownerEpoch = null;
  }

  reported(report: EndpointReport | null): void {
    this.#report = report;
  }

  // ---- requests and lanes -------------------------------------------------------------------------------------

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Requests that hold an active slot. */
  get active(): number {
    return this.#active;
  }

  requestBegan(): void {
    this.#inFlight += 1;
    this.#active += 1;
  }

  /** Called when an active request becomes a waiting request. */
  requestWaits(): void {
    this.#active -= 1;
  }

  requestEnded(wasActive: boolean): void {
    this.#inFlight -= 1;
    if (wasActive) this.#active -= 1;
  }

  wake(): void {
    this.#wakes.endpointWoke(this);
  }

  laneWoke(lane: Lane): void {
    this.#wakes.laneWoke(lane);
  }

  /** The lane of a key, created on first use. */
  lane(key: LaneKey): Lane {
    const id = laneId(key);
    let lane = this.lanes.get(id);
    if (lane === undefined) {
      lane = new Lane(key, this);
      this.lanes.set(id, lane);
    }
    return lane;
  }

  /** The lane for events of this type that are published now. */
  laneFor(eventType: string): Lane {
    return this.lane(laneKeyFor(this.webhook, eventType));
  }

  /** Adds a lane that may have deliveries of a tier to the ready list. */
  list(lane: Lane, tier: number): void {
    this.#readyLanes.push(lane, tier);
  }

  /** Puts a lane before all others of its tier. Used for a lane that `nextLane` returned and that sent nothing. */
  putBack(lane: Lane, tier: number): void {
    this.#readyLanes.unshift(lane, tier);
  }

  /**
   * Number of in-memory deliveries in listed lanes, up to `max`. Counts one for an ordered lane, because it sends one
   * at a time.
   */
  readyCount(max: number): number {
    return this.#readyLanes.count(max, ({ ordered, buffered }) =>
      ordered ? Math.min(buffered, 1) : buffered,
    );
  }

  /** The highest tier with a listed lane; -1 if no lane is listed. A stale entry may make it too high. */
  listedTier(): number {
    return this.#readyLanes.highestTier();
  }

  /** Takes the next listed lane, highest priority first. */
  nextLane(): Lane | undefined {
    let lane = this.#readyLanes.next();
    while (lane?.ordered === true && lane.inFlight > 0) lane = this.#readyLanes.next();
    return lane;
  }

  unlistLanes(): void {
    for (const lane of this.lanes.values()) lane.readyTier = -1;
    this.#readyLanes.clear();
  }
}
