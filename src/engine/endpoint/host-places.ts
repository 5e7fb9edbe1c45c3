import type { Endpoint } from "./endpoint.ts";
import type { TenantQueue } from "./tenant-queue.ts";

/** A receiver host with requests in flight. Removed once it has neither requests nor waiting endpoints. */
export class Host {
  readonly name: string;
  inFlight = 0;
  /** Number of requests to endpoints that did not respond quickly last time. */
  cautious = 0;
  /** Endpoints waiting for a slot, in order of arrival. Fast endpoints and the others are in separate lines. */
  readonly quickLine = new Set<Endpoint>();
  readonly cautiousLine = new Set<Endpoint>();
  /** Whether the line of the other endpoints was served first last time; the two lines alternate. */
  cautiousFirst = false;

  constructor(name: string) {
    this.name = name;
  }
}

/**
 * The request slots of each receiver host, over all webhooks with that host. The limit counts the requests of this
 * process.
 *
 * An endpoint that finds no slot waits in a line of its host. When a slot is free, the first one is recalled: it
 * takes its turn like any ready endpoint, and stays first until it has sent something or turns out not to need the
 * slot, which then goes to the next one.
 */
export class HostPlaces {
  readonly #max: number;
  readonly #cautiousMax: number;
  readonly #recall: (endpoint: Endpoint) => boolean;
  readonly #hosts = new Map<string, Host>();

  /** `recall` lists an endpoint as ready; false if it will not be served soon. */
  constructor(max: number, recall: (endpoint: Endpoint) => boolean) {
    this.#max = max;
    this.#cautiousMax = Math.max(1, Math.floor((max * 3) / 4));
    this.#recall = recall;
  }

  /** Number of hosts in memory. */
  get size(): number {
    return this.#hosts.size;
  }

  /**
   * Maximum requests to one endpoint that is not known to be fast, so that two hanging endpoints do not block a third.
   */
  get cautiousEach(): number {
    return Math.max(1, Math.floor(this.#cautiousMax / 2));
  }

  /** Whether the endpoint is in line and no slot is free for it. It will be recalled. */
  holdsBack(endpoint: Endpoint): boolean {
    const host = endpoint.waitsAt;
    if (host === null || host.name !== endpoint.config.host) return false;
    return lineOf(host, endpoint).has(endpoint) && !this.#hasPlace(host, endpoint);
  }

  /** True if no slot is free for the endpoint now. The endpoint then waits in line. */
  refuses(endpoint: Endpoint): boolean {
    const host = this.#hosts.get(endpoint.config.host);
    if (host === undefined || this.#hasPlace(host, endpoint)) return false;
    const line = lineOf(host, endpoint);
    if (!line.has(endpoint)) {
      this.#leave(endpoint);
      line.add(endpoint);
      endpoint.waitsAt = host;
    }
    return true;
  }

  /** Takes a slot at the endpoint's host; `end` returns it. Returns the host, because the URL may change in between. */
  begin(endpoint: Endpoint): Host {
    const { host: name } = endpoint.config;
    let host = this.#hosts.get(name);
    if (host === undefined) {
      host = new Host(name);
      this.#hosts.set(name, host);
    }
    if (endpoint.waitsAt === host) this.#leave(endpoint);
    host.inFlight += 1;
    if (!endpoint.isQuick) host.cautious += 1;
    return host;
  }

  end(host: Host, cautious: boolean): void {
    host.inFlight -= 1;
    if (cautious) host.cautious -= 1;
    this.#passOn(host);
  }

  /**
   * Called after an endpoint that was in a line of `host` had its turn. If it could have taken a slot but did not need
   * one, it leaves the line.
   */
  served(endpoint: Endpoint, host: Host): void {
    endpoint.tenantQueue.recalled.delete(endpoint);
    if (endpoint.waitsAt === host && !this.holdsBack(endpoint)) this.#leave(endpoint);
    this.#passOn(host);
  }

  /** Called when a tenant will not be served soon. Its recalled endpoints leave their lines. */
  tenantSleeps(tenantQueue: TenantQueue): void {
    for (const endpoint of tenantQueue.recalled) {
      const host = endpoint.waitsAt;
      this.#leave(endpoint);
      if (host !== null) this.#passOn(host);
    }
  }

  #hasPlace(host: Host, endpoint: Endpoint): boolean {
    return host.inFlight < this.#max && (endpoint.isQuick || host.cautious < this.#cautiousMax);
  }

  #leave(endpoint: Endpoint): void {
    endpoint.waitsAt?.quickLine.delete(endpoint);
    endpoint.waitsAt?.cautiousLine.delete(endpoint);
    endpoint.waitsAt = null;
    endpoint.tenantQueue.recalled.delete(endpoint);
  }

  /** Recalls as many endpoints as there are free slots. */
  #passOn(host: Host): void {
    const places = this.#max - host.inFlight;
    if (places > 0 && host.quickLine.size + host.cautiousLine.size > 0) {
      const cautiousPlaces = Math.min(places, this.#cautiousMax - host.cautious);
      host.cautiousFirst = !host.cautiousFirst;
      if (host.cautiousFirst) this.#recallFirst(host.cautiousLine, cautiousPlaces);
      this.#recallFirst(host.quickLine, places);
      if (!host.cautiousFirst) this.#recallFirst(host.cautiousLine, cautiousPlaces);
    }
    const isIdle = host.inFlight === 0 && host.quickLine.size + host.cautiousLine.size === 0;
    if (isIdle && this.#hosts.get(host.name) === host) this.#hosts.delete(host.name);
  }

  #recallFirst(line: Set<Endpoint>, places: number): void {
    let left = places;
    for (const endpoint of line) {
      if (left <= 0) return;
      if (this.#recall(endpoint)) {
        endpoint.tenantQueue.recalled.add(endpoint);
        left -= 1;
      } else this.#leave(endpoint);
    }
  }
}

function lineOf(host: Host, { isQuick }: Endpoint): Set<Endpoint> {
  return isQuick ? host.quickLine : host.cautiousLine;
}
