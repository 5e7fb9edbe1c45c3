import type { LiveWebhook } from "../../engine/endpoint/endpoint-config.ts";
import { type Clock, SearchBudget } from "../../ports/clock.ts";
import type { DeliveryStore } from "../../ports/store/deliveries.ts";
import type { HistoryStore, WaitingCount } from "../../ports/store/history.ts";
import type { WebhookOrder } from "../../resources/webhook.ts";
import { searchBounds } from "../searched-pages.ts";
import type { StatisticsService } from "../services.ts";
import type { WebhookFailures } from "../statistics/statistics-service.ts";

/** The ranking of webhooks in a list. */
export interface Ranking {
  /** Sort key, for descending order; the id makes it unique. */
  readonly placeOf: (live: LiveWebhook) => string;
  /** False if some webhooks are at the end because the time limit was reached before they were examined. */
  readonly isComplete: boolean;
  /** Unix milliseconds: webhooks whose last failure was before this time were not examined. Null if not applicable. */
  readonly searchedTo: number | null;
  /**
   * Counts used for sorting and shown in the rows. The map is null for other sort orders; an entry is null if the
   * webhook has no count.
   */
  readonly waiting: ReadonlyMap<string, WaitingCount | null> | null;
}

export interface RankingSources {
  readonly statistics: Pick<StatisticsService, "failuresOf">;
  readonly history: Pick<HistoryStore, "waitingOf">;
  readonly deliveries: Pick<DeliveryStore, "lanesWithWork">;
  readonly clock: Clock;
}

type Sort = Exclude<WebhookOrder, "created">;

/** Newest first: ids sort by creation time. */
export const byAge: Ranking = {
  placeOf: ({ webhook }) => webhook.id,
  isComplete: true,
  searchedTo: null,
  waiting: null,
};

/** Queries the sort values of as many webhooks as the budget of a page allows. */
export async function rankingOf(
  sort: Sort,
  candidates: readonly LiveWebhook[],
  sources: RankingSources,
): Promise<Ranking> {
  if (sort === "last_failure") return byLastFailure;
  const budget = new SearchBudget(sources.clock, searchBounds);
  if (sort === "backlog") return byBacklog(candidates, { ...sources, budget });
  return byFailures(candidates, sort, { ...sources, budget });
}

/** Ranks webhooks by their last failure, which changes only when a webhook fails again. */
const byLastFailure: Ranking = {
  placeOf: ({ health, webhook }) => placeText([health.lastFailedAt ?? 0], webhook.id),
  isComplete: true,
  searchedTo: null,
  waiting: null,
};

type Asking = RankingSources & { readonly budget: SearchBudget };

/**
 * Ranks webhooks by failure rate. Webhooks without failures in the last day have the rate 0, so they are not queried.
 */
async function byFailures(
  candidates: readonly LiveWebhook[],
  sort: "failures" | "failure_rate",
  asking: Asking,
): Promise<Ranking> {
  const { statistics, clock, budget } = asking;
  const since = clock.now() - ratedMs;
  const failing = candidates
    .filter(({ health }) => (health.lastFailedAt ?? 0) >= since)
    .toSorted((left, right) => (right.health.lastFailedAt ?? 0) - (left.health.lastFailedAt ?? 0));
  const failures = new Map<string, WebhookFailures>();
  let at = 0;
  while (at < failing.length && !(at > 0 && budget.isSpent)) {
    const part = failing.slice(at, at + ratedAtOnce).map(({ webhook }) => webhook.id);
    at += part.length;
    for (const [id, found] of await statistics.failuresOf(part)) failures.set(id, found);
  }
  const isComplete = at >= failing.length;
  return {
    placeOf: ({ webhook }) => {
      const { rate, failed } = failures.get(webhook.id) ?? { rate: 0, failed: 0 };
      const scaled = Math.round(rate * rateScale);
      // Among webhooks with equal rates, the one with the most failures comes first.
      const ranks = sort === "failures" ? [failed, scaled] : [scaled, failed];
      return placeText(ranks, webhook.id);
    },
    isComplete,
    searchedTo: isComplete ? null : (failing[at - 1]?.health.lastFailedAt ?? null),
    waiting: null,
  };
}

