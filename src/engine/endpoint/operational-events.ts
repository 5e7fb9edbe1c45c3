import type { OperationalEvent } from "../../core/notifications/operational-event.ts";

/** Keys that were told here lately: an endpoint that fails a thousand times an hour tells the same each time. */
const rememberedMax = 10_000;

/** What the engine has to tell, until the next transaction takes it along. */
export class OperationalEvents {
  readonly #touch: () => void;
  readonly #stored: () => void;
  readonly #told = new Set<string>();
  #waiting: OperationalEvent[] = [];

  /** `touch`: there is something to write. `stored`: it is written, and may be published. */
  constructor(options: { readonly touch: () => void; readonly stored: () => void }) {
    this.#touch = options.touch;
    this.#stored = options.stored;
  }

  /** Once for each key. */
  tell(event: OperationalEvent): void {
    if (this.#told.has(event.key)) return;
    if (this.#told.size >= rememberedMax) this.#told.clear();
    this.#told.add(event.key);
    this.#waiting.push(event);
    this.#touch();
  }

  /** For a transaction that is being composed. */
  take(): readonly OperationalEvent[] {
    if (this.#waiting.length === 0) return [];
    const taken = this.#waiting;
    this.#waiting = [];
    return taken;
  }

  /** The transaction was not written. */
  putBack(events: readonly OperationalEvent[]): void {
    this.#waiting = [...events, ...this.#waiting];
  }

  written(events: readonly OperationalEvent[]): void {
    if (events.length > 0) this.#stored();
  }
}
