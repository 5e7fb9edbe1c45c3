import { hangingAfterMs, waitingAfterMs, type WaitingSlots } from "../../domain/request-slots.ts";
import { Alarm, type Clock } from "../../ports/clock.ts";
import type { Place } from "../attempt/attempts.ts";
import { Endpoint } from "../endpoint/endpoint.ts";
import { FairShares, shareOf } from "../endpoint/fair-shares.ts";
import { type Host, HostPlaces } from "../endpoint/host-places.ts";
import type { TenantQueue } from "../endpoint/tenant-queue.ts";
import { allow } from "../../domain/circuit-breaker.ts";
import { tryTake } from "../../domain/rate-limit.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { EndpointStates } from "../endpoint/endpoint-states.ts";
import { closedByRate, type ClosedGate } from "../endpoint/gates.ts";
import type { OwnerNotes } from "../endpoint/ownership.ts";
import type { Wakeups } from "../endpoint/wakeups.ts";

export interface CapacityLimits {
  /** Maximum active requests of this process (WDS-225). */
  readonly concurrency: number;
  /** Maximum requests in flight per webhook, including waiting ones (WDS-167). */
  readonly webhookConcurrency: number;
  /** Maximum active requests per receiver host (WDS-225); null for no limit. */
  readonly hostConcurrency: number | null;
}

export interface CapacityOptions extends CapacityLimits {
  readonly clock: Pick<Clock, "monotonicMs" | "schedule">;
  /** Whether more than one tenant has webhooks. If so, slots are reserved for other tenants. */
  readonly severalTenants: () => boolean;
  /** The slots for requests that have waited for more than a second. */
  readonly waitingSlots: WaitingSlots;
  /** Lists an endpoint that was waiting for a slot as ready. Returns false if it will not be served soon. */
  readonly recall: (endpoint: Endpoint) => boolean;
  /** Returns a parked tenant to the round-robin. */
  readonly resume: (tenantQueue: TenantQueue) => void;
  /** Called when a request of the endpoint releases its active slot but is still in flight. */
  readonly waits: (endpoint: Endpoint) => void;
}

/**
 * The slots for requests: per endpoint, per host if there is a host limit, and those of the process by tenant and
 * share.
 *
 * A request holds an active slot until it is one second old, and a waiting slot from then on. If no waiting slot is
 * free, it stays active. Requests reach these ages in the order in which they started, so one timer serves all of
 * them.
 */
export class Capacity {
  readonly #options: CapacityOptions;
  readonly #shares: FairShares;
  /** Maximum number of requests in flight to an endpoint that is not known to be fast. */
  readonly #cautiousEach: number;
  readonly #hosts: HostPlaces | null;
  /** Requests younger than one second, in the order in which they started. */
  readonly #young = new Set<Place>();
  /** Requests between one and five seconds old, in the order in which they started. */
  readonly #aging = new Set<Place>();
  /** Requests older than one second that still hold an active slot, because no waiting slot was free. */
  readonly #overdue = new Set<Place>();
  #waiting = 0;
  readonly #alarm: Alarm;

  constructor(options: CapacityOptions) {
    this.#options = options;
    const { concurrency, hostConcurrency, severalTenants, recall, clock } = options;
    this.#shares = new FairShares(concurrency, severalTenants);
    this.#hosts = hostConcurrency === null ? null : new HostPlaces(hostConcurrency, recall);
    this.#cautiousEach = Math.min(2, this.#hosts?.cautiousEach ?? 2);
    this.#alarm = new Alarm(clock);
  }

  get inFlight(): number {
    return this.#shares.inUse + this.#waiting;
  }

  /** Requests that hold an active slot. */
  get active(): number {
    return this.#shares.inUse;
  }

  get isExhausted(): boolean {
    return this.#shares.isExhausted;
  }

  /** Whether the tenant holds as many slots as it may. */
  isUsedUp(tenantQueue: TenantQueue): boolean {
    return this.#shares.isUsedUp(tenantQueue);
  }

