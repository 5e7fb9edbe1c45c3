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
 * - a webhook has at most `problemKindsMax` rows, and one more row for all other kinds. The row that was resolved
 *   longest ago is replaced first;
 * - problems of a deleted webhook are deleted with it.
 */
export interface DeliveryProblemStore {
  /** Most recently changed first. Excludes problems that are only noticed. */
  search(search: ProblemSearch): Promise<SearchPage<StoredProblem>>;
  get(tenantId: string | null, id: string): Promise<StoredProblem | null>;
  /** Writes mute and note as given, together with the audit row. Null if the problem does not exist. */
  change(command: ChangeProblemCommand, audit?: AuditEntry): Promise<StoredProblem | null>;
  /** Webhooks with an open or recovering problem, in a stable order. */
  troubledWebhooks(after: string | null, limit: number): Promise<readonly string[]>;
  /** Resolves recovering problems that have not failed since a given time. */
  resolveQuiet(step: QuietProblemsStep): Promise<ResolvedProblems>;
  /** Removes problems that were resolved, or last noticed, before a given time. */
  forget(step: ForgetProblemsStep): Promise<StepResult>;
}

/** Changes to delivery problems that one commit applies. */
export interface ProblemBatch {
  /** One per settlement; null if it is not a failure. */
  readonly failures: readonly (ProblemFact | null)[];
  /** Failures of attempts made before their events were stored; their deliveries are settled with the event. */
  readonly passedOn?: readonly PassedOnFailure[];
  /** Webhooks with an accepted attempt after a failure; applied before the failures. */
  readonly recovering: readonly string[];
  /** Webhooks with enough consecutive accepted attempts. */
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

/** A problem with its position in the listing. A problem that changed later has a higher position. */
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
 * A page may have fewer rows than requested, or none, and still be followed by another page, because a call scans a
 * limited number of rows.
 */
export interface ProblemSearch {
  readonly filter: ProblemFilter;
  /** Determines which mutes are over, Unix milliseconds. */
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

/** Which problems have been quiet for long enough; Unix milliseconds. */
export interface QuietProblemsStep {
  readonly quietSince: number;
  readonly now: number;
  readonly limit: number;
}

/** How many problems were resolved, and which. */
export interface ResolvedProblems extends StepResult {
  readonly moves: readonly ProblemMove[];
}

/** Which problems are old enough to be removed; Unix milliseconds. */
export interface ForgetProblemsStep {
  readonly noticedBefore: number;
  readonly resolvedBefore: number;
  readonly limit: number;
}
