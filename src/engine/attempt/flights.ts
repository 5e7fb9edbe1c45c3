import type { Clock, Timer } from "../../ports/clock.ts";
import type { Lease } from "../../ports/store/deliveries.ts";
import type { Flight } from "./flight.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";

/** The deliveries in flight, by delivery ID. */
export class Flights {
  readonly #clock: Clock;
  readonly #open = new Map<string, Flight>();
  #abandoned = false;
  #quiet: (() => void) | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  has(deliveryId: string): boolean {
    return this.#open.has(deliveryId);
  }

  /** The IDs of the deliveries in flight, by endpoint. */
  byEndpoint(): ReadonlyMap<Endpoint, readonly string[]> {
    const flying = new Map<Endpoint, string[]>();
    for (const { endpoint, delivery } of this.#open.values())
      flying.set(endpoint, [...(flying.get(endpoint) ?? []), delivery.id]);
    return flying;
  }

  add(flight: Flight): void {
    this.#open.set(flight.delivery.id, flight);
  }

  /** The request has ended. False if its lease was released, so it must not be settled. */
  end(flight: Flight): boolean {
    if (this.#abandoned) return false;
    // After a clock jump past its lease, another flight of the same delivery may have replaced it.
    if (this.#open.get(flight.delivery.id) === flight) this.#open.delete(flight.delivery.id);
    return true;
  }

  /** Wakes a waiting stop, after an ended flight was settled. */
  settled(): void {
    if (this.#open.size === 0) this.#quiet?.();
  }

  /** Waits until no delivery is in flight, or until the grace time ends. */
  async wait(graceMs: number): Promise<void> {
    if (this.#open.size === 0) return;
    await new Promise<void>((resolve) => {
      const timer: Timer = this.#clock.schedule(graceMs, resolve);
      this.#quiet = () => {
        timer.cancel();
        resolve();
      };
    });
    this.#quiet = null;
  }

  /**
   * The grace time is over: deliveries in flight are released without a settlement and will be sent again (WDS-196).
   */
  abandon(): readonly Lease[] {
    const leases = [...this.#open.values()].map((flight) => flight.delivery.lease);
    this.#open.clear();
    this.#abandoned = true;
    return leases;
  }
}
