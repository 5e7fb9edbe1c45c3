import {
  hangingAfterMs,
  SharedSlots,
  type SlotOwner,
  waitingAfterMs,
  type WaitingSlot,
  type WaitingSlots,
} from "./request-slots.ts";

export interface PlacesLimits {
  /** Maximum active requests. */
  readonly totalMax: number;
  /** Maximum requests per key, active and waiting ones together. */
  readonly perKeyMax: number;
}

/** Ends a request; `now` uses the same clock as at its start. Only the first call counts. */
export type FreePlace = (now: number) => void;

interface Held {
  readonly own: Crowd;
  readonly tenant: Tenant;
  readonly since: number;
  readonly owner: SlotOwner;
  readonly bytes: number;
  /** Null while the request is active. */
  waiting: WaitingSlot | null;
}

interface Tenant {
  readonly held: [number];
}

/**
 * Slots for requests whose senders wait. The number of requests per key is limited, and so is the total number of
 * active requests; tenants share the latter as in `SharedSlots`. After one second a request holds a waiting slot
 * instead, so a hanging destination does not block others. Times are milliseconds of any single clock.
 */
export class Places {
  readonly #limits: PlacesLimits;
  readonly #waitingSlots: WaitingSlots | null;
  readonly #slots: SharedSlots;
  readonly #all: Crowd;
  readonly #byKey = new Map<string, Crowd>();
  readonly #tenants = new Map<string, Tenant>();
  /** Requests younger than five seconds, oldest first. */
  readonly #aging = new Set<Held>();

  /** Without `waitingSlots`, requests stay active, and tenants do not share slots. */
  constructor(limits: PlacesLimits, waitingSlots: WaitingSlots | null) {
    this.#limits = limits;
    this.#waitingSlots = waitingSlots;
    const severalTenants = waitingSlots?.severalTenants ?? ((): boolean => false);
    this.#slots = new SharedSlots([{ size: limits.totalMax, tenantMultiple: 2 }], severalTenants);
    this.#all = new Crowd(limits.totalMax);
  }

  /** Number of requests that hold a slot now, including waiting ones. */
  get total(): number {
    return this.#all.taken;
  }

  /** Takes a slot for a request. Null if none is free. */
  take(owner: SlotOwner, bytes: number, now: number): FreePlace | null {
    this.#age(now);
    const { tenantId, key } = owner;
    const own = this.#byKey.get(key) ?? new Crowd(this.#limits.perKeyMax);
    const tenant: Tenant = this.#tenants.get(tenantId) ?? { held: [0] };
    if (own.isFull || this.#slots.refuses(0, tenant.held[0], own.active)) return null;
    this.#byKey.set(key, own);
    this.#tenants.set(tenantId, tenant);
    own.taken += 1;
    this.#all.taken += 1;
    const held: Held = { own, tenant, since: now, owner, bytes, waiting: null };
    this.#countActive(held, 1);
    this.#aging.add(held);
    let isFree = false;
    return (at) => {
      if (isFree) return;
      isFree = true;
      this.#free(held, at);
    };
  }

  /**
   * How long a sender that found no slot should wait before it retries. Each call returns a slightly later time than
   * the previous one. Otherwise, senders with the same time would retry together repeatedly and block all others.
   */
  returnsInMs(key: string, now: number): number {
    const own = this.#byKey.get(key);
    return (own?.isFull === true ? own : this.#all).returnsInMs(now);
  }

  #free(held: Held, now: number): void {
    const { own, owner, since, waiting } = held;
    this.#aging.delete(held);
    own.free(now - since);
    this.#all.free(now - since);
    if (waiting === null) this.#countActive(held, -1);
    else this.#waitingSlots?.free(waiting);
    if (own.taken === 0) this.#byKey.delete(owner.key);
  }

  /** Requests are moved to waiting slots only when another request needs a slot, so no timer is required. */
  #age(now: number): void {
    if (this.#waitingSlots === null) return;
    for (const held of this.#aging) {
      const ageMs = now - held.since;
      if (ageMs < waitingAfterMs) break;
      const isHanging = ageMs >= hangingAfterMs;
      if (held.waiting === null) {
        held.waiting = this.#waitingSlots.take(held.owner, held.bytes, isHanging);
        if (held.waiting !== null) this.#countActive(held, -1);
      } else if (isHanging) this.#waitingSlots.hangs(held.waiting);
      if (isHanging && held.waiting !== null) this.#aging.delete(held);
    }
  }

  #countActive({ own, tenant, owner }: Held, count: 1 | -1): void {
    own.active += count;
    this.#slots.count(0, count, tenant.held);
    if (tenant.held[0] === 0) this.#tenants.delete(owner.tenantId);
  }
}

const waitMsMin = 1_000;
const waitMsMax = 60_000;
/** Number of senders asked to return per second while a destination hangs, or before its response time is known. */
const gapMsMax = 100;
/** Weight of each new request in the mean duration. */
const newestShare = 0.2;

/** The holders of slots, and the senders that were asked to retry. */
class Crowd {
  readonly #max: number;
  taken = 0;
  /** Number of active requests, excluding waiting ones. */
  active = 0;
  /** When the last of the senders that were asked to retry is due. */
  #returnsAt = 0;
  /** Moving average of how long a slot is held; null before the first slot was released. */
  #heldMs: number | null = null;

  constructor(max: number) {
    this.#max = max;
  }

  get isFull(): boolean {
    return this.taken >= this.#max;
  }

  /** The result may be negative if the clock was set back while the slot was held. */
  free(clockedMs: number): void {
    this.taken -= 1;
    const heldMs = Math.max(0, clockedMs);
    this.#heldMs = this.#heldMs === null ? heldMs : this.#heldMs + newestShare * (heldMs - this.#heldMs);
  }

  /** Cap the wait in case the clock was set back. */
  returnsInMs(now: number): number {
    const gapMs = Math.min(this.#heldMs === null ? gapMsMax : this.#heldMs / this.#max, gapMsMax);
    const waitMs = Math.min(Math.max(waitMsMin, this.#returnsAt + gapMs - now), waitMsMax);
    this.#returnsAt = now + waitMs;
    return waitMs;
  }
}