/**
 * Ranks webhooks by backlog. Failing webhooks are counted first, because their deliveries wait. All backlogs are first
 * counted roughly. Large backlogs are then counted up to the displayed limit, so that the largest are found in time.
 * The ranking matches the displayed counts.
 */
async function byBacklog(candidates: readonly LiveWebhook[], asking: Asking): Promise<Ranking> {
  const working = await webhooksWithWork(asking);
  const failing = ({ health }: LiveWebhook): number => (health.failingSince === null ? 1 : 0);
  const wanted = candidates
    .filter(({ webhook }) => working.ids.has(webhook.id))
    .toSorted((left, right) => failing(left) - failing(right))
    .map(({ webhook }) => webhook.id);
  const rough = await waitingWithin(wanted, { ...asking, countMax: roughCountMax, atOnce: countedAtOnce });
  const deep = [...rough.counts].flatMap(([id, { isMore }]) => (isMore ? [id] : []));
  const whole = await waitingWithin(deep, { ...asking, countMax: shownCountMax, atOnce: deepAtOnce });
  const counts = new Map([...rough.counts, ...whole.counts]);
  const volumes = await volumesOf(counts, asking);
  const isComplete = working.isComplete && rough.isComplete && whole.isComplete;
  const missed = candidates.flatMap(({ webhook: { id } }) =>
    rough.asked.has(id) || (working.isComplete && !working.ids.has(id)) ? [] : [[id, null] as const],
  );
  return {
    placeOf: ({ webhook: { id } }) => placeText([counts.get(id)?.total ?? 0, volumes.get(id) ?? 0], id),
    isComplete,
    searchedTo: null,
    waiting: new Map<string, WaitingCount | null>([...counts, ...missed]),
  };
}

/**
 * Attempts of the last day for webhooks whose count reached the limit, because the counts do not determine their order.
 */
async function volumesOf(
  counts: ReadonlyMap<string, WaitingCount>,
  { statistics, budget }: Asking,
): Promise<ReadonlyMap<string, number>> {
  const capped = [...counts].flatMap(([id, { isMore }]) => (isMore ? [id] : []));
  const volumes = new Map<string, number>();
  for (let at = 0; at < capped.length && !budget.isSpent; at += ratedAtOnce)
    for (const [id, { attempts }] of await statistics.failuresOf(capped.slice(at, at + ratedAtOnce)))
      volumes.set(id, attempts);
  return volumes;
}

/**
 * Finds the webhooks that have work. Seeks from lane to lane, so that a lane with many deliveries costs no more than
 * others.
 */
async function webhooksWithWork({ deliveries, budget }: Asking): Promise<{
  readonly ids: ReadonlySet<string>;
  readonly isComplete: boolean;
}> {
  const ids = new Set<string>();
  for (let after: string | null = null; ; ) {
    const page = await deliveries.lanesWithWork(after, lanesAtOnce);
    for (const { webhookId } of page.lanes) ids.add(webhookId);
    if (page.next === null) return { ids, isComplete: true };
    if (budget.isSpent) return { ids, isComplete: false };
    after = page.next;
  }
}

/** Counts backlogs in parts, so that many large backlogs do not cause one long query. */
async function waitingWithin(
  webhookIds: readonly string[],
  asking: Pick<Asking, "history" | "budget"> & { readonly countMax: number; readonly atOnce: number },
): Promise<{
  readonly counts: ReadonlyMap<string, WaitingCount>;
  readonly asked: ReadonlySet<string>;
  readonly isComplete: boolean;
}> {
  const { history, budget, countMax, atOnce } = asking;
  const counts = new Map<string, WaitingCount>();
  let at = 0;
  while (at < webhookIds.length && !(at > 0 && budget.isSpent)) {
    const part = webhookIds.slice(at, at + atOnce);
    at += part.length;
    for (const [id, count] of await history.waitingOf({ webhookIds: part, countMax })) counts.set(id, count);
  }
  return { counts, asked: new Set(webhookIds.slice(0, at)), isComplete: at >= webhookIds.length };
}

