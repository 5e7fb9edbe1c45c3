import type { Endpoint } from "./endpoint.ts";
import { Fifo } from "./fifo.ts";
import { type Host, HostPlaces } from "./host-places.ts";
import type { Tenancy } from "./tenancy.ts";

export interface CapacityLimits {
  /** Requests in flight in this process (WDS-225). */
  readonly concurrency: number;
  /** Requests in flight per webhook (WDS-167). */
  readonly webhookConcurrency: number;
  /** Requests in flight per receiver host (WDS-225, C-39); null without a limit. */
  readonly hostConcurrency: number | null;
}

/** What a request occupies until it ends. */
export interface Place {
  /** Counted against the share of endpoints that do not answer quickly. */
  readonly cautious: boolean;
  /** Null where hosts have no limit. */
  readonly host: Host | null;
}

/**
 * The places for requests: in the process, per endpoint, per host where that has a limit, and together for the endpoints
 * that did not answer quickly last time (unknown, slow and hanging ones). Those get three quarters of all places and few
 * each, so that quick endpoints always find a free one.
 */
export class Capacity {
  readonly #limits: CapacityLimits;
  readonly #cautiousMax: number;
  /** Requests in flight to an endpoint of which nothing good is known yet. */
  readonly #cautiousEach: number;
  /** Who lacks a shared place, in order of coming. */
  readonly #waiting = new Fifo<Endpoint>();
  readonly #hosts: HostPlaces | null;
  #inFlight = 0;
  #cautious = 0;

  /** `recall` lists an endpoint that waited for a place at its host; false when it will not be looked at soon. */
  constructor(limits: CapacityLimits, recall: (endpoint: Endpoint) => boolean) {
    this.#limits = limits;
    this.#cautiousMax = Math.max(1, Math.floor((limits.concurrency * 3) / 4));
    this.#hosts = limits.hostConcurrency === null ? null : new HostPlaces(limits.hostConcurrency, recall);
    this.#cautiousEach = Math.min(2, this.#hosts?.cautiousEach ?? 2);
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get isExhausted(): boolean {
    return this.#inFlight >= this.#limits.concurrency;
  }

  /** The endpoint has all the places it may have; it is listed again when one of its requests ends, or by its host. */
  isFull(endpoint: Endpoint): boolean {
    if (endpoint.inFlight >= this.#limits.webhookConcurrency) return true;
    if (!endpoint.responsive && endpoint.inFlight >= this.#cautiousEach) return true;
    return this.#hosts !== null && this.#hosts.holdsBack(endpoint);
  }

  /** Nothing may be sent to the endpoint now. One that only lacks a shared place is handed back by a later `end`. */
  refuses(endpoint: Endpoint): boolean {
    if (this.isFull(endpoint)) return true;
    if (this.#hosts !== null && this.#hosts.refuses(endpoint)) return true;
    if (endpoint.responsive || this.#cautious < this.#cautiousMax) return false;
    if (!endpoint.waitsForShared) this.#waiting.push(endpoint);
    endpoint.waitsForShared = true;
    return true;
  }

  /**
   * An endpoint that waited for a shared place, while one is free. The one that `end` handed back may have had no use
   * for it, and nobody else may end for a long time.
   */
  takeWaiting(): Endpoint | undefined {
    if (this.#cautious >= this.#cautiousMax) return undefined;
    const first = this.#waiting.shift();
    if (first !== undefined) first.waitsForShared = false;
    return first;
  }

  /** The endpoint had its turn while it waited at a host. */
  served(endpoint: Endpoint, waitedAt: Host): void {
    this.#hosts?.served(endpoint, waitedAt);
  }

  /** No endpoint of the tenant will have its turn soon. */
  tenantSleeps(tenancy: Tenancy): void {
    this.#hosts?.tenantSleeps(tenancy);
  }

  /** Takes a place, which `end` wants to see again. */
  begin(endpoint: Endpoint): Place {
    const cautious = !endpoint.responsive;
    this.#inFlight += 1;
    if (cautious) this.#cautious += 1;
    const host = this.#hosts === null ? null : this.#hosts.begin(endpoint);
    endpoint.inFlight += 1;
    if (host !== null) return { cautious, host };
    return cautious ? cautiousPlace : quickPlace;
  }

  /** Frees a place. Returns an endpoint that waited for one. */
  end({ endpoint, place }: { readonly endpoint: Endpoint; readonly place: Place }): Endpoint | undefined {
    this.#inFlight -= 1;
    endpoint.inFlight -= 1;
    if (place.cautious) this.#cautious -= 1;
    if (place.host !== null) this.#hosts?.end(place.host, place.cautious);
    return this.takeWaiting();
  }
}

const quickPlace: Place = { cautious: false, host: null };
const cautiousPlace: Place = { cautious: true, host: null };
