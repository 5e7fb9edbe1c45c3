/** A rule had more to look at than one message may cost. */
export class StepsSpentError extends Error {
  constructor(stepsMax: number) {
    super(`the rules for this message took more than ${stepsMax} steps`);
    this.name = "StepsSpentError";
  }
}

/**
 * Bounds the work of rules on one message, whoever wrote them. A step is about what one comparison costs. Counted and not
 * measured: what a message may cost must not depend on how busy the machine is.
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

  /** Throws a StepsSpentError when these are more than are left. */
  spend(steps: number): void {
    this.#spent += steps;
    if (this.#spent > this.#stepsMax) throw new StepsSpentError(this.#stepsMax);
  }
}
