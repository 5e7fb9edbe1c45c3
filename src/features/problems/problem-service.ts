import { STATUS_CODES } from "node:http";
import { type FailureCategory, statusRule } from "../../domain/classify.ts";
import { NotFoundError } from "../../domain/errors.ts";
import type { ClassificationTable, StatusRule } from "../../domain/profile.ts";
import type { Scope } from "../../domain/scope.ts";
import type { LiveWebhook } from "../../engine/endpoint/endpoint-config.ts";
import type { EngineAccess } from "../../engine/engine-access.ts";
import { type Clock, SearchBudget } from "../../ports/clock.ts";
import type { DeliveryProblemStore, StoredProblem } from "../../ports/store/delivery-problems.ts";
import { problemChangeFields, problemFilters } from "../../resources/delivery-problem.ts";
import type { InputOf } from "../../resources/field.ts";
import { ProblemList, readFields } from "../input.ts";
import { tenantFilter } from "../visibility.ts";
import {
  judgeFilters,
  searchBounds,
  type SearchedPage,
  searchedPage,
  type SearchPageRequest,
} from "../searched-pages.ts";
import {
  type DeliveryProblem,
  isOtherKind,
  muteAt,
  type ProblemKind,
  problemKindsMax,
  type ProblemMute,
  type ProblemState,
  shownState,
} from "./problem.ts";

/**
 * Describes a problem: what is wrong, where, when it started, how many deliveries are affected, what happens
 * automatically, and what a person can do.
 */
interface ProblemSentences {
  readonly title: string;
  readonly remedy: string;
}

/** `live` is undefined if this process has no state for the webhook. */
export function problemSentences(
  problem: DeliveryProblem,
  live: Pick<LiveWebhook, "webhook" | "policy"> | undefined,
): ProblemSentences {
  const { kind, firstSeenAt, deliveries } = problem;
  const where = live === undefined ? "the receiver" : placeOf(live.webhook.url);
  const many = `${deliveries.toLocaleString("en-GB")} ${deliveries === 1 ? "delivery" : "deliveries"}`;
  const what = `${whatHappened(kind)} from ${where} since ${timeText(firstSeenAt)}, ${many}.`;
  const remedy = `${fateOf(problem, live)} ${remedyOf(kind)}`;
  return { title: `${what} ${remedy}`, remedy };
}

function whatHappened(kind: ProblemKind): string {
  const { category, statusCode, errorCode } = kind;
  if (statusCode !== null) return `${statusCode} ${STATUS_CODES[statusCode] ?? ""}`.trim();
  if (category === null) return "Failures of many kinds";
  return errorCode === null ? unanswered[category] : `${unanswered[category]} (${errorCode})`;
}

/** What happens to the delivery according to the webhook's profile. */
function fateOf(problem: DeliveryProblem, live: Pick<LiveWebhook, "policy"> | undefined): string {
  if (isOtherKind(problem.kind)) return `Kinds beyond the first ${problemKindsMax} are grouped here.`;
  const rule = live === undefined ? undefined : ruleOf(live.policy.classification, problem.kind);
  const outcome = problem.outcome === "terminal" ? "terminal" : (rule?.outcome ?? problem.outcome);
  if (outcome !== "terminal") return "Retried according to the webhook's schedule.";
  return problem.kind.category === "client_error"
    ? "Not retried: the receiver refuses the payload."
    : "Not retried: the failure ends the delivery.";
}

function ruleOf(table: ClassificationTable, { statusCode, category }: ProblemKind): StatusRule | undefined {
  if (statusCode !== null) return statusRule(table, statusCode);
  return table.failures[category as keyof ClassificationTable["failures"]];
}

function remedyOf({ category, statusCode }: ProblemKind): string {
  const byStatus = statusCode === null ? undefined : statusRemedies[statusCode];
  if (category === null) return "Check its failed deliveries.";
  return byStatus ?? remedies[category];
}

const retryAfterFix = "then retry.";
const remedies: Readonly<Record<FailureCategory, string>> = {
  timeout:
    "The receiver should respond immediately and process the message afterwards; or increase timeout_ms.",
  server_error: "Check the receiver's log; waiting deliveries are sent once it responds with 2xx.",
  client_error: `Check the response and fix the cause, ${retryAfterFix}`,
  network: "Check that the receiver is running and that firewalls allow requests from Posthorn.",
  dns: "Check the host name in the URL and its DNS records.",
  ssl: "Check the receiver's certificate: its names, its expiry, and the chain up to its issuer.",
  rate_limit: "Set a rate limit for the webhook that the receiver can handle.",
  payload_too_large: "Raise the limit of the receiver, or publish less data with each event.",
  redirect: "Redirects are not followed: change the webhook's URL to the new address.",
  protocol: "Check the port and the scheme of the URL: the server there does not respond with valid HTTP.",
};

const credentials = `Check that the webhook's secret and credentials match the receiver's, ${retryAfterFix}`;
const elsewhere = `There is nothing at this URL: check its path, ${retryAfterFix}`;
const statusRemedies: Readonly<Record<number, string>> = {
  401: credentials,
  403: credentials,
  404: elsewhere,
  405: "The receiver does not accept POST at this URL: check its path.",
  410: "The receiver is permanently gone: change the URL, or delete the webhook.",
};

const unanswered: Readonly<Record<FailureCategory, string>> = {
  timeout: "No response in time",
  server_error: "Server errors",
  client_error: "Refusals",
  network: "No connection, or one that was interrupted,",
  dns: "A host name that does not resolve,",
  ssl: "A failed TLS handshake",
  rate_limit: "Too many requests",
  payload_too_large: "Payloads too large",
  redirect: "Redirects",
  protocol: "A response that is not HTTP",
};

/** The URL without its query, which may contain secrets. */
function placeOf(url: string): string {
  const parsed = URL.parse(url);
  return parsed === null ? "the receiver" : `${parsed.origin}${parsed.pathname}`;
}

function timeText(at: number): string {
  const [day = "", time = ""] = new Date(at).toISOString().split("T");
  return `${day} ${time.slice(0, 5)} UTC`;
}

export interface DeliveryProblemsOptions {
  readonly store: DeliveryProblemStore;
  readonly access: Pick<EngineAccess, "webhook" | "refresh">;
  readonly clock: Clock;
}

/** A problem with its explanation. */
export interface DeliveryProblemView extends ProblemSentences {
  readonly problem: DeliveryProblem;
  readonly state: ProblemState;
  /** The current mute, if any. */
  readonly mute: ProblemMute | null;
}

/** Null means that the value is omitted. */
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

  /** The problems, sorted by last change. */
  async list(scope: Scope, query: ProblemListQuery): Promise<SearchedPage<DeliveryProblemView>> {
    judgeFilters(problemFilters, query);
    const { store, clock } = this.#options;
    const tenantId = tenantFilter(scope, query.tenantId ?? null);
    const filter = { tenantId, states: query.states ?? null, webhookIds: query.webhookIds ?? null };
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

  /** A problem by its id. Rejects with `not_found`. */
  async get(scope: Scope, id: string): Promise<DeliveryProblemView> {
    return this.#shown(await this.#options.store.get(scope.tenantId, id));
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
    return this.#shown(await store.change(change, audit));
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
/** Maximum rows per read. */
const rowsOfRead = 2_000;
