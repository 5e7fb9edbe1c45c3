import type { Backlog, WaitingCount, WaitingQuery } from "../../../ports/store/history.ts";
import { backlogOf, type BacklogRow } from "../backlog-rows.ts";
import { texts } from "./columns.ts";
import type { StoreState } from "./state.ts";

/**
 * Waiting deliveries in the lanes of a webhook, up to $2. Two lookups per lane, because each partial index covers one
 * kind of row: free or leased.
 */
const waitingIn = (webhook: string): string => `SELECT f.delivery, f.priority
    FROM posthorn.words w JOIN posthorn.lanes l ON l.webhook = w.ref CROSS JOIN LATERAL (
      (SELECT q.delivery, q.priority FROM posthorn.queue q WHERE q.lane = l.ref AND q.owner IS NULL LIMIT $2)
      UNION ALL
      (SELECT q.delivery, q.priority FROM posthorn.queue q WHERE q.lane = l.ref AND q.owner IS NOT NULL LIMIT $2)) f
    WHERE w.word = ${webhook} LIMIT $2`;

const backlogSql = `WITH looked AS MATERIALIZED (${waitingIn("$1")})
  SELECT k.priority, count(*), min((SELECT d.created_at FROM posthorn.deliveries d WHERE d.seq = k.delivery))
  FROM looked k GROUP BY k.priority ORDER BY k.priority`;

/** The lowest position is the oldest, except for commits that ran concurrently. */
const waitingSql = `SELECT g.id, k.total, d.created_at
  FROM unnest($1::text[]) AS g (id)
    CROSS JOIN LATERAL (SELECT count(*) AS total, min(f.delivery) AS first FROM (${waitingIn("g.id")}) f) AS k
    JOIN posthorn.deliveries d ON d.seq = k.first`;

export async function waitingOfWebhooks(
  { aside }: Pick<StoreState, "aside">,
  { webhookIds, countMax }: WaitingQuery,
): Promise<ReadonlyMap<string, WaitingCount>> {
  const rows = await aside.rows<[webhookId: string, total: number, oldest: number]>(waitingSql, [
    texts(webhookIds),
    countMax + 1,
  ]);
  return new Map(
    rows.map(([webhookId, total, oldestCreatedAt]) => [
      webhookId,
      { total: Math.min(total, countMax), isMore: total > countMax, oldestCreatedAt },
    ]),
  );
}

export async function backlogOfWebhook(
  { aside }: Pick<StoreState, "aside">,
  webhookId: string,
  countMax: number,
): Promise<Backlog> {
  // One row more than is counted shows whether there are more.
  const rows = await aside.rows<BacklogRow>(backlogSql, [webhookId, countMax + 1]);
  const total = rows.reduce((sum, [, count]) => sum + count, 0);
  const last = rows.at(-1);
  if (total <= countMax || last === undefined) return backlogOf(rows, false);
  return backlogOf([...rows.slice(0, -1), [last[0], last[1] - 1, last[2]]], true);
}
