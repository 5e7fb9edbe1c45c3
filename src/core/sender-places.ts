import { SharedSlots, type SlotOwner, waitingAfterMs, hangingAfterMs } from "./request-slots.ts";
import type { WaitingSlot, WaitingSlots } from "./request-slots.ts";

export interface PlacesLimits {
  /** Active requests. */
  readonly totalMax: number;
  /** Requests under one key, active and waiting ones together. */
  readonly perKeyMax: number;
}

/** Ends a request; `now` as when it began. Only the first call counts. */
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
 * Slots of requests whose senders wait: so many under one key, and of active ones so many in all, which tenants share as
 * `SharedSlots` says. A request that is a second old holds a waiting slot instead. A destination that hangs therefore
 * holds up no other one. Times are milliseconds of any one clock.
 */
export class Places {
  readonly #limits: PlacesLimits;
  readonly #waitingSlots: WaitingSlots | null;
  readonly #slots: SharedSlots;
  readonly #all: Crowd;
  readonly #byKey = new Map<string, Crowd>();
  readonly #tenants = new Map<string, Tenant>();
  /** Requests below five seconds, in the order in which they began. */
  readonly #aging = new Set<Held>();

  /** Without `waitingSlots` requests stay active, and tenants share nothing. */
  constructor(limits: PlacesLimits, waitingSlots: WaitingSlots | null) {
    this.#limits = limits;
    this.#waitingSlots = waitingSlots;
    const severalTenants = waitingSlots?.severalTenants ?? ((): boolean => false);
    this.#slots = new SharedSlots([{ size: limits.totalMax, tenantMultiple: 2 }], severalTenants);
    this.#all = new Crowd(limits.totalMax);
  }

  /** Requests that hold a slot now, waiting ones included. */
  get total(): number {
    return this.#all.taken;
  }

  /** Null when there is no slot. */
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
   * When to ask a sender to come back that found no slot; each call is for one more of them, a little later than the one
   * before. Senders that hear the same time return in the same moment, again and again, and all others wait behind them.
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

  /** Requests only have to age when another one looks for a slot, so this needs no timer. */
  #age(now: number): void {
    if (this.#waitingSlots === null) return;
    for (const held of this.#aging) {
      const ageMs = now - held.since;
      if (ageMs < waitingAfterMs) break;
      const isHanging = ageMs >= hangingAfterMs;
      if (held.waiting === null) {
        held.waiting = this.#waitingSlots.take(held.owner, { bytes: held.bytes, isHanging });
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
/** Ten a second come back where a destination hangs, or where it is not known yet how quickly it answers. */
const gapMsMax = 100;
/** Of what one more request says about how long they take. */
const newestShare = 0.2;

/** Those who hold slots, and those who were asked to come back. */
class Crowd {
  readonly #max: number;
  taken = 0;
  /** Of them, those that do not wait. */
  active = 0;
  /** When the last one comes back. */
  #returnsAt = 0;
  /** How long a slot is held, a mean that forgets; null before the first was freed. */
  #heldMs: number | null = null;

  constructor(max: number) {
    this.#max = max;
  }

  get isFull(): boolean {
    return this.taken >= this.#max;
  }

  /** The clock may be set back while a slot is held. */
  free(clockedMs: number): void {
    this.taken -= 1;
    const heldMs = Math.max(0, clockedMs);
    this.#heldMs = this.#heldMs === null ? heldMs : this.#heldMs + newestShare * (heldMs - this.#heldMs);
  }

  /** The clock may be set back: no sender is asked to wait longer than the longest wait. */
  returnsInMs(now: number): number {
    const gapMs = Math.min(this.#heldMs === null ? gapMsMax : this.#heldMs / this.#max, gapMsMax);
    const waitMs = Math.min(Math.max(waitMsMin, this.#returnsAt + gapMs - now), waitMsMax);
    this.#returnsAt = now + waitMs;
    return waitMs;
  }
}
