import type { Folders } from "./folders.ts";
import type { Raw } from "./raw/raw.ts";
import type { Sink } from "./sink/sink.ts";

/** One line of the table. Null where a column does not apply. */
export interface Line {
  readonly name: string;
  readonly value: number | null;
  readonly unit: string;
  readonly baseline: number | null;
  readonly ratio: number | null;
  readonly goal: string | null;
  readonly pass: boolean | null;
}

/** One measurement, which returns its lines. Listed in run.ts. */
export interface Row {
  readonly name: string;
  run(context: Context): Promise<readonly Line[]>;
}

/** What a row works with. */
export interface Context {
  readonly sink: Sink;
  readonly raw: Raw;
  readonly folders: Folders;
  /** `--quick`: smaller counts and fewer runs. */
  readonly quick: boolean;
  /** How often a measurement is repeated. Lines show the median. */
  readonly runs: number;
  /** With `--profile`. */
  readonly profile: ProfileTarget | null;
  /** Lines of earlier rows of this run. */
  readonly lines: readonly Line[];
  /** Printed under the table: what explains a figure. */
  note(text: string): void;
  /** Printed at once, on stderr. */
  progress(text: string): void;
}

/** The profile of the measured stretch. */
export interface ProfileTarget {
  readonly file: string;
  /** Set by the row: deliveries or requests while the profiler ran; 0 if the row does not count them. */
  items: number;
}

/** The row cannot run here because a server is missing. This is not a failure. */
export class RowSkippedError extends Error {
  override readonly name = "RowSkippedError";
}
