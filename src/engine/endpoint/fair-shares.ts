import { SharedSlots } from "../../domain/request-slots.ts";
import type { Endpoint } from "./endpoint.ts";
import { Fifo } from "./ready-lists.ts";
import type { Pace } from "./endpoint-states.ts";
import type { TenantQueue } from "./tenant-queue.ts";

/**
 * The slots of active requests, shared among tenants and among the endpoints of each tenant.
 *
 * There are three nested shares: all slots, those for endpoints that are not known to be fast, and, within these,
 * those for endpoints that did not respond. Therefore hanging endpoints never block slow or new ones, and neither of
 * these groups blocks fast ones. Within each share the threshold of `SharedSlots` applies.
 *
 * A tenant that holds its part of all slots is parked as a whole; an endpoint that lacks a slot waits in a line of
 * its tenant. Free slots go to tenants in round-robin order.
 */
export class FairShares {
  readonly #slots: SharedSlots;
  readonly #concurrency: number;
  /**
   * For each share, the tenants with endpoints that wait for it; then the parked tenants. Each list is in the order of
   * turns.
   */
  readonly #turns = [
    new Fifo<TenantQueue>(),
    new Fifo<TenantQueue>(),
    new Fifo<TenantQueue>(),
    new Fifo<TenantQueue>(),
  ] as const;
  /** Index of the list that is checked first. */
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

  /** Whether the tenant holds as many of all slots as it may. */
  isUsedUp(tenantQueue: TenantQueue): boolean {
    return this.#slots.left(0, tenantQueue.holds(0)) <= 0;
  }

  /** Removes the tenant from the round-robin until `next` returns it. */
  park(tenantQueue: TenantQueue): void {
    tenantQueue.parked = true;
    this.#turns[parked].push(tenantQueue);
  }

  /** Returns true if no slot is free for the endpoint, which then waits in its tenant's line. */
  refuses(endpoint: Endpoint): boolean {
    const share = shareOf[endpoint.pace];
    if (this.#mayHave(endpoint, share)) return false;
    if (endpoint.inLine) return true;
    endpoint.inLine = true;
    const { tenantQueue } = endpoint;
    const line = tenantQueue.lines[share];
    if (line.length === 0) this.#turns[share].push(tenantQueue);
    line.push(endpoint);
    return true;
  }

  /** Takes a slot; `give` returns it. Returns the share, because the pace may change in between. */
  take({ pace, tenantQueue }: Endpoint): Share {
    const share = shareOf[pace];
    this.#slots.count(share, 1, tenantQueue.held);
    return share;
  }

  give(tenantQueue: TenantQueue, share: Share): void {
    this.#slots.count(share, -1, tenantQueue.held);
  }

  /**
   * The next parked tenant or waiting endpoint for a free slot. It may not need the slot, so the caller calls this
   * repeatedly.
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

  /** Skips tenants that hold too many slots; there are fewer of them than slots. */
  #nextParked(): TenantQueue | undefined {
    const turns = this.#turns[parked];
    if (this.isExhausted) return undefined;
    for (let left = turns.length; left > 0; left -= 1) {
      const tenantQueue = turns.shift() as TenantQueue;
      if (!this.isUsedUp(tenantQueue)) {
        tenantQueue.parked = false;
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
      endpoint.inLine = false;
      return endpoint;
    }
    return undefined;
  }

  /** If its tenant is admitted, an endpoint is refused only if it already holds a slot, so few entries are skipped. */
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

/** 0: all slots. 1: those for endpoints that are not known to be fast. 2: those for silent endpoints. */
export type Share = 0 | 1 | 2;
const parked = 3;

export const shareOf = { quick: 0, unknown: 1, slow: 1, silent: 2 } as const satisfies Record<Pace, Share>;
/**
 * Parts of the slots that each share may use. While no other tenant needs slots, a tenant gets 64 of 100 slots, 62 of
 * the 75 for new and slow endpoints, and 25 of the 50 for silent ones. The second part is large because these slots are
 * released after a second, and a tenant with 300 new endpoints that hang must still start each of them within five
 * seconds.
 */
const shareParts = [
  { part: 1, tenantMultiple: 2 },
  { part: 3 / 4, tenantMultiple: 6 },
  { part: 1 / 2, tenantMultiple: 1 },
] as const;
