import type { Folders } from "./folders.ts";
import type { Raw } from "./raw/raw.ts";
import type { Sink } from "./sink/sink.ts";

/** One line of the table. What does not apply is null. */
export interface Line {
  readonly name: string;
  readonly value: number | null;
  readonly unit: string;
  readonly baseline: number | null;
  readonly ratio: number | null;
  readonly goal: string | null;
  readonly pass: boolean | null;
}

/** One bench: measures, and returns its lines. Registered in rows/all-rows.ts. */
export interface Row {
  readonly name: string;
  run(context: Context): Promise<readonly Line[]>;
}

/** What a row works with. */
export interface Context {
  readonly sink: Sink;
  readonly raw: Raw;
  readonly folders: Folders;
  /** `--quick`: smaller counts, fewer runs, the same shape. */
  readonly quick: boolean;
  /** How often a measurement is repeated; the median counts. */
  readonly runs: number;
  /** With `--profile`. */
  readonly profile: ProfileTarget | null;
  /** Lines of earlier rows of the same run. */
  readonly lines: readonly Line[];
  /** Shown under the table: what explains a figure. */
  note(text: string): void;
  /** Shown at once, on stderr. */
  progress(text: string): void;
}

/** The profile of the measured stretch. */
export interface ProfileTarget {
  readonly file: string;
  /** Set by the row: deliveries or requests while the profiler ran; 0 when time is not theirs. */
  items: number;
}

/** The row cannot run here, and that is no failure: a server is missing. */
export class RowSkippedError extends Error {
  override readonly name = "RowSkippedError";
}

/** A line with a goal about its ratio. */
export function judged(
  line: Omit<Line, "goal" | "pass">,
  text: string,
  met: (ratio: number) => boolean,
): Line {
  return { ...line, goal: text, pass: line.ratio === null ? null : met(line.ratio) };
}
