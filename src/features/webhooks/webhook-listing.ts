import { snapshotCircuit } from "../../domain/circuit-breaker.ts";
import { type WebhookHealthState, webhookHealthStates } from "../../domain/endpoint-health.ts";
import { isEventTypeName, matches } from "../../domain/event-type.ts";
import { pauseAt, type Webhook } from "../../domain/webhook.ts";
import { healthOf, type LiveWebhook } from "../../engine/endpoint/endpoint-config.ts";
import type { EngineAccess } from "../../engine/engine-access.ts";
import { webhookFilters, type WebhookOrder, webhookShownAsStored } from "../../resources/webhook.ts";
import { judgeFilters } from "../searched-pages.ts";
import type { WebhookFilters, WebhookListQuery } from "../services.ts";
import {
  byAge,
  type DatedRanking,
  type KeptRankings,
  type Ranking,
  rankingOf,
  type RankingSources,
} from "./webhook-ranking.ts";

/** A page of webhooks; `next` is the position of the last webhook if there are more. */
export interface ListedWebhooks {
  readonly found: readonly LiveWebhook[];
  readonly next: string | null;
  /** See `Ranking`. */
  readonly isComplete: boolean;
  readonly searchedTo: number | null;
  /** When the ranking was computed, in Unix milliseconds; null if it is current. */
  readonly rankedAt: number | null;
  /** See `Ranking`. */
  readonly waiting: Ranking["waiting"];
}

interface ListingSources extends RankingSources {
  readonly access: Pick<EngineAccess, "webhook" | "webhooks" | "refresh">;
  readonly rankings: KeptRankings;
}

interface Searching extends Pick<ListingSources, "access" | "clock"> {
  readonly query: WebhookFilters;
  readonly wanted: number;
}

/** `webhookIds` is null if the query is not limited to some webhooks. */
interface NarrowedQuery extends WebhookListQuery {
  readonly webhookIds: readonly string[] | null;
}

/**
 * Lists the webhooks of `tenantId`, or all webhooks if it is null, from memory. Throws InvalidRequestError for invalid
 * filters, with the field names of the library. The API validates its requests before this call.
 */
export async function listedWebhooks(query: NarrowedQuery, sources: ListingSources): Promise<ListedWebhooks> {
  judgeFilters(webhookFilters, query);
  const { access, clock } = sources;
  const sort = query.sort ?? "created";
  const wanted = query.offset + query.limit + 1;
  const candidates = [...access.webhooks()].filter(
    ({ webhook }) =>
      (query.webhookIds?.includes(webhook.id) ?? true) && isWanted(webhook, query, clock.now()),
  );
  if (sort === "created") {
    const inOrder = lastFirst(candidates, { query, ranking: byAge });
    const found = await firstOf(inOrder, { query, wanted, access, clock });
    return pageOf(found, { query, ranking: byAge });
  }
  if (candidates.length > rankedAnewMax && !asksForState(query)) {
    const ranking = await keptRanking(sort, query, sources);
    const page = pageOf(lastFirst(candidates, { query, ranking }), { query, ranking });
    return { ...page, rankedAt: ranking.rankedAt };
  }
  // Fetch the state from other owners first, because sorting requires the state of all webhooks.
  const known = await inState(candidates, { query, wanted: Infinity, access, clock });
  const ranking = await rankingOf(sort, known, sources);
  return pageOf(lastFirst(known, { query, ranking }), { query, ranking });
}

/** Counts webhooks by health state; see `WebhookService.healthCounts`. */
export async function countedHealth(
  query: WebhookFilters & Pick<NarrowedQuery, "webhookIds">,
  { access, clock }: Pick<ListingSources, "access" | "clock">,
): Promise<Readonly<Record<WebhookHealthState, number>>> {
  const ids = [...access.webhooks()].flatMap(({ webhook }) =>
    (query.webhookIds?.includes(webhook.id) ?? true) && isWanted(webhook, query, clock.now())
      ? [webhook.id]
      : [],
  );
  const counts = new Map(webhookHealthStates.map((state) => [state, 0]));
  for (let start = 0; start < ids.length; start += refreshedAtOnce) {
    const part = ids.slice(start, start + refreshedAtOnce);
    await access.refresh(part, "states");
    for (const id of part) {
      const live = access.webhook(id);
      if (live === undefined) continue;
      const state = healthOf(live, clock.now());
      counts.set(state, (counts.get(state) ?? 0) + 1);
    }
  }
  return Object.fromEntries(counts) as Record<WebhookHealthState, number>;
}

