import type {
  DeliveryProblem,
  ProblemFailure,
  ProblemKind,
  ProblemMove,
  ProblemMute,
  ProblemState,
} from "../../features/problems/problem.ts";
import type { AuditEntry } from "./audit.ts";
import type { Lease, SettlementResult } from "./deliveries.ts";
import type { SearchPage, SearchPlace } from "./search.ts";
import type { StepResult } from "./upkeep.ts";

/**
 * Failures grouped into problems (features/problems). Promises:
 * - a failed attempt and its problem changes are stored together, once, or not at all; an attempt whose settlement
 *   was refused changes nothing;
 * - a webhook has no more than `problemKindsMax` rows, plus one row for all other kinds. The row that was resolved
 *   longest ago is replaced first;
 * - problems of a deleted webhook are deleted with it.
 */
export interface DeliveryProblemStore {
  /** Most recently changed first. Excludes problems in the state `noticed`. */
  search(search: ProblemSearch): Promise<SearchPage<StoredProblem>>;
  get(tenantId: string | null, id: string): Promise<StoredProblem | null>;
  /** Writes the given mute and note, together with the audit row. Null if the problem does not exist. */
  change(command: ChangeProblemCommand, audit?: AuditEntry): Promise<StoredProblem | null>;
  /** Webhooks with an open or recovering problem, in a stable order. */
  troubledWebhooks(after: string | null, limit: number): Promise<readonly string[]>;
  /** Resolves recovering problems whose last failure was before a given time. */
  resolveQuiet(step: QuietProblemsStep): Promise<ResolvedProblems>;
  /**
   * Removes problems that were resolved before a given time, and problems that were last noticed before a given time.
   */
  forget(step: ForgetProblemsStep): Promise<StepResult>;
}

/** Changes to delivery problems that one commit applies. */
export interface ProblemBatch {
  /** One entry per settlement; null if the settlement is not a failure. */
  readonly failures: readonly (ProblemFact | null)[];
  /** Failures of attempts made before their events were stored; their deliveries are settled with the event. */
  readonly passedOn?: readonly PassedOnFailure[];
  /** Webhooks with an accepted attempt after a failure; applied before the failures. */
  readonly recovering: readonly string[];
  /** Webhooks with enough consecutive accepted attempts to resolve their problems. */
  readonly resolved: readonly string[];
  /** Unix milliseconds. */
  readonly at: number;
}

/** A failed attempt with its webhook. */
export interface ProblemFact extends Omit<ProblemFailure, "isRepeated"> {
  readonly webhookId: string;
  readonly tenantId: string;
  readonly kind: ProblemKind;
  readonly lease: Lease;
  readonly attemptNumber: number;
}

/** The failure of a delivery that a publish of the same commit contains. */
export interface PassedOnFailure {
  /** Index of the publish within the commit. */
  readonly publish: number;
  /** Index of the delivery within the publish. */
  readonly delivery: number;
  readonly fact: Omit<ProblemFact, "lease">;
}

/** The failures of a batch whose settlements were written. */
export function problemFactsOf(
  { failures }: Pick<ProblemBatch, "failures">,
  settled: readonly SettlementResult[],
): readonly ProblemFact[] {
  return failures.flatMap((fact, index) =>
    fact !== null && settled[index]?.kind === "written" ? [fact] : [],
  );
}

/** A problem with its position in the listing. The later a problem changed, the higher its position. */
export interface StoredProblem extends DeliveryProblem {
  readonly position: number;
}

/** In each field, null disables the filter. */
export interface ProblemFilter {
  /** If a tenant is set, rows of other tenants are invisible. */
  readonly tenantId: string | null;
  readonly webhookIds: readonly string[] | null;
  readonly states: readonly ProblemState[] | null;
}

/**
 * A page may contain fewer rows than requested, or none, although another page follows, because each call scans a
 * limited number of rows.
 */
export interface ProblemSearch {
  readonly filter: ProblemFilter;
  /** The current time, Unix milliseconds. Determines which mutes have ended. */
  readonly now: number;
  readonly after: SearchPlace | null;
  readonly limit: number;
}

/** Omitted fields keep their values. */
export interface ChangeProblemCommand {
  readonly tenantId: string | null;
  readonly id: string;
  readonly mute?: ProblemMute | null;
  readonly note?: string | null;
}

/** Selects problems that have been quiet for long enough. Unix milliseconds. */
export interface QuietProblemsStep {
  readonly quietSince: number;
  readonly now: number;
  readonly limit: number;
}

/** The number of resolved problems, and the transitions. */
export interface ResolvedProblems extends StepResult {
  readonly moves: readonly ProblemMove[];
}

/** Selects problems that are old enough to be removed. Unix milliseconds. */
export interface ForgetProblemsStep {
  readonly noticedBefore: number;
  readonly resolvedBefore: number;
  readonly limit: number;
}
