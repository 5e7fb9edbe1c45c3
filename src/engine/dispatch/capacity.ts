import type { Place } from "../attempt/flight.ts";
import { Endpoint } from "../endpoint/endpoint.ts";
import { FairShares } from "../endpoint/fair-shares.ts";
import { type Host, HostPlaces } from "../endpoint/host-places.ts";
import type { TenantQueue } from "../endpoint/tenant-queue.ts";

export interface CapacityLimits {
  /** Requests in flight in this process (WDS-225). */
  readonly concurrency: number;
  /** Requests in flight per webhook (WDS-167). */
  readonly webhookConcurrency: number;
  /** Requests in flight per receiver host (WDS-225, C-39); null without a limit. */
  readonly hostConcurrency: number | null;
}

export interface CapacityOptions extends CapacityLimits {
  /** Whether more than one tenant has webhooks: places are kept for the others then. */
  readonly severalTenants: () => boolean;
  /** Lists an endpoint that waited for a place; false when it will not be looked at soon. */
  readonly recall: (endpoint: Endpoint) => boolean;
  /** Puts a tenant that was parked back into the round. */
  readonly resume: (tenantQueue: TenantQueue) => void;
}

/** The places for requests: per endpoint, per host where that has a limit, and those of the process by tenant and share. */
export class Capacity {
  readonly #options: CapacityOptions;
  readonly #shares: FairShares;
  /** Requests in flight to an endpoint that is not known to be quick. */
  readonly #cautiousEach: number;
  readonly #hosts: HostPlaces | null;

  constructor(options: CapacityOptions) {
    this.#options = options;
    const { concurrency, hostConcurrency, severalTenants, recall } = options;
    this.#shares = new FairShares(concurrency, severalTenants);
    this.#hosts = hostConcurrency === null ? null : new HostPlaces(hostConcurrency, recall);
    this.#cautiousEach = Math.min(2, this.#hosts?.cautiousEach ?? 2);
  }

  get inFlight(): number {
    return this.#shares.inUse;
  }

  get isExhausted(): boolean {
    return this.#shares.isExhausted;
  }

  /** The tenant has all the places it may have. */
  isUsedUp(tenantQueue: TenantQueue): boolean {
    return this.#shares.isUsedUp(tenantQueue);
  }

  /** Takes the tenant out of the round until `recallNext` resumes it. */
  park(tenantQueue: TenantQueue): void {
    this.#shares.park(tenantQueue);
    this.#hosts?.tenantSleeps(tenantQueue);
  }

  /** The endpoint has all the places it may have; it is listed again when one of its requests ends, or by its host. */
  isFull(endpoint: Endpoint): boolean {
    if (endpoint.inFlight >= this.#options.webhookConcurrency) return true;
    if (!endpoint.isQuick && endpoint.inFlight >= this.#cautiousEach) return true;
    return this.#hosts !== null && this.#hosts.holdsBack(endpoint);
  }

  /** Nothing may be sent to the endpoint now. One that only lacks a shared place is recalled later. */
  refuses(endpoint: Endpoint): boolean {
    if (this.isFull(endpoint)) return true;
    if (this.#hosts !== null && this.#hosts.refuses(endpoint)) return true;
    return this.#shares.refuses(endpoint);
  }

  /** Recalls the next one that waits for a place which is free; false when nobody does. */
  recallNext(): boolean {
    const next = this.#shares.next();
    if (next === undefined) return false;
    if (next instanceof Endpoint) this.#options.recall(next);
    else this.#options.resume(next);
    return true;
  }

  /** The endpoint had its turn while it waited at a host. */
  served(endpoint: Endpoint, waitedAt: Host): void {
    this.#hosts?.served(endpoint, waitedAt);
  }

  /** No endpoint of the tenant will have its turn soon. */
  tenantSleeps(tenantQueue: TenantQueue): void {
    this.#hosts?.tenantSleeps(tenantQueue);
  }

  /** Takes a place, which `end` wants to see again. */
  begin(endpoint: Endpoint): Place {
    const share = this.#shares.take(endpoint);
    const host = this.#hosts === null ? null : this.#hosts.begin(endpoint);
    endpoint.requestBegan();
    return host === null ? placesAnywhere[share] : { share, host };
  }

  /** Frees a place. */
  end({ endpoint, place }: { readonly endpoint: Endpoint; readonly place: Place }): void {
    endpoint.requestEnded();
    this.#shares.give(endpoint.tenantQueue, place.share);
    if (place.host !== null) this.#hosts?.end(place.host, place.share > 0);
  }
}

/** By share: most requests have one of these, and none is made for each. */
const placesAnywhere: readonly [Place, Place, Place] = [
  { share: 0, host: null },
  { share: 1, host: null },
  { share: 2, host: null },
];
