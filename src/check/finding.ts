/** A rule of the check, used in the table, the documentation and the findings. */
export interface Rule {
  /** Stable and short, such as `altered-body`. */
  readonly id: string;
  /** The rule in words: `refuses an altered body`. */
  readonly title: string;
  /** Requirement IDs, such as `TS16-55 EDS-11.3-3`. */
  readonly requirements: string;
  /**
   * `should`: the documents recommend the rule or leave a choice. Violating any other rule eventually causes failures.
   */
  readonly level: "must" | "should";
  /** How to fix it. */
  readonly fix: string;
}

/**
 * Result of a rule. `skipped`: the rule could not be checked with the given options. `not_applicable`: the rule does
 * not apply to this system.
 */
export type FindingState = "passed" | "failed" | "skipped" | "not_applicable";

/** One row of the table: a rule, its requirements, and the observation. */
export interface Finding extends Omit<Rule, "fix"> {
  readonly state: FindingState;
  /** Describes the sent and the received message, without secrets. */
  readonly detail: string;
  /** If `failed`, how to fix the problem. If `skipped`, which option lets the rule be checked. Otherwise null. */
  readonly hint: string | null;
}

/** The result of a check, without the description of its rule. */
export type Result = Pick<Finding, "state" | "detail" | "hint">;

export function passed(detail: string): Result {
  return { state: "passed", detail, hint: null };
}

/** Without a specific hint, the rule's `fix` is shown. */
export function failed(detail: string, hint: string | null = null): Result {
  return { state: "failed", detail, hint };
}

export function skipped(detail: string, hint: string): Result {
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

/** Thrown if the system could not be checked at all. The message says why, and `hints` suggests fixes. */
export class NothingToExamine extends Error {
  override readonly name = "NothingToExamine";
  readonly hints: readonly string[];

  constructor(message: string, hints: readonly string[]) {
    super(message);
    this.hints = hints;
  }
}
