import type {
  DeliveryProblem,
  ProblemFailure,
  ProblemMove,
  ProblemMute,
  ProblemState,
} from "../../core/delivery-problems/delivery-problem.ts";
import type { ProblemKind } from "../../core/delivery-problems/problem-kind.ts";
import type { AuditEntry } from "./audit.ts";
import type { Lease, SettlementResult } from "./deliveries.ts";
import type { SearchPage, SearchPlace } from "./search.ts";
import type { StepResult } from "./upkeep.ts";

/**
 * Failures that are told as one (core/delivery-problems). Promises:
 * - a failed attempt and what it changes here are stored together or not at all, and once; an attempt whose settlement was
 *   refused changes nothing;
 * - a webhook has at most `problemKindsMax` rows and one for all other kinds. To make room, the longest resolved goes first;
 * - those of a deleted webhook are gone with it.
 */
export interface DeliveryProblemStore {
  /** What changed last comes first. Nobody is shown what is only noticed. */
  search(search: ProblemSearch): Promise<SearchPage<StoredProblem>>;
  get(query: { readonly tenantId: string | null; readonly id: string }): Promise<StoredProblem | null>;
  /** Writes mute and note as they are given, with the row of the audit log; null where there is none. */
  change(command: ChangeProblemCommand, audit?: AuditEntry): Promise<StoredProblem | null>;
  /** Webhooks of which a problem is open or recovering, in a stable order. */
  troubledWebhooks(page: {
    readonly after: string | null;
    readonly limit: number;
  }): Promise<readonly string[]>;
  /** Resolves what recovered, and has not failed since a time. */
  resolveQuiet(step: QuietProblemsStep): Promise<ResolvedProblems>;
  /** Removes what was resolved, or was noticed last, before a time. */
  forget(step: ForgetProblemsStep): Promise<StepResult>;
}

/** What a commit says of problems. */
export interface ProblemBatch {
  /** Of each settlement; null where nothing failed. */
  readonly failures: readonly (ProblemFact | null)[];
  /** Of attempts that were made before their events were stored; their deliveries are settled with the event. */
  readonly passedOn?: readonly PassedOnFailure[];
  /** Webhooks of which an attempt was accepted after a failure; looked at before the failures. */
  readonly recovering: readonly string[];
  /** Webhooks of which many in a row were. */
  readonly resolved: readonly string[];
  /** Unix milliseconds. */
  readonly at: number;
}

/** A failed attempt, and whose. */
export interface ProblemFact extends Omit<ProblemFailure, "isRepeated"> {
  readonly webhookId: string;
  readonly tenantId: string;
  readonly kind: ProblemKind;
  readonly lease: Lease;
  readonly attemptNumber: number;
}

/** The failure of one of the deliveries that a publish of the same commit brings along. */
export interface PassedOnFailure {
  /** Index of the publish in the commit. */
  readonly publish: number;
  /** Index of the delivery in the publish. */
  readonly delivery: number;
  readonly fact: Omit<ProblemFact, "lease">;
}

/** The failures of a batch that came true. */
export function problemFactsOf(
  { failures }: Pick<ProblemBatch, "failures">,
  settled: readonly SettlementResult[],
): readonly ProblemFact[] {
  return failures.flatMap((fact, index) =>
    fact !== null && settled[index]?.kind === "written" ? [fact] : [],
  );
}

/** With its place in the listing: the higher, the later it changed. */
export interface StoredProblem extends DeliveryProblem {
  readonly position: number;
}

/** Null leaves a filter out. */
export interface ProblemFilter {
  /** With a tenant set, rows of others do not exist. */
  readonly tenantId: string | null;
  readonly webhookIds: readonly string[] | null;
  readonly states: readonly ProblemState[] | null;
}

/** A page may have fewer rows than asked for, or none, and yet go on: a call looks at so many rows at most. */
export interface ProblemSearch {
  readonly filter: ProblemFilter;
  /** Tells which mutes are over, Unix milliseconds. */
  readonly now: number;
  readonly after: SearchPlace | null;
  readonly limit: number;
}

/** What is left out stays. */
export interface ChangeProblemCommand {
  readonly tenantId: string | null;
  readonly id: string;
  readonly mute?: ProblemMute | null;
  readonly note?: string | null;
}

/** Since when nothing of the kind failed; Unix milliseconds. */
export interface QuietProblemsStep {
  readonly quietSince: number;
  readonly now: number;
  readonly limit: number;
}

/** Beside how many, which. */
export interface ResolvedProblems extends StepResult {
  readonly moves: readonly ProblemMove[];
}

/** Which problems are too old to be kept; Unix milliseconds. */
export interface ForgetProblemsStep {
  readonly noticedBefore: number;
  readonly resolvedBefore: number;
  readonly limit: number;
}
