import type { OperationalEvent } from "../../features/notifications/operational-event.ts";

/** Keys that were sent recently. An endpoint that fails a thousand times an hour produces the same key each time. */
const rememberedMax = 10_000;

/** Operational events of the engine, until the next transaction includes them. */
export class OperationalEvents {
  readonly #touch: () => void;
  readonly #stored: () => void;
  readonly #told = new Set<string>();
  #waiting: OperationalEvent[] = [];

  /** `touch` is called when there are events to write, and `stored` when they are written and may be published. */
  constructor(touch: () => void, stored: () => void) {
    this.#touch = touch;
    this.#stored = stored;
  }

  /** Adds an event, unless one with the same key was recently added. */
  tell(event: OperationalEvent): void {
    if (this.#told.has(event.key)) return;
    if (this.#told.size >= rememberedMax) this.#told.clear();
    this.#told.add(event.key);
    this.#waiting.push(event);
    this.#touch();
  }

  /** Takes the events for the next transaction. */
  take(): readonly OperationalEvent[] {
    if (this.#waiting.length === 0) return [];
    const taken = this.#waiting;
    this.#waiting = [];
    return taken;
  }

  /** Puts back the events of a transaction that was not written. */
  putBack(events: readonly OperationalEvent[]): void {
    this.#waiting = [...events, ...this.#waiting];
  }

  written(events: readonly OperationalEvent[]): void {
    if (events.length > 0) this.#stored();
  }
}