/** Counts the backlogs for the rows of a page that is sorted in another order. */
export async function waitingOfRows(
  webhookIds: readonly string[],
  { history, clock }: Pick<RankingSources, "history" | "clock">,
): Promise<ReadonlyMap<string, WaitingCount | null>> {
  const budget = new SearchBudget(clock, searchBounds);
  const bounds = { countMax: shownCountMax, atOnce: countedAtOnce };
  const { counts, asked } = await waitingWithin(webhookIds, { ...bounds, history, budget });
  const missed = webhookIds.filter((id) => !asked.has(id)).map((id) => [id, null] as const);
  return new Map<string, WaitingCount | null>([...counts, ...missed]);
}

/**
 * Builds a sort key. Numbers are padded to equal length, so that they sort correctly as text. The first number takes
 * precedence.
 */
function placeText(ranks: readonly number[], id: string): string {
  return [...ranks.map((rank) => String(rank).padStart(16, "0")), id].join(" ");
}

/** Period of the statistics shown in a row. */
const ratedMs = 86_400_000;
/** Rates are rounded to this many digits (statistics/series.ts). */
const rateScale = 1_000_000;
/** The first query of an hour costs about 90 seeks per webhook, later queries three. */
const ratedAtOnce = 256;
const lanesAtOnce = 1_000;
const countedAtOnce = 32;
/** Maximum number of large backlogs counted at once. Counting one of them takes ten times as long as a rough count. */
const deepAtOnce = 4;
const roughCountMax = 1_000;
const shownCountMax = 10_000;

/** A ranking and when it was computed, in Unix milliseconds. */
export interface DatedRanking extends Ranking {
  readonly rankedAt: number;
}

interface KeptRanking {
  readonly ranking: DatedRanking;
  readonly foundAtMs: number;
  readonly tookMs: number;
}

/**
 * Caches rankings of very many webhooks. A repeated query gets the last ranking and the time when it was computed. If
 * that ranking is stale, a new one is computed in the background. A page that reloads is therefore fast but a few
 * seconds behind. Rankings that take almost no time to compute, for example of few webhooks, are computed on demand.
 */
export class KeptRankings {
  readonly #clock: Clock;
  readonly #kept = new Map<string, KeptRanking>();
  readonly #underWay = new Map<string, Promise<DatedRanking>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The ranking with this name. Concurrent callers share one call of `find`. */
  async of(name: string, find: () => Promise<Ranking>): Promise<DatedRanking> {
    this.#forgetOld();
    const kept = this.#kept.get(name);
    if (kept === undefined) return this.#find(name, find);
    if (this.#ageMs(kept) < freshMs) return kept.ranking;
    // The error reaches the caller only if no sufficiently recent ranking is cached.
    const next = this.#find(name, find).catch(() => kept.ranking);
    return kept.tookMs <= waitedMs ? next : kept.ranking;
  }

  #find(name: string, find: () => Promise<Ranking>): Promise<DatedRanking> {
    const underWay = this.#underWay.get(name);
    if (underWay !== undefined) return underWay;
    const found = this.#found(name, find).finally(() => this.#underWay.delete(name));
    this.#underWay.set(name, found);
    return found;
  }

  async #found(name: string, find: () => Promise<Ranking>): Promise<DatedRanking> {
    const rankedAt = this.#clock.now();
    const begunMs = this.#clock.monotonicMs();
    const ranking = { ...(await find()), rankedAt };
    const foundAtMs = this.#clock.monotonicMs();
    this.#kept.set(name, { ranking, foundAtMs, tookMs: foundAtMs - begunMs });
    return ranking;
  }

  #forgetOld(): void {
    for (const [name, kept] of this.#kept) if (this.#ageMs(kept) >= keptMs) this.#kept.delete(name);
  }

  #ageMs({ foundAtMs }: KeptRanking): number {
    return this.#clock.monotonicMs() - foundAtMs;
  }
}

const freshMs = 3_000;
const keptMs = 60_000;
/** A wait of this length is not noticeable. */
const waitedMs = 25;
