import { SharedSlots } from "../../core/request-slots.ts";
import type { Endpoint } from "./endpoint.ts";
import { Fifo } from "./fifo.ts";
import type { Pace } from "./pace.ts";
import type { TenantQueue } from "./tenant-queue.ts";

/**
 * The slots of active requests, shared among tenants and among the endpoints of each.
 *
 * Three shares lie within each other: all slots, those that requests to endpoints may hold that are not known to be quick,
 * and of these those for endpoints that were silent. So endpoints that hang never keep out slow or new ones, and neither
 * keep out quick ones. Within each share the threshold of `SharedSlots` holds.
 *
 * Whoever is refused waits: a tenant that holds its part of all slots is parked as a whole; an endpoint that lacks a slot
 * stands in a line of its tenant. Tenants take turns in getting what becomes free.
 */
export class FairShares {
  readonly #slots: SharedSlots;
  readonly #concurrency: number;
  /** Tenants with a line for each of the shares, then parked ones, in the order of their turns. */
  readonly #turns = [
    new Fifo<TenantQueue>(),
    new Fifo<TenantQueue>(),
    new Fifo<TenantQueue>(),
    new Fifo<TenantQueue>(),
  ] as const;
  /** Which of these is looked at first. */
  #first = 0;

  constructor(concurrency: number, severalTenants: () => boolean) {
    this.#concurrency = concurrency;
    const shares = shareParts.map(({ part, tenantMultiple }) => ({
      size: Math.max(1, Math.floor(concurrency * part)),
      tenantMultiple,
    }));
    this.#slots = new SharedSlots(shares, severalTenants);
  }

  get inUse(): number {
    return this.#slots.inUse(0);
  }

  get isExhausted(): boolean {
    return this.#slots.inUse(0) >= this.#concurrency;
  }

  /** The tenant holds its part of all slots. */
  isUsedUp(tenantQueue: TenantQueue): boolean {
    return this.#slots.left(0, tenantQueue.holds(0)) <= 0;
  }

  /** Takes the tenant out of the round until `next` hands it back. */
  park(tenantQueue: TenantQueue): void {
    tenantQueue.park(true);
    this.#turns[parked].push(tenantQueue);
  }

  /** There is no slot for the endpoint. It then stands in its tenant's line. */
  refuses(endpoint: Endpoint): boolean {
    const share = shareOf[endpoint.pace];
    if (this.#mayHave(endpoint, share)) return false;
    if (endpoint.inLine) return true;
    endpoint.standInLine(true);
    const { tenantQueue } = endpoint;
    const line = tenantQueue.lines[share];
    if (line.length === 0) this.#turns[share].push(tenantQueue);
    line.push(endpoint);
    return true;
  }

  /** Takes a slot, which `give` gets back: the pace may change before that. */
  take({ pace, tenantQueue }: Endpoint): Share {
    const share = shareOf[pace];
    this.#slots.count(share, 1, tenantQueue.held);
    return share;
  }

  give(tenantQueue: TenantQueue, share: Share): void {
    this.#slots.count(share, -1, tenantQueue.held);
  }

  /**
   * Whose turn it is to get a slot that is free: a parked tenant, or an endpoint that stood in a line. It may have no use
   * for the slot, so the caller goes on asking.
   */
  next(): TenantQueue | Endpoint | undefined {
    this.#first = (this.#first + 1) % this.#turns.length;
    for (let index = 0; index < this.#turns.length; index += 1) {
      const turn = (this.#first + index) % this.#turns.length;
      const next = turn === parked ? this.#nextParked() : this.#nextInLine(turn as Share);
      if (next !== undefined) return next;
    }
    return undefined;
  }

  /** Looks past those that hold too many, which are fewer than there are slots. */
  #nextParked(): TenantQueue | undefined {
    const turns = this.#turns[parked];
    if (this.isExhausted) return undefined;
    for (let left = turns.length; left > 0; left -= 1) {
      const tenantQueue = turns.shift() as TenantQueue;
      if (!this.isUsedUp(tenantQueue)) {
        tenantQueue.park(false);
        return tenantQueue;
      }
      turns.push(tenantQueue);
    }
    return undefined;
  }

  #nextInLine(share: Share): Endpoint | undefined {
    const turns = this.#turns[share];
    for (let wider: number = share; wider >= 0; wider -= 1)
      if (this.#slots.free(wider) <= 0) return undefined;
    for (let left = turns.length; left > 0; left -= 1) {
      const tenantQueue = turns.shift() as TenantQueue;
      const endpoint = this.#firstOf(tenantQueue, share);
      if (tenantQueue.lines[share].length > 0) turns.push(tenantQueue);
      if (endpoint === undefined) continue;
      endpoint.standInLine(false);
      return endpoint;
    }
    return undefined;
  }

  /** Only endpoints that hold a slot can be refused while their tenant is not, so there are few to look past. */
  #firstOf(tenantQueue: TenantQueue, share: Share): Endpoint | undefined {
    const line = tenantQueue.lines[share];
    for (let wider: number = share; wider >= 0; wider -= 1)
      if (this.#slots.left(wider, tenantQueue.holds(wider)) <= 0) return undefined;
    for (let left = line.length; left > 0; left -= 1) {
      const endpoint = line.shift() as Endpoint;
      if (this.#mayHave(endpoint, share)) return endpoint;
      line.push(endpoint);
    }
    return undefined;
  }

  #mayHave({ tenantQueue, active }: Endpoint, share: Share): boolean {
    for (let wider: number = share; wider >= 0; wider -= 1)
      if (this.#slots.refuses(wider, tenantQueue.holds(wider), active)) return false;
    return true;
  }
}

/** 0 all slots, 1 those for endpoints that are not known to be quick, 2 those for silent ones. */
export type Share = 0 | 1 | 2;
const parked = 3;

export const shareOf = { quick: 0, unknown: 1, slow: 1, silent: 2 } as const satisfies Record<Pace, Share>;
/**
 * While no other tenant needs any, a tenant gets 64 of 100 slots, 62 of the 75 for new and slow endpoints, and 25 of the 50
 * for silent ones. The second part is large because these slots are free again after a second, and one tenant with 300 new
 * endpoints that hang must still start each of them within five seconds.
 */
const shareParts = [
  { part: 1, tenantMultiple: 2 },
  { part: 3 / 4, tenantMultiple: 6 },
  { part: 1 / 2, tenantMultiple: 1 },
] as const;
