/** One rule, as the table, the page of rules and the findings name it. */
export interface Rule {
  /** Stable and short, such as `altered-body`. */
  readonly id: string;
  /** The rule in words: `refuses an altered body`. */
  readonly title: string;
  /** Requirement IDs, such as `TS16-55 EDS-11.3-3`. */
  readonly requirements: string;
  /** `should` where the documents recommend it or leave a choice; everything else goes wrong sooner or later. */
  readonly level: "must" | "should";
  /** How to mend it. */
  readonly fix: string;
}

/**
 * What a check says of one rule: `skipped` could not be tried as it was called, `not_applicable` does not concern this
 * partner.
 */
export type FindingState = "passed" | "failed" | "skipped" | "not_applicable";

/** One row of the table: a rule, where it comes from, and what was seen. */
export interface Finding extends Omit<Rule, "fix"> {
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

/** Without a hint of its own the rule's `fix` is shown. */
export function failed(detail: string, hint: string | null = null): Result {
  return { state: "failed", detail, hint };
}

export function skipped(detail: string, { hint }: { readonly hint: string }): Result {
  return { state: "skipped", detail, hint };
}

export function notApplicable(detail: string): Result {
  return { state: "not_applicable", detail, hint: null };
}

export function findingOf(rule: Rule, result: Result): Finding {
  const { id, title, requirements, level, fix } = rule;
  const hint = result.state === "failed" ? (result.hint ?? fix) : result.hint;
  return { id, title, requirements, level, state: result.state, detail: result.detail, hint };
}

/** The partner could not be examined at all; the message says why, `hints` what to do. */
export class NothingToExamine extends Error {
  override readonly name = "NothingToExamine";
  readonly hints: readonly string[];

  constructor(message: string, hints: readonly string[]) {
    super(message);
    this.hints = hints;
  }
}
