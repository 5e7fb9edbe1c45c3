/** One line of the report. */
export interface Figure {
  readonly name: string;
  readonly value: number | string;
  /** What was counted, for `--list`. */
  readonly found?: readonly string[];
}