/** The ranking of all webhooks of a tenant, which filtered results share. */
function keptRanking(
  sort: Exclude<WebhookOrder, "created">,
  { tenantId = null }: WebhookFilters,
  sources: ListingSources,
): Promise<DatedRanking> {
  const { access, rankings } = sources;
  return rankings.of(JSON.stringify([sort, tenantId]), async () => {
    const all = [...access.webhooks()].filter(
      ({ webhook }) => tenantId === null || webhook.tenantId === tenantId,
    );
    const ids = all.map(({ webhook }) => webhook.id);
    for (let start = 0; start < ids.length; start += refreshedAtOnce)
      await access.refresh(ids.slice(start, start + refreshedAtOnce), "states");
    return rankingOf(sort, all, sources);
  });
}

/** Maximum number of webhooks for which the ranking is computed for each query. */
const rankedAnewMax = 500;

interface Placed {
  readonly query: NarrowedQuery;
  readonly ranking: Ranking;
}

/** Skips the webhooks of previous pages. */
function lastFirst(
  candidates: readonly LiveWebhook[],
  { query: { after }, ranking: { placeOf } }: Placed,
): readonly LiveWebhook[] {
  return candidates
    .map((live) => ({ live, place: placeOf(live) }))
    .filter(({ place }) => after === null || place < after)
    .toSorted((left, right) => (left.place > right.place ? -1 : 1))
    .map(({ live }) => live);
}

function pageOf(found: readonly LiveWebhook[], { query, ranking }: Placed): ListedWebhooks {
  const { offset, limit } = query;
  const last = found[offset + limit - 1];
  const { placeOf, isComplete, searchedTo, waiting } = ranking;
  return {
    found: found.slice(offset, offset + limit),
    next: found.length <= offset + limit || last === undefined ? null : placeOf(last),
    isComplete,
    searchedTo,
    waiting,
    rankedAt: null,
  };
}

async function firstOf(candidates: readonly LiveWebhook[], more: Searching): Promise<readonly LiveWebhook[]> {
  return asksForState(more.query) ? inState(candidates, more) : candidates;
}

/** Whether a webhook matches the filters on configuration and status. */
function isWanted(webhook: Webhook, query: WebhookFilters, now: number): boolean {
  const { active = null, paused = null, eventType = null, text = null } = query;
  return (
    equalityFilters.every((name) => (query[name] ?? null) === null || webhook[name] === query[name]) &&
    (active === null || (webhook.status === "active") === active) &&
    (paused === null || (pauseAt(webhook, now) !== null) === paused) &&
    isOneOf(query.statuses, webhook.status) &&
    (eventType === null || receives(webhook, eventType)) &&
    (text === null || says(webhook, text.toLowerCase()))
  );
}

/** Filters that are named like a stored field are compared with that field. */
const equalityFilters = Object.keys(webhookFilters).filter(
  (name) => name in webhookShownAsStored,
) as readonly (keyof typeof webhookFilters & keyof typeof webhookShownAsStored)[];

function asksForState({ circuits, failing, health }: WebhookFilters): boolean {
  return (circuits ?? []).length > 0 || (health ?? []).length > 0 || (failing ?? null) !== null;
}

/** Only the owner of an endpoint has its state, so query the owners in parts until the page is full. */
async function inState(candidates: readonly LiveWebhook[], more: Searching): Promise<readonly LiveWebhook[]> {
  const { query, wanted, access, clock } = more;
  const found: LiveWebhook[] = [];
  for (let start = 0; start < candidates.length && found.length < wanted; start += refreshedAtOnce) {
    const ids = candidates.slice(start, start + refreshedAtOnce).map(({ webhook }) => webhook.id);
    await access.refresh(ids, "states");
    for (const id of ids) {
      const live = access.webhook(id);
      if (
        live !== undefined &&
        isWanted(live.webhook, query, clock.now()) &&
        isInState(live, query, clock.now())
      )
        found.push(live);
    }
  }
  return found;
}

const refreshedAtOnce = 1_000;

function isInState(live: LiveWebhook, query: WebhookFilters, now: number): boolean {
  const { circuits, failing = null, health } = query;
  if ((health ?? []).length > 0 && !isOneOf(health, healthOf(live, now))) return false;
  const isFailing = live.health.failingSince !== null;
  if (failing !== null && isFailing !== failing) return false;
  return isOneOf(circuits, snapshotCircuit(live.circuit, live.policy.circuitBreaker, now).state);
}

/** Whether a value is in the list. An empty list means that any value matches. */
function isOneOf<Value>(values: readonly Value[] | null | undefined, value: Value): boolean {
  return (values ?? []).length === 0 || values?.includes(value) === true;
}

function says({ url, description }: Webhook, text: string): boolean {
  return url.toLowerCase().includes(text) || description.toLowerCase().includes(text);
}

/**
 * Whether a webhook matches a filter: `event_type=order.created` finds webhooks that receive it; `event_type=order.*`
 * finds those with exactly this pattern.
 */
function receives(webhook: Webhook, eventType: string): boolean {
  if (webhook.events.includes(eventType)) return true;
  if (!isEventTypeName(eventType)) return false;
  return webhook.events.some((pattern) => matches(pattern, eventType));
}
