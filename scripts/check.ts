/** A static check of `npm test`. It has one line in the output and counts as one in the total. */
export interface Check {
  readonly name: string;
  readonly title: string;
  readonly run: () => Promise<CheckResult> | CheckResult;
}

export interface CheckResult {
  /** One entry per problem. An empty list means that the check passed. */
  readonly problems: readonly string[];
  /** Printed even if the check passed. */
  readonly note?: string;
  /** What this platform lacks. If set, the check is skipped. */
  readonly missing?: string;
}
