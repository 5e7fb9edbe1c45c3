import type { AttemptRecord } from "../../../core/delivery.ts";
import type { FailureCategory, Outcome } from "../../../core/outcome.ts";
import type { AttemptStats } from "../../../ports/store/history.ts";
import { categoryCodes, decode, decodeOrNull, outcomeCodes } from "../codes.ts";
import { toAttempt } from "../history-rows.ts";
import { attemptColumns } from "./history-rows.ts";
import type { AttemptRow } from "../history-rows.ts";
import { isStoredId } from "./columns.ts";
import type { StoreState } from "./state.ts";

/** One row per outcome and category, and a total with `outcome` null. */
type StatRow = [
  outcome: number | null,
  category: number | null,
  count: number,
  durationMsP50: number | null,
  durationMsP95: number | null,
  lastAttemptAt: number | null,
];

/** As the port promises, statistics read no more than this many attempts. */
const attemptsReadMax = 10_000;

export async function attemptsOf(state: StoreState, deliveryId: string): Promise<readonly AttemptRecord[]> {
  if (!isStoredId(deliveryId)) return [];
  const rows = await state.aside.rows<AttemptRow>(
    `SELECT ${attemptColumns} FROM posthorn.deliveries d JOIN posthorn.attempts a ON a.delivery = d.seq WHERE d.id = $1::uuid ORDER BY a.number`,
    [deliveryId],
  );
  return rows.map(toAttempt);
}

export async function attemptStats(
  state: StoreState,
  webhookId: string,
  since: number,
): Promise<AttemptStats> {
  const { strings, aside } = state;
  await strings.lookUp([webhookId]);
  const rows = await aside.rows<StatRow>(
    `WITH recent AS MATERIALIZED (
       SELECT outcome, category, duration_ms, executed_at FROM posthorn.attempts
       WHERE webhook = $1 AND executed_at >= $2 ORDER BY executed_at DESC LIMIT ${attemptsReadMax})
     SELECT outcome, category, count(*), percentile_disc(0.5) WITHIN GROUP (ORDER BY duration_ms),
       percentile_disc(0.95) WITHIN GROUP (ORDER BY duration_ms), max(executed_at)
     FROM recent GROUP BY GROUPING SETS ((), (outcome, category))`,
    [strings.find(webhookId), since],
  );
  return summaryOf(rows);
}

function summaryOf(rows: readonly StatRow[]): AttemptStats {
  const all = rows.find(([outcome]) => outcome === null);
  const outcomes: Record<Outcome, number> = { accepted: 0, transient: 0, terminal: 0 };
  const byCategory: Partial<Record<FailureCategory, number>> = {};
  for (const [outcome, category, count] of rows) {
    if (outcome === null) continue;
    outcomes[decode(outcomeCodes, outcome)] += count;
    const name = decodeOrNull(categoryCodes, category);
    if (name !== null) byCategory[name] = (byCategory[name] ?? 0) + count;
  }
  return {
    total: all?.[2] ?? 0,
    ...outcomes,
    byCategory,
    durationMsP50: all?.[3] ?? null,
    durationMsP95: all?.[4] ?? null,
    lastAttemptAt: all?.[5] ?? null,
  };
}
