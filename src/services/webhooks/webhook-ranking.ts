import type { WebhookOrder } from "../../core/fields/filters.ts";
import type { LiveWebhook } from "../../engine/endpoint/live-webhook.ts";
import type { Clock } from "../../ports/clock.ts";
import type { DeliveryStore } from "../../ports/store/deliveries.ts";
import type { HistoryStore, WaitingCount } from "../../ports/store/history.ts";
import { SearchBudget } from "../../ports/timing/search-budget.ts";
import { searchBounds } from "../searched-pages.ts";
import type { StatisticsService } from "../services.ts";

/** Where webhooks stand in a list. */
export interface Ranking {
  /** As text in the order of the list, last first; the id makes it one webhook's own. */
  readonly placeOf: (live: LiveWebhook) => string;
  /** False when some stand at the end because nobody had the time to look at them. */
  readonly isComplete: boolean;
  /** Unix milliseconds: those whose last failure is older were not looked at. Null where that tells nothing. */
  readonly searchedTo: number | null;
}

export interface RankingSources {
  readonly statistics: Pick<StatisticsService, "failureRates">;
  readonly history: Pick<HistoryStore, "waitingOf">;
  readonly deliveries: Pick<DeliveryStore, "lanesWithWork">;
  readonly clock: Clock;
}

type Sort = Exclude<WebhookOrder, "created">;

/** Newest first: ids are made in the order of time. */
export const byAge: Ranking = {
  placeOf: ({ webhook }) => webhook.id,
  isComplete: true,
  searchedTo: null,
};

/** Asks for what the order is about, of as many webhooks as one page may cost. */
export async function rankingOf(
  sort: Sort,
  candidates: readonly LiveWebhook[],
  sources: RankingSources,
): Promise<Ranking> {
  if (sort === "last_failure") return byLastFailure;
  const budget = new SearchBudget(sources.clock, searchBounds);
  return sort === "failure_rate"
    ? byFailureRate(candidates, { ...sources, budget })
    : byBacklog(candidates, { ...sources, budget });
}

/** It stays where it is until the webhook fails again. */
const byLastFailure: Ranking = {
  placeOf: ({ health, webhook }) => placeText(health.lastFailedAt ?? 0, webhook.id),
  isComplete: true,
  searchedTo: null,
};

type Asking = RankingSources & { readonly budget: SearchBudget };

/** What did not fail in the last day has no rate above 0, so nothing is asked of it. */
async function byFailureRate(candidates: readonly LiveWebhook[], asking: Asking): Promise<Ranking> {
  const { statistics, clock, budget } = asking;
  const since = clock.now() - ratedMs;
  const failed = candidates
    .filter(({ health }) => (health.lastFailedAt ?? 0) >= since)
    .toSorted((left, right) => (right.health.lastFailedAt ?? 0) - (left.health.lastFailedAt ?? 0));
  const rates = new Map<string, number>();
  let at = 0;
  while (at < failed.length && !(at > 0 && budget.isSpent)) {
    const part = failed.slice(at, at + ratedAtOnce).map(({ webhook }) => webhook.id);
    at += part.length;
    for (const [id, rate] of await statistics.failureRates(part)) rates.set(id, rate);
  }
  const isComplete = at >= failed.length;
  return {
    placeOf: ({ webhook }) => placeText(Math.round((rates.get(webhook.id) ?? 0) * rateScale), webhook.id),
    isComplete,
    searchedTo: isComplete ? null : (failed[at - 1]?.health.lastFailedAt ?? null),
  };
}

/** Those that fail are looked at first: their deliveries wait. */
async function byBacklog(candidates: readonly LiveWebhook[], asking: Asking): Promise<Ranking> {
  const working = await webhooksWithWork(asking);
  const failing = ({ health }: LiveWebhook): number => (health.failingSince === null ? 1 : 0);
  const wanted = candidates
    .filter(({ webhook }) => working.ids.has(webhook.id))
    .toSorted((left, right) => failing(left) - failing(right))
    .map(({ webhook }) => webhook.id);
  const found = await waitingWithin(wanted, { ...asking, countMax: rankedCountMax });
  return {
    placeOf: ({ webhook }) => placeText(found.counts.get(webhook.id)?.total ?? 0, webhook.id),
    isComplete: working.isComplete && found.isComplete,
    searchedTo: null,
  };
}

/** Seeks from lane to lane, so that a deep one costs no more than another. */
async function webhooksWithWork({ deliveries, budget }: Asking): Promise<{
  readonly ids: ReadonlySet<string>;
  readonly isComplete: boolean;
}> {
  const ids = new Set<string>();
  for (let after: string | null = null; ; ) {
    const page = await deliveries.lanesWithWork({ after, limit: lanesAtOnce });
    for (const { webhookId } of page.lanes) ids.add(webhookId);
    if (page.next === null) return { ids, isComplete: true };
    if (budget.isSpent) return { ids, isComplete: false };
    after = page.next;
  }
}

/** A part at a time, so that many deep backlogs cannot take long at once. */
async function waitingWithin(
  webhookIds: readonly string[],
  asking: Pick<Asking, "history" | "budget"> & { readonly countMax: number },
): Promise<{
  readonly counts: ReadonlyMap<string, WaitingCount>;
  readonly asked: ReadonlySet<string>;
  readonly isComplete: boolean;
}> {
  const { history, budget, countMax } = asking;
  const counts = new Map<string, WaitingCount>();
  let at = 0;
  while (at < webhookIds.length && !(at > 0 && budget.isSpent)) {
    const part = webhookIds.slice(at, at + countedAtOnce);
    at += part.length;
    for (const [id, count] of await history.waitingOf({ webhookIds: part, countMax })) counts.set(id, count);
  }
  return { counts, asked: new Set(webhookIds.slice(0, at)), isComplete: at >= webhookIds.length };
}

/** For rows of a page, counted further than for their order. */
export async function waitingOfRows(
  webhookIds: readonly string[],
  { history, clock }: Pick<RankingSources, "history" | "clock">,
): Promise<ReadonlyMap<string, WaitingCount | null>> {
  const budget = new SearchBudget(clock, searchBounds);
  const { counts, asked } = await waitingWithin(webhookIds, { history, budget, countMax: shownCountMax });
  const missed = webhookIds.filter((id) => !asked.has(id)).map((id) => [id, null] as const);
  return new Map<string, WaitingCount | null>([...counts, ...missed]);
}

/** Numbers of one length sort as texts. */
function placeText(rank: number, id: string): string {
  return `${String(rank).padStart(16, "0")} ${id}`;
}

/** What statistics tell of a row of the list. */
const ratedMs = 86_400_000;
const rateScale = 1_000_000;
/** Those asked for the first time in an hour cost some 90 seeks each, the others three. */
const ratedAtOnce = 256;
const lanesAtOnce = 1_000;
const countedAtOnce = 32;
const rankedCountMax = 1_000;
const shownCountMax = 10_000;
