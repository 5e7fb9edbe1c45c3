/** A static check of `npm test`: one line of its output, and one in the count at the end. */
export interface Check {
  readonly name: string;
  readonly title: string;
  readonly run: () => Promise<CheckResult> | CheckResult;
}

export interface CheckResult {
  /** One entry for each problem. None means passed. */
  readonly problems: readonly string[];
  /** Shown also if the check passed. */
  readonly note?: string;
  /** What this platform lacks. Then the check is skipped. */
  readonly missing?: string;
}
