import type { EngineLimits } from "../../../src/engine/engine-options.ts";
import type { VirtualTime } from "../fake-clock.ts";
import type { Ledger } from "../ledger.ts";
import type { Flights } from "./flights.ts";

/** A violation of a statement in docs/invariants.md. */
export class Violation extends Error {
  override readonly name = "Violation";
  readonly invariant: string;

  constructor(invariant: string, message: string) {
    super(`${invariant}: ${message}`);
    this.invariant = invariant;
  }
}

/** The context that all checkers share. */
export interface Watched {
  readonly ledger: Ledger;
  readonly flights: Flights;
  readonly time: VirtualTime;
  readonly limits: EngineLimits;
  /** Records the violation, and makes the driver stop at its next step. */
  readonly fail: (invariant: string, message: string) => void;
}
