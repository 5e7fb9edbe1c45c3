/** One static check of `npm test`: one line of its output, and one in the count at the end. */
export interface Check {
  readonly name: string;
  readonly title: string;
  readonly run: () => Promise<CheckResult> | CheckResult;
}

export interface CheckResult {
  /** One entry for each thing to repair; none means passed. */
  readonly problems: readonly string[];
  /** Worth showing although nothing is wrong. */
  readonly note?: string;
  /** What it cannot run without and this platform does not have; then it is skipped. */
  readonly missing?: string;
  /** Of programs that it started. */
  readonly processorSeconds?: number | null;
}
