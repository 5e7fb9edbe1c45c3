import {
  type DeliveryProblem,
  muteAt,
  type ProblemMute,
  type ProblemState,
  shownState,
} from "../../core/delivery-problems/delivery-problem.ts";
import { NotFoundError } from "../../core/errors.ts";
import { problemChangeFields, problemFilters } from "../../core/fields/delivery-problem.ts";
import type { InputOf } from "../../core/fields/field.ts";
import type { Scope } from "../../core/scope.ts";
import type { EngineAccess } from "../../engine/engine-access.ts";
import type { Clock } from "../../ports/clock.ts";
import type { DeliveryProblemStore, StoredProblem } from "../../ports/store/delivery-problems.ts";
import { SearchBudget } from "../../ports/timing/search-budget.ts";
import { ProblemList } from "../problem-list.ts";
import { readFields } from "../read-fields.ts";
import { tenantFilter } from "../scope.ts";
import type { SearchedPage, SearchPageRequest } from "../searched-place.ts";
import { judgeFilters, searchBounds, searchedPage } from "../searched-pages.ts";
import { problemSentences, type ProblemSentences } from "./problem-sentence.ts";

export interface DeliveryProblemsOptions {
  /** Null if problems are not tracked. */
  readonly store: DeliveryProblemStore | null;
  readonly access: Pick<EngineAccess, "webhook" | "refresh">;
  readonly clock: Clock;
}

/** A problem with its explanation. */
export interface DeliveryProblemView extends ProblemSentences {
  readonly problem: DeliveryProblem;
  readonly state: ProblemState;
  /** The mute in force, if any. */
  readonly mute: ProblemMute | null;
}

/** Null means omitted. */
export type ProblemListQuery = {
  readonly [Name in keyof InputOf<typeof problemFilters>]: InputOf<typeof problemFilters>[Name] | null;
} & { readonly page: SearchPageRequest };

export type ChangeProblem = { readonly id: string } & InputOf<typeof problemChangeFields>;

/** Similar failures, grouped into problems with advice. */
export class DeliveryProblems {
  readonly #options: DeliveryProblemsOptions;

  constructor(options: DeliveryProblemsOptions) {
    this.#options = options;
  }

  /** Sorted by last change. */
  async list(scope: Scope, query: ProblemListQuery): Promise<SearchedPage<DeliveryProblemView>> {
    judgeFilters(problemFilters, query);
    const { store, clock } = this.#options;
    const tenantId = tenantFilter(scope, query.tenantId ?? null);
    const filter = { tenantId, states: query.states ?? null, webhookIds: query.webhookIds ?? null };
    if (store === null) return { rows: [], next: null, searchedTo: null, isComplete: true };
    const now = clock.now();
    const budget = new SearchBudget(clock, searchBounds);
    const page = await searchedPage<StoredProblem>(query.page, {
      budget,
      takes: null,
      read: async ({ after, limit }) => {
        budget.spend(rowsOfRead);
        return store.search({ filter, now, after, limit });
      },
      placeOf: ({ position }) => ({ position, dueAt: null }),
      createdAtOf: () => null,
    });
    await this.#options.access.refresh([...new Set(page.rows.map(({ webhookId }) => webhookId))]);
    return { ...page, rows: page.rows.map((problem) => this.#view(problem)) };
  }

  /** Rejects with `not_found`. */
  async get(scope: Scope, id: string): Promise<DeliveryProblemView> {
    const found = await this.#options.store?.get(scope.tenantId, id);
    return this.#shown(found ?? null);
  }

  /** Mutes, unmutes or annotates a problem. Rejects with `not_found`. */
  async change(scope: Scope, command: ChangeProblem): Promise<DeliveryProblemView> {
    const { store, clock } = this.#options;
    const before = await this.get(scope, command.id);
    const now = clock.now();
    const { muted, mutedUntil = null, muteReason = null, note } = readChange(command, now);
    const mute: ProblemMute | null =
      muted === true ? { since: before.mute?.since ?? now, until: mutedUntil, reason: muteReason } : null;
    const audit = scope.audit?.take({ id: command.id, tenantId: before.problem.tenantId });
    const change = {
      tenantId: scope.tenantId,
      id: command.id,
      ...(muted !== undefined && { mute }),
      ...(note !== undefined && { note }),
    };
    return this.#shown((await store?.change(change, audit)) ?? null);
  }

  async #shown(problem: StoredProblem | null): Promise<DeliveryProblemView> {
    if (problem === null || shownState(problem, this.#options.clock.now()) === null)
      throw new NotFoundError("the problem");
    await this.#options.access.refresh([problem.webhookId]);
    return this.#view(problem);
  }

  #view(problem: StoredProblem): DeliveryProblemView {
    const now = this.#options.clock.now();
    return {
      problem,
      // The listing omits problems that are not open yet.
      state: shownState(problem, now) ?? "open",
      mute: muteAt(problem, now),
      ...problemSentences(problem, this.#options.access.webhook(problem.webhookId)),
    };
  }
}

function readChange(command: ChangeProblem, now: number): InputOf<typeof problemChangeFields> {
  const problems = new ProblemList();
  const read = readFields(problemChangeFields, command, problems);
  const { muted, mutedUntil = null, muteReason = null } = read;
  if (mutedUntil !== null && (mutedUntil <= now || mutedUntil - now > muteMsMax))
    problems.add({ field: "muted_until", message: "must be in the future and at most a year ahead" });
  if (muted !== true && mutedUntil !== null) problems.add({ field: "muted_until", message: needsMuted });
  if (muted !== true && muteReason !== null) problems.add({ field: "mute_reason", message: needsMuted });
  problems.throwIfAny("the change");
  return read;
}

const needsMuted = 'requires "muted": true';
const muteMsMax = 366 * 86_400_000;
/** Limit of rows per read. */
const rowsOfRead = 2_000;
