import type { Clock } from "../clock.ts";

/** What one question of a person may cost: so many rows looked at, and so much time. */
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

  /** Whoever asks has looked at something already, so that every page comes further than the one before. */
  get isSpent(): boolean {
    return this.#rowsLeft <= 0 || this.#clock.monotonicMs() >= this.#endsAtMs;
  }

  spend(rows: number): void {
    this.#rowsLeft -= rows;
  }
}
