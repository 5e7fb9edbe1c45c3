import type { DeliveryProgress } from "../../core/delivery.ts";
import type { Verdict } from "../../core/outcome.ts";
import { keptByEvent, type KeptBecause } from "../../core/tracing/sampling.ts";
import { SlowTimes } from "../../core/tracing/slow-times.ts";
import type { Clock } from "../../ports/clock.ts";
import type { NewEvent } from "../../ports/store/deliveries.ts";
import type { Tracer } from "../../ports/telemetry.ts";
import type { TransportResult } from "../../ports/transport.ts";
import type { Flight } from "./flight.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import { deliverSpan, publishSpan } from "./make-spans.ts";

/** A completed request and its effect on the delivery. */
export interface EndedAttempt {
  readonly verdict: Verdict;
  readonly result: TransportResult;
  readonly progress: DeliveryProgress;
}

/**
 * Spans of events, created only after the outcome is known and only if they are kept. Other events cost one check of
 * their ID and one duration sample.
 */
export class EventSpans {
  readonly #tracer: Tracer;
  readonly #clock: Clock;
  readonly #slow = new WeakMap<Endpoint, SlowTimes>();
  readonly #publishedFor = new RecentIds();
  #troubleSecond = 0;
  #troubleCount = 0;

  constructor(tracer: Tracer, clock: Clock) {
    this.#tracer = tracer;
    this.#clock = clock;
  }

  /** An event was committed. */
  published(event: NewEvent, deliveries: number): void {
    const kept = keptByEvent(event.id, event.trace, this.#tracer.sampling);
    if (kept === null) return;
    this.#tracer.ended(publishSpan({ ...event, endedAt: this.#clock.now(), deliveries }, kept));
  }

  /** An attempt was settled. */
  attempted(flight: Flight, ended: EndedAttempt): void {
    const { delivery, endpoint } = flight;
    const isSlow = this.#isSlow(endpoint, ended);
    const failed = ended.verdict.outcome !== "accepted";
    const kept = keptByEvent(delivery.eventId, delivery.trace, this.#tracer.sampling);
    if (kept === null && !failed && !isSlow) return;
    const because = kept ?? this.#keptByTrouble(failed);
    if (because === null) return;
    // No publish span was exported yet: only this attempt makes the event worth tracing.
    if (kept === null && this.#publishedFor.isNew(delivery.eventId)) {
      const { createdAt } = delivery.progress;
      const event = { ...delivery, id: delivery.eventId, createdAt, priority: delivery.eventPriority };
      this.#tracer.ended(publishSpan({ ...event, endedAt: createdAt, deliveries: null }, because));
    }
    this.#tracer.ended(deliverSpan(flight, ended, because));
  }

  #isSlow(endpoint: Endpoint, { result }: EndedAttempt): boolean {
    let times = this.#slow.get(endpoint);
    if (times === undefined) this.#slow.set(endpoint, (times = new SlowTimes()));
    return times.isSlow(result.durationMs);
  }

  #keptByTrouble(failed: boolean): KeptBecause | null {
    if (!this.#tracer.sampling.keepsTrouble) return null;
    const second = Math.floor(this.#clock.monotonicMs() / 1_000);
    if (second !== this.#troubleSecond) [this.#troubleSecond, this.#troubleCount] = [second, 0];
    this.#troubleCount += 1;
    if (this.#troubleCount > troublePerSecondMax) {
      this.#tracer.passedOver();
      return null;
    }
    return failed ? "failed" : "slow";
  }
}

/** Limit for failed and slow attempts that are kept; an outage would otherwise flood the collector. */
const troublePerSecondMax = 50;

/** The most recent few hundred IDs. */
class RecentIds {
  readonly #ids = new Set<string>();

  isNew(id: string): boolean {
    if (this.#ids.has(id)) return false;
    this.#ids.add(id);
    if (this.#ids.size > recentMax) {
      const [oldest = ""] = this.#ids;
      this.#ids.delete(oldest);
    }
    return true;
  }
}

const recentMax = 512;
