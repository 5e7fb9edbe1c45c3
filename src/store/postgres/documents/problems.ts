import type { ProblemMove } from "../../../features/problems/problem.ts";
import type { SettlementResult } from "../../../ports/store/deliveries.ts";
import {
  type ProblemBatch,
  type ProblemFact,
  problemFactsOf,
  type StoredProblem,
} from "../../../ports/store/delivery-problems.ts";
import {
  appliedProblems,
  candidateIds,
  earlierMax,
  type EarlierRow,
  type ProblemRow,
  repeatable,
  type RoomRow,
  toProblem,
  unresolvedSql,
} from "../../problem-rows.ts";
import { saveCalls } from "../../documents/problems.ts";
import { numbers, plainWords, runCalls, texts } from "../driver/sql.ts";
import type { Runner } from "../driver/database.ts";

/**
 * Writes the problems of a commit, after its settlements and in its transaction. The rows of the webhooks are locked in
 * the common order. Other commits with failures of these webhooks wait, so that the data read here does not change
 * before it is written.
 */
export async function writeProblems(
  runner: Runner,
  batch: ProblemBatch,
  settled: readonly SettlementResult[],
): Promise<readonly ProblemMove[]> {
  const facts = problemFactsOf(batch, settled);
  const marked = [...new Set([...batch.recovering, ...batch.resolved])];
  const webhookIds = [...new Set([...facts.map(({ webhookId }) => webhookId), ...marked])];
  if (webhookIds.length === 0) return [];
  const locked = await runner.rows<[id: string]>(
    `SELECT id FROM posthorn.webhooks WHERE id = ANY ($1::text[]) AND deleted_at IS NULL
     ORDER BY id FOR NO KEY UPDATE`,
    [texts(webhookIds)],
  );
  const rows = await readKnown(runner, facts, marked);
  const known = {
    rows,
    webhooks: new Set(locked.map(([id]) => id)),
    room: await readRoom(runner, crowdedOf(facts, rows)),
    earlier: await readEarlier(runner, repeatable(facts)),
  };
  const { saved, removedIds, moves } = appliedProblems(batch, facts, known);
  if (removedIds.length > 0)
    await runner.rows("DELETE FROM posthorn.delivery_problems WHERE id = ANY ($1::uuid[])", [
      plainWords(removedIds),
    ]);
  await runCalls(runner, saveCalls(saved));
  return moves;
}

async function readKnown(
  runner: Runner,
  facts: readonly ProblemFact[],
  marked: readonly string[],
): Promise<readonly StoredProblem[]> {
  const ids = [...new Set(facts.flatMap(candidateIds))];
  const rows = await runner.rows<ProblemRow>(
    `SELECT position, document FROM posthorn.delivery_problems
     WHERE id = ANY ($1::uuid[]) OR (webhook = ANY ($2::text[]) AND ${unresolvedSql}) ORDER BY id FOR UPDATE`,
    [plainWords(ids), texts(marked)],
  );
  return rows.map(toProblem);
}

/** Webhooks with a new kind of problem. */
function crowdedOf(facts: readonly ProblemFact[], rows: readonly StoredProblem[]): readonly string[] {
  const ids = new Set(rows.map(({ id }) => id));
  const crowded = facts.filter((fact) => !ids.has(candidateIds(fact)[0]));
  return [...new Set(crowded.map(({ webhookId }) => webhookId))];
}

async function readRoom(
  runner: Runner,
  webhookIds: readonly string[],
): Promise<ReadonlyMap<string, readonly RoomRow[]>> {
  if (webhookIds.length === 0) return new Map();
  const rows = await runner.rows<[webhook: string, id: string, state: number, lastSeen: number]>(
    `SELECT webhook, id::text, state, last_seen FROM posthorn.delivery_problems WHERE webhook = ANY ($1::text[])
     ORDER BY position`,
    [texts(webhookIds)],
  );
  const grouped = Map.groupBy(rows, ([webhook]) => webhook);
  return new Map(
    webhookIds.map((webhookId) => {
      const own = grouped.get(webhookId) ?? [];
      return [webhookId, own.map(([, id, state, lastSeen]) => ({ id, state, lastSeen }))];
    }),
  );
}

async function readEarlier(
  runner: Runner,
  facts: readonly ProblemFact[],
): Promise<ReadonlyMap<number, readonly EarlierRow[]>> {
  if (facts.length === 0) return new Map();
  const rows = await runner.rows<EarlierRow>(
    `SELECT a.delivery, a.category, a.status_code, a.response_sample, a.error_message
     FROM unnest($1::bigint[], $2::int[]) AS g (ref, number)
     CROSS JOIN LATERAL (SELECT * FROM posthorn.attempts t WHERE t.delivery = g.ref AND t.number < g.number
       ORDER BY t.number DESC LIMIT ${earlierMax}) AS a`,
    [numbers(facts.map(({ lease }) => lease.ref)), numbers(facts.map(({ attemptNumber }) => attemptNumber))],
  );
  return Map.groupBy(rows, ([ref]) => ref);
}
