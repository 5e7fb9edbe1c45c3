import type { AttemptObservation, Outcome } from "../../../src/domain/classify.ts";
import type { EngineRun } from "../engine-run.ts";
import { isWaiting, type Ledger, type LedgerDelivery } from "../ledger.ts";

/** How the receiver reacted, recorded independently of the engine's rules. */
export interface Answer {
  readonly observation: AttemptObservation;
  readonly means: Outcome;
  /** Time in Unix ms before which the receiver asked not to be called again; null if there is no readable value. */
  readonly retryNotBefore: number | null;
}

export interface Flight {
  readonly run: EngineRun;
  readonly webhookId: string;
  readonly eventId: string;
  readonly origin: string;
  /** The delivery to which the request belongs. Null if it matches none, which is itself a violation. */
  delivery: LedgerDelivery | null;
  readonly sentAt: number;
  readonly sentAtMonotonicMs: number;
  state: "open" | "answered" | "settled" | "refused" | "lost";
  answer: Answer | null;
  answeredAt: number;
  answeredAtMonotonicMs: number;
  /** True if the wall clock jumped ahead while the request was in flight. The jump may have ended its lease early. */
  overtakenByClock: boolean;
}

/** Requests from the time they are sent until their result is committed, assigned to their deliveries. */
export class Flights {
  readonly #ledger: Ledger;
  readonly #unsettled = new Set<Flight>();

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  get all(): ReadonlySet<Flight> {
    return this.#unsettled;
  }

  open(run: EngineRun): Flight[] {
    return [...this.#unsettled].filter((flight) => flight.run === run && flight.state === "open");
  }

  add(flight: Flight): void {
    // If the deliveries are twins, it is unknown which of the two requests was in flight during the jump (see
    // `settle`).
    const isTwin = ({ webhookId, eventId, overtakenByClock }: Flight): boolean =>
      overtakenByClock && webhookId === flight.webhookId && eventId === flight.eventId;
    if ([...this.#unsettled].some(isTwin)) flight.overtakenByClock = true;
    this.#unsettled.add(flight);
    if (flight.delivery !== null) flight.delivery.requests += 1;
  }

  /** Deliveries of the event to the webhook that this process may send now, considering leases and other requests. */
  candidates(
    run: EngineRun,
    pair: { readonly webhookId: string; readonly eventId: string },
  ): LedgerDelivery[] {
    return this.#ledger
      .pair(pair.webhookId, pair.eventId)
      .filter(
        (delivery) => isWaiting(delivery) && delivery.lease !== null && !this.#isOnItsWay(run, delivery),
      );
  }

  /**
   * Finds the completed request that a settlement reports. Requests of twins (a replay and its original) are
   * distinguished by the time of their response, because a group of settlements does not preserve the order of
   * deliveries. There may also be two requests for one delivery if one of them lost its lease in flight. The request
   * that got its response first is then settled first.
   */
  settle(run: EngineRun, delivery: LedgerDelivery, answeredAt: number): Flight | undefined {
    const answered = [...this.#unsettled]
      .filter(
        (flight) =>
          flight.run === run &&
          flight.state === "answered" &&
          flight.webhookId === delivery.lane.webhookId &&
          flight.eventId === delivery.event.id,
      )
      .toSorted((one, other) => one.answeredAtMonotonicMs - other.answeredAtMonotonicMs);
    const atThatMoment = answered.filter((flight) => flight.answeredAt === answeredAt);
    const among = atThatMoment.length > 0 ? atThatMoment : answered;
    const found = among.find((flight) => flight.delivery === delivery) ?? among[0];
    if (found === undefined) return undefined;
    if (found.delivery !== delivery) this.#swap(found, delivery);
    this.#unsettled.delete(found);
    return found;
  }

  clockJumpedAhead(): void {
    for (const flight of this.#unsettled) flight.overtakenByClock = true;
  }

  /**
   * Marks the requests of a dead process as lost, because it will not settle them. Returns copies of the requests as
   * they were before.
   */
  lose(run: EngineRun): readonly Flight[] {
    const lost = [...this.#unsettled].filter((flight) => flight.run === run);
    const before = lost.map((flight) => ({ ...flight }));
    for (const flight of lost) {
      flight.state = "lost";
      if (flight.delivery !== null) flight.delivery.lost += 1;
      this.#unsettled.delete(flight);
    }
    return before;
  }

  #isOnItsWay(run: EngineRun, delivery: LedgerDelivery): boolean {
    for (const flight of this.#unsettled) {
      if (flight.run === run && flight.delivery === delivery && !flight.overtakenByClock) return true;
    }
    return false;
  }

  #swap(flight: Flight, delivery: LedgerDelivery): void {
    const other = [...this.#unsettled].find((candidate) => candidate.delivery === delivery);
    const before = flight.delivery;
    if (other !== undefined) other.delivery = before;
    else {
      if (before !== null) before.requests -= 1;
      delivery.requests += 1;
    }
    flight.delivery = delivery;
  }
}
