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
 * - a failed attempt and its changes here are stored together, once, or not at all; an attempt whose settlement was
 *   refused changes nothing;
 * - a webhook has at most `problemKindsMax` rows and one for all other kinds. The row that was resolved longest ago
 *   is replaced first;
 * - problems of a deleted webhook are deleted with it.
 */
export interface DeliveryProblemStore {
  /** Most recently changed first. Problems that are only noticed are not listed. */
  search(search: ProblemSearch): Promise<SearchPage<StoredProblem>>;
  get(tenantId: string | null, id: string): Promise<StoredProblem | null>;
  /** Writes mute and note as given, with the audit row; null if the problem does not exist. */
  change(command: ChangeProblemCommand, audit?: AuditEntry): Promise<StoredProblem | null>;
  /** Webhooks with an open or recovering problem, in a stable order. */
  troubledWebhooks(after: string | null, limit: number): Promise<readonly string[]>;
  /** Resolves recovering problems that have not failed since a time. */
  resolveQuiet(step: QuietProblemsStep): Promise<ResolvedProblems>;
  /** Removes problems that were resolved, or last noticed, before a time. */
  forget(step: ForgetProblemsStep): Promise<StepResult>;
}

/** Problem changes in a commit. */
export interface ProblemBatch {
  /** One per settlement; null without a failure. */
  readonly failures: readonly (ProblemFact | null)[];
  /** Failures of attempts made before their events were stored; their deliveries are settled with the event. */
  readonly passedOn?: readonly PassedOnFailure[];
  /** Webhooks with an accepted attempt after a failure; applied before the failures. */
  readonly recovering: readonly string[];
  /** Webhooks with enough accepted attempts in a row. */
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
  /** Index of the publish in the commit. */
  readonly publish: number;
  /** Index of the delivery in the publish. */
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

/** A problem with its position in the listing: the higher, the later it changed. */
export interface StoredProblem extends DeliveryProblem {
  readonly position: number;
}

/** Null disables a filter. */
export interface ProblemFilter {
  /** With a tenant set, rows of other tenants are invisible. */
  readonly tenantId: string | null;
  readonly webhookIds: readonly string[] | null;
  readonly states: readonly ProblemState[] | null;
}

/**
 * A page may have fewer rows than requested, or none, and still have a successor, because a call scans a limited
 * number of rows.
 */
export interface ProblemSearch {
  readonly filter: ProblemFilter;
  /** Decides which mutes are over, Unix milliseconds. */
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

/** Time since the last failure of a kind; Unix milliseconds. */
export interface QuietProblemsStep {
  readonly quietSince: number;
  readonly now: number;
  readonly limit: number;
}

/** How many problems were resolved, and which. */
export interface ResolvedProblems extends StepResult {
  readonly moves: readonly ProblemMove[];
}

/** Which problems are too old; Unix milliseconds. */
export interface ForgetProblemsStep {
  readonly noticedBefore: number;
  readonly resolvedBefore: number;
  readonly limit: number;
}
