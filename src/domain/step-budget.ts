/** The rules for a message exceeded their step budget. */
export class StepsSpentError extends Error {
  constructor(stepsMax: number) {
    super(`the rules for this message took more than ${stepsMax} steps`);
    this.name = "StepsSpentError";
  }
}

/**
 * Limits the work that filters and other rules do for one message. A step costs about as much as one comparison. The
 * limit counts steps instead of time, so the result does not depend on how busy the machine is.
 */
export class StepBudget {
  readonly #stepsMax: number;
  #spent = 0;

  constructor(stepsMax: number = Number.POSITIVE_INFINITY) {
    this.#stepsMax = stepsMax;
  }

  get spent(): number {
    return this.#spent;
  }

  /** Throws a StepsSpentError if fewer steps remain. */
  spend(steps: number): void {
    this.#spent += steps;
    if (this.#spent > this.#stepsMax) throw new StepsSpentError(this.#stepsMax);
  }
}
