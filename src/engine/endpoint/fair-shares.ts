import type { Endpoint } from "./endpoint.ts";
import { Fifo } from "./fifo.ts";
import type { Pace } from "./pace.ts";
import type { TenantQueue } from "./tenant-queue.ts";

/**
 * The places of the process, shared among tenants.
 *
 * Three shares lie within each other: all places, those that requests to endpoints may hold that are not known to be
 * quick, and of these those for endpoints that were silent. A request counts in its own share and in the wider ones, so
 * endpoints that hang never keep out slow or new ones, and neither keep out quick ones.
 *
 * Within each share a tenant may take a place only while it holds less than a multiple of the places that are free (the
 * dynamic threshold of Choudhury and Hahne). So a tenant that is alone in being busy uses most of a share, several that
 * are busy get equal parts, and some places are always left for one that comes next, even when everything that the others
 * hold hangs for a whole timeout. Where only one tenant has webhooks there is nobody to leave a place to.
 *
 * Who is refused waits: a tenant that holds its part of all places is parked as a whole; an endpoint that lacks a place
 * of a narrower share stands in a line of its tenant. Tenants take turns in getting what becomes free.
 */
export class FairShares {
  readonly #max: readonly [number, number, number];
  readonly #inUse: Counts = [0, 0, 0];
  readonly #severalTenants: () => boolean;
  /** Parked tenants, then those with a line for each of the narrower shares, in the order of their turns. */
  readonly #turns = [new Fifo<TenantQueue>(), new Fifo<TenantQueue>(), new Fifo<TenantQueue>()] as const;
  /** Which of these is looked at first. */
  #first: Share = 0;

  constructor(concurrency: number, severalTenants: () => boolean) {
    const part = (of: number): number => Math.max(1, Math.floor(concurrency * of));
    this.#max = [concurrency, part(notQuickPart), part(silentPart)];
    this.#severalTenants = severalTenants;
  }

  get inUse(): number {
    return this.#inUse[0];
  }

  get isExhausted(): boolean {
    return this.#inUse[0] >= this.#max[0];
  }

  /** The tenant holds its part of all places. */
  isUsedUp(tenantQueue: TenantQueue): boolean {
    return this.#refuses(tenantQueue, 0);
  }

  /** Takes the tenant out of the round until `next` hands it back. */
  park(tenantQueue: TenantQueue): void {
    tenantQueue.park(true);
    this.#turns[0].push(tenantQueue);
  }

  /** There is no place for the endpoint in the narrower shares. It then stands in its tenant's line. */
  refuses(endpoint: Endpoint): boolean {
    const share = shareOf[endpoint.pace];
    const { tenantQueue } = endpoint;
    if (share === 0 || !(this.#refuses(tenantQueue, 1) || (share === 2 && this.#refuses(tenantQueue, 2))))
      return false;
    if (endpoint.inLine) return true;
    endpoint.standInLine(true);
    const line = tenantQueue.lines[share];
    if (line.length === 0) this.#turns[share].push(tenantQueue);
    line.push(endpoint);
    return true;
  }

  /** Takes a place, which `give` wants to see again: the pace changes meanwhile. */
  take({ pace, tenantQueue }: Endpoint): Share {
    const share = shareOf[pace];
    this.#count(tenantQueue, { share, by: 1 });
    return share;
  }

  give(tenantQueue: TenantQueue, share: Share): void {
    this.#count(tenantQueue, { share, by: -1 });
  }

  /**
   * Whose turn it is to get a place that is free: a parked tenant, or an endpoint that stood in a line. It may have no use
   * for the place, so whoever asks goes on asking.
   */
  next(): TenantQueue | Endpoint | undefined {
    this.#first = ((this.#first + 1) % this.#turns.length) as Share;
    for (let index = 0; index < this.#turns.length; index += 1) {
      const share = ((this.#first + index) % this.#turns.length) as Share;
      const tenantQueue = this.#nextTenantQueue(share);
      if (tenantQueue === undefined) continue;
      if (share === 0) {
        tenantQueue.park(false);
        return tenantQueue;
      }
      const endpoint = tenantQueue.lines[share].shift() as Endpoint;
      if (tenantQueue.lines[share].length > 0) this.#turns[share].push(tenantQueue);
      endpoint.standInLine(false);
      return endpoint;
    }
    return undefined;
  }

  /** Looks past those that hold too many, which are fewer than there are places. */
  #nextTenantQueue(share: Share): TenantQueue | undefined {
    const turns = this.#turns[share];
    for (let wider: Share = share; wider >= 0; wider -= 1) if (this.#free(wider) <= 0) return undefined;
    for (let left = turns.length; left > 0; left -= 1) {
      const tenantQueue = turns.shift() as TenantQueue;
      if (this.#mayHave(tenantQueue, share)) return tenantQueue;
      turns.push(tenantQueue);
    }
    return undefined;
  }

  #mayHave(tenantQueue: TenantQueue, share: Share): boolean {
    for (let wider: Share = share; wider >= 0; wider -= 1)
      if (this.#refuses(tenantQueue, wider)) return false;
    return true;
  }

  #refuses(tenantQueue: TenantQueue, share: Share): boolean {
    const free = this.#free(share);
    if (free <= 0) return true;
    return tenantQueue.holds(share) >= free * tenantPart[share] && this.#severalTenants();
  }

  #free(share: Share): number {
    return this.#max[share] - this.#inUse[share];
  }

  #count(tenantQueue: TenantQueue, { share, by }: { readonly share: Share; readonly by: 1 | -1 }): void {
    for (let wider: number = share; wider >= 0; wider -= 1) {
      this.#inUse[wider as Share] += by;
      tenantQueue.hold(wider as Share, by);
    }
  }
}

/** 0 all places, 1 those for endpoints that are not known to be quick, 2 those for silent ones. */
export type Share = 0 | 1 | 2;
/** By share. */
export type Counts = [number, number, number];

const shareOf = { quick: 0, unknown: 1, slow: 1, silent: 2 } as const satisfies Record<Pace, Share>;
const notQuickPart = 3 / 4;
const silentPart = 1 / 2;
/**
 * A tenant may hold so many times what is free: of all places two thirds while nobody else needs any (two such tenants two
 * fifths each, three two sevenths), of the others half.
 */
const tenantPart = [2, 1, 1] as const;