  /** Removes the tenant from the round-robin until `recallNext` resumes it. */
  park(tenantQueue: TenantQueue): void {
    this.#shares.park(tenantQueue);
    this.#hosts?.tenantSleeps(tenantQueue);
  }

  /**
   * Whether the endpoint has as many requests in flight as it may. It is listed again when one of them ends, or when
   * its host recalls it.
   */
  isFull(endpoint: Endpoint): boolean {
    const { inFlight } = endpoint;
    if (inFlight >= this.#options.webhookConcurrency) return true;
    if (!endpoint.isQuick && inFlight >= (endpoint.hasAnswered ? this.#cautiousEach : 1)) return true;
    return this.#hosts !== null && this.#hosts.holdsBack(endpoint);
  }

  /** Whether the endpoint must not send now. If it lacks only a shared slot, it is recalled later. */
  refuses(endpoint: Endpoint): boolean {
    if (this.isFull(endpoint)) return true;
    if (this.#hosts !== null && this.#hosts.refuses(endpoint)) return true;
    return this.#shares.refuses(endpoint);
  }

  /** Recalls the next endpoint or tenant that waits for a free slot. Returns false if none is waiting. */
  recallNext(): boolean {
    const next = this.#shares.next();
    if (next === undefined) return false;
    if (next instanceof Endpoint) this.#options.recall(next);
    else this.#options.resume(next);
    return true;
  }

  /** Called after the turn of an endpoint that was waiting at a host. */
  served(endpoint: Endpoint, waitedAt: Host): void {
    this.#hosts?.served(endpoint, waitedAt);
  }

  /** Called when none of the tenant's endpoints is due to send soon. */
  tenantSleeps(tenantQueue: TenantQueue): void {
    this.#hosts?.tenantSleeps(tenantQueue);
  }

  /** Takes a slot; `end` releases it. */
  begin(endpoint: Endpoint, bytes: number): Place {
    const place: Place = {
      endpoint,
      startedMs: this.#options.clock.monotonicMs(),
      bytes,
      share: this.#shares.take(endpoint),
      host: this.#hosts === null ? null : this.#hosts.begin(endpoint),
      isCautious: !endpoint.isQuick,
      waiting: null,
      hasHung: false,
    };
    endpoint.requestBegan();
    this.#young.add(place);
    if (!this.#alarm.isSet) this.#alarm.set(waitingAfterMs, this.#age);
    return place;
  }

  /** Frees the slot of a request. */
  end(place: Place): void {
    const { endpoint, waiting } = place;
    endpoint.requestEnded(waiting === null);
    if (!this.#young.delete(place)) {
      this.#aging.delete(place);
      this.#overdue.delete(place);
    }
    if (waiting === null) return this.#freeActive(place);
    this.#waiting -= 1;
    this.#options.waitingSlots.free(waiting);
    this.#retryOverdue();
  }

  /** Stops the timer. Called when nothing more is sent. */
  stop(): void {
    this.#alarm.close();
  }

  #freeActive(place: Place): void {
    this.#shares.give(place.endpoint.tenantQueue, place.share);
    if (place.host !== null) this.#hosts?.end(place.host, place.isCautious);
    place.host = null;
  }

  /** Handles the requests that reached an age limit, and sleeps until the next one does. */
  readonly #age = (): void => {
    const now = this.#options.clock.monotonicMs();
    this.#retryOverdue();
    for (const place of this.#aging) {
      if (now - place.startedMs < hangingAfterMs) break;
      this.#aging.delete(place);
      this.#hangs(place);
    }
    for (const place of this.#young) {
      if (now - place.startedMs < waitingAfterMs) break;
      this.#young.delete(place);
      this.#aging.add(place);
      place.endpoint.waits();
      if (!this.#wait(place)) this.#stayActive(place);
    }
    const [young] = this.#young;
    const [aging] = this.#aging;
    if (young === undefined && aging === undefined && this.#overdue.size === 0) return;
    const dueMs = Math.min(
      (young?.startedMs ?? now) + waitingAfterMs,
      (aging?.startedMs ?? now) + hangingAfterMs,
    );
    this.#alarm.set(Math.max(dueMs - now, slackMs), this.#age);
  };

  #hangs(place: Place): void {
    place.hasHung = true;
    place.endpoint.hangs();
    if (place.waiting === null) this.#stayActive(place);
    else this.#options.waitingSlots.hangs(place.waiting);
  }

  /** Moves a request to a waiting slot. Returns false if none is free. */
  #wait(place: Place): boolean {
    const { endpoint, bytes, hasHung } = place;
    const owner = { tenantId: endpoint.tenantQueue.tenantId, key: endpoint.webhook.id };
    const isHanging = hasHung || endpoint.pace === "silent";
    place.waiting = this.#options.waitingSlots.take(owner, bytes, isHanging);
    if (place.waiting === null) return false;
    this.#overdue.delete(place);
    this.#freeActive(place);
    this.#waiting += 1;
    endpoint.requestWaits();
    this.#options.waits(endpoint);
    return true;
  }

  /** Keeps the overdue endpoint's slot active, but releases a slot reserved for fast endpoints. */
  #stayActive(place: Place): void {
    this.#overdue.add(place);
    const share = shareOf[place.endpoint.pace];
    if (share <= place.share) return;
    this.#shares.give(place.endpoint.tenantQueue, place.share);
    place.share = this.#shares.take(place.endpoint);
  }

  #retryOverdue(): void {
    for (const place of this.#overdue) this.#wait(place);
  }
}

/** Requests that reach an age limit within this time are handled together. */
const slackMs = 20;

export interface SendPermitsOptions {
  readonly telemetry: Telemetry;
  readonly wakeups: Wakeups;
  readonly states: Pick<EndpointStates, "circuitMoved">;
  /** Publishes endpoint state for other processes; null if this is the only process. */
  readonly notes: OwnerNotes | null;
  /** Called when the endpoint must not send until the gate opens. */
  readonly close: (endpoint: Endpoint, gate: ClosedGate, now: number) => void;
}

/** Permission for one request; `probe` is its lease if the circuit is half open. */
export interface SendPermit {
  readonly probe: number | null;
}

/**
 * Checks the gates that consume something: rate limits and circuit probes. Consumes from all of them, or from none.
 */
export class SendPermits {
  readonly #options: SendPermitsOptions;

  constructor(options: SendPermitsOptions) {
    this.#options = options;
  }

  /** Undefined if a gate is closed. The endpoint or tenant queue then sleeps until the gate may open. */
  ask(endpoint: Endpoint, now: number): SendPermit | undefined {
    const { telemetry, wakeups, close, states, notes } = this.#options;
    const { tenantQueue } = endpoint;
    const rate = closedByRate(endpoint, now);
    if (rate !== null) {
      telemetry.metrics.rateLimited(endpoint.webhook.id);
      if (rate.waitingFor === "tenant_rate_limit") {
        tenantQueue.noteClosed(rate, now);
        wakeups.at(tenantQueue, rate.until);
      } else close(endpoint, rate, now);
      return undefined;
    }
    if (tenantQueue.allowance !== null && !tenantQueue.allowance.secure()) {
      // The reply normally wakes the tenant queue long before this time.
      wakeups.at(tenantQueue, now + answerMsMax);
      return undefined;
    }
    const circuitAnswer = allow(endpoint.circuit, endpoint.policy.circuitBreaker, now);
    if (circuitAnswer.kind === "deny") {
      close(endpoint, { waitingFor: "circuit_open", until: circuitAnswer.until }, now);
      return undefined;
    }
    tenantQueue.takeRate(now);
    if (endpoint.bucket !== null) {
      tryTake(endpoint.bucket, now);
      notes?.rateUsed(endpoint);
    }
    if (circuitAnswer.kind === "allow") return noProbe;
    if (circuitAnswer.transition !== null) states.circuitMoved(endpoint, circuitAnswer.transition);
    return { probe: circuitAnswer.lease };
  }
}

const noProbe = { probe: null } as const;
const answerMsMax = 1_000;
