import type { Clock } from "../clock.ts";

/** The cost limit of one search: rows scanned, and time. */
export class SearchBudget {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #endsAtMs: number;
  #rowsLeft: number;

  constructor(
    clock: Pick<Clock, "monotonicMs">,
    bounds: { readonly rowsMax: number; readonly durationMsMax: number },
  ) {
    this.#clock = clock;
    this.#endsAtMs = clock.monotonicMs() + bounds.durationMsMax;
    this.#rowsLeft = bounds.rowsMax;
  }

  /** Callers check it after they have scanned something, so that every page makes progress. */
  get isSpent(): boolean {
    return this.#rowsLeft <= 0 || this.#clock.monotonicMs() >= this.#endsAtMs;
  }

  spend(rows: number): void {
    this.#rowsLeft -= rows;
  }
}
