import type { Endpoint } from "./endpoint.ts";
import { Fifo } from "./fifo.ts";

export interface CapacityLimits {
  /** Requests in flight in this process (WDS-225). */
  readonly concurrency: number;
  /** Requests in flight per webhook (WDS-167). */
  readonly webhookConcurrency: number;
}

/**
 * The places for requests: in the process, per endpoint, and together for the endpoints that did not answer quickly
 * last time (unknown, slow and hanging ones). Those get three quarters of all places and few each, so that quick
 * endpoints always find a free one.
 */
export class Capacity {
  readonly #limits: CapacityLimits;
  readonly #cautiousMax: number;
  readonly #waiting = new Fifo<Endpoint>();
  #inFlight = 0;
  #cautious = 0;

  constructor(limits: CapacityLimits) {
    this.#limits = limits;
    this.#cautiousMax = Math.max(1, Math.floor((limits.concurrency * 3) / 4));
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get isExhausted(): boolean {
    return this.#inFlight >= this.#limits.concurrency;
  }

  /** The endpoint has all the places it may have; it is listed again when one of its requests ends. */
  isFull(endpoint: Endpoint): boolean {
    if (endpoint.inFlight >= this.#limits.webhookConcurrency) return true;
    return !endpoint.responsive && endpoint.inFlight >= unknownEndpointConcurrency;
  }

  /** Nothing may be sent to the endpoint now. One that only lacks a shared place is handed back by a later `end`. */
  refuses(endpoint: Endpoint): boolean {
    if (this.isFull(endpoint)) return true;
    if (endpoint.responsive || this.#cautious < this.#cautiousMax) return false;
    this.#waiting.push(endpoint);
    return true;
  }

  /**
   * An endpoint that waited for a shared place, while one is free. The one that `end` handed back may have had no use
   * for it, and nobody else may end for a long time.
   */
  takeWaiting(): Endpoint | undefined {
    return this.#cautious < this.#cautiousMax ? this.#waiting.shift() : undefined;
  }

  /** Takes a place. Returns whether it is one of the shared ones; `end` wants to know. */
  begin(endpoint: Endpoint): boolean {
    const cautious = !endpoint.responsive;
    this.#inFlight += 1;
    endpoint.inFlight += 1;
    if (cautious) this.#cautious += 1;
    return cautious;
  }

  /** Frees a place. Returns an endpoint that waited for one. */
  end(endpoint: Endpoint, cautious: boolean): Endpoint | undefined {
    this.#inFlight -= 1;
    endpoint.inFlight -= 1;
    if (cautious) this.#cautious -= 1;
    return this.#waiting.shift();
  }
}

/** Requests in flight to an endpoint of which nothing good is known yet. */
const unknownEndpointConcurrency = 2;
