/**
 * What a doctor says of one rule: `skipped` could not be tried as it was called, `not_applicable` does not concern this
 * partner.
 */
export type FindingState = "passed" | "failed" | "skipped" | "not_applicable";

/** One row of the table: a rule, where it comes from, and what was seen. */
export interface Finding {
  /** Stable and short, such as `altered-body`. */
  readonly id: string;
  /** The rule in words: `refuses an altered body`. */
  readonly title: string;
  /** Requirement IDs, such as `TS16-55 EDS-11.3-3`. */
  readonly requirements: string;
  readonly state: FindingState;
  /** What was sent and what came back; never a secret. */
  readonly detail: string;
  /** How to mend it; only with `failed`, and with `skipped` how to have it tried. */
  readonly hint: string | null;
}

/** What a check found, without the names of the rule. */
export type Result = Pick<Finding, "state" | "detail" | "hint">;

export function passed(detail: string): Result {
  return { state: "passed", detail, hint: null };
}

export function failed(detail: string, hint: string): Result {
  return { state: "failed", detail, hint };
}

export function skipped(detail: string, hint: string): Result {
  return { state: "skipped", detail, hint };
}

export function notApplicable(detail: string): Result {
  return { state: "not_applicable", detail, hint: null };
}
