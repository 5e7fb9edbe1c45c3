import type { Backlog } from "../../../ports/store/history.ts";
import { backlogOf, type BacklogRow } from "../backlog-rows.ts";
import type { StoreState } from "./state.ts";

/**
 * What waits in the lanes of a webhook, as far as $2. Two looks into each lane, because each partial index knows one kind of
 * row: free ones, and leased ones.
 */
const backlogSql = `WITH looked AS MATERIALIZED (
    SELECT f.delivery, f.priority
    FROM posthorn.words w JOIN posthorn.lanes l ON l.webhook = w.ref CROSS JOIN LATERAL (
      (SELECT q.delivery, q.priority FROM posthorn.queue q WHERE q.lane = l.ref AND q.owner IS NULL LIMIT $2)
      UNION ALL
      (SELECT q.delivery, q.priority FROM posthorn.queue q WHERE q.lane = l.ref AND q.owner IS NOT NULL LIMIT $2)) f
    WHERE w.word = $1 LIMIT $2)
  SELECT k.priority, count(*), min((SELECT d.created_at FROM posthorn.deliveries d WHERE d.seq = k.delivery))
  FROM looked k GROUP BY k.priority ORDER BY k.priority`;

export async function backlogOfWebhook(
  { aside }: Pick<StoreState, "aside">,
  { webhookId, countMax }: { readonly webhookId: string; readonly countMax: number },
): Promise<Backlog> {
  // One more than is counted tells whether there is more.
  const rows = await aside.rows<BacklogRow>(backlogSql, [webhookId, countMax + 1]);
  const total = rows.reduce((sum, [, count]) => sum + count, 0);
  const last = rows.at(-1);
  if (total <= countMax || last === undefined) return backlogOf(rows, false);
  return backlogOf([...rows.slice(0, -1), [last[0], last[1] - 1, last[2]]], true);
}
