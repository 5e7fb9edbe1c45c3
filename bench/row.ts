import type { Folders } from "./folders.ts";
import type { Raw } from "./raw/raw.ts";
import type { Sink } from "./sink/sink.ts";

/** One line of the result table. A value is null if the column does not apply. */
export interface Line {
  readonly name: string;
  readonly value: number | null;
  readonly unit: string;
  readonly baseline: number | null;
  readonly ratio: number | null;
  readonly goal: string | null;
  readonly pass: boolean | null;
}

/** One measurement that returns result lines. Listed in run.ts. */
export interface Row {
  readonly name: string;
  run(context: Context): Promise<readonly Line[]>;
}

/** The tools and options that a row receives. */
export interface Context {
  readonly sink: Sink;
  readonly raw: Raw;
  readonly folders: Folders;
  /** `--quick`: smaller counts and fewer runs. */
  readonly quick: boolean;
  /** Number of repetitions of a measurement. Lines show the median. */
  readonly runs: number;
  /** Set with `--profile`. */
  readonly profile: ProfileTarget | null;
  /** Result lines of earlier rows of this run. */
  readonly lines: readonly Line[];
  /** Prints an explanation of a result under the table. */
  note(text: string): void;
  /** Prints a progress message to stderr immediately. */
  progress(text: string): void;
}

/** The profile of the measured interval. */
export interface ProfileTarget {
  readonly file: string;
  /**
   * Set by the row: the number of deliveries or requests while the profiler was running; 0 if the row does not count
   * them.
   */
  items: number;
}

/** The row cannot run because a server is missing. This is not a failure. */
export class RowSkippedError extends Error {
  override readonly name = "RowSkippedError";
}
