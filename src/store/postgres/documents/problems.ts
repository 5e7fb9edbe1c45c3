import {
  type DeliveryProblem,
  type ProblemMove,
  problemMove,
  resolved,
} from "../../../features/problems/problem.ts";
import type { AuditEntry } from "../../../ports/store/audit.ts";
import type { SettlementResult } from "../../../ports/store/deliveries.ts";
import {
  type ChangeProblemCommand,
  type DeliveryProblemStore,
  type ForgetProblemsStep,
  type ProblemBatch,
  type ProblemFact,
  problemFactsOf,
  type ProblemSearch,
  type QuietProblemsStep,
  type ResolvedProblems,
  type StoredProblem,
} from "../../../ports/store/delivery-problems.ts";
import type { SearchPage } from "../../../ports/store/search.ts";
import type { StepResult } from "../../../ports/store/upkeep.ts";
import {
  appliedProblems,
  candidateIds,
  changedProblem,
  earlierMax,
  type EarlierRow,
  forgottenSql,
  problemColumns,
  problemDocument,
  problemPage,
  type ProblemRow,
  problemRowsAtOnce,
  problemStateSql,
  quietSql,
  repeatable,
  type RoomRow,
  toProblem,
  unresolvedSql,
} from "../../problem-rows.ts";
import { isStoredId, numbers, plainWords, texts } from "../driver/columns.ts";
import type { Database, Runner, Transaction } from "../driver/database.ts";
import { writeAudit } from "./audit.ts";

/**
 * Writes the problems of a commit, after its settlements and in its transaction. The rows of the webhooks are locked in
 * the common order. Other commits with failures of these webhooks wait, so that what is read here stays true until it
 * is written.
 */
export async function writeProblems(
  runner: Runner,
  { batch, settled }: { readonly batch: ProblemBatch; readonly settled: readonly SettlementResult[] },
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
  await saveProblems(runner, saved);
  return moves;
}

async function saveProblems(runner: Runner, problems: readonly DeliveryProblem[]): Promise<void> {
  if (problems.length === 0) return;
  const columns = problems.map(problemColumns);
  await runner.rows(
    `INSERT INTO posthorn.delivery_problems (id, webhook, tenant, state, muted_until, last_seen, document)
     SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::smallint[], $5::bigint[], $6::bigint[], $7::text[])
     ON CONFLICT (id) DO UPDATE SET position = excluded.position, state = excluded.state,
       muted_until = excluded.muted_until, last_seen = excluded.last_seen, document = excluded.document`,
    [
      plainWords(columns.map(([id]) => id)),
      texts(columns.map(([, webhook]) => webhook)),
      texts(columns.map(([, , tenant]) => tenant)),
      numbers(columns.map(([, , , state]) => state)),
      numbers(columns.map(([, , , , mutedUntil]) => mutedUntil)),
      numbers(columns.map(([, , , , , lastSeen]) => lastSeen)),
      texts(problems.map(problemDocument)),
    ],
  );
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

/** Uses the maintenance pool. */
export class PostgresDeliveryProblems implements DeliveryProblemStore {
  readonly #database: Database;

  constructor(aside: Database) {
    this.#database = aside;
  }

  async search(search: ProblemSearch): Promise<SearchPage<StoredProblem>> {
    const { filter, limit } = search;
    const before = search.after?.position ?? Number.MAX_SAFE_INTEGER;
    if (filter.webhookIds !== null) return problemPage(await this.#matching(search, before, 0), limit, null);
    const [window = [null, 0]] = await this.#database.rows<[lowest: number | null, count: number]>(
      `SELECT min(position), count(*)::int FROM
         (SELECT position FROM posthorn.delivery_problems WHERE position < $1 ORDER BY position DESC LIMIT $2) AS w`,
      [before, problemRowsAtOnce],
    );
    const [lowest, count] = window;
    const found = await this.#matching(search, before, lowest ?? 0);
    return problemPage(found, limit, count < problemRowsAtOnce ? null : lowest);
  }

  #matching(
    { filter, now, limit }: ProblemSearch,
    before: number,
    from: number,
  ): Promise<readonly ProblemRow[]> {
    const { tenantId, webhookIds, states } = filter;
    return this.#database.rows<ProblemRow>(
      `SELECT position, document FROM posthorn.delivery_problems WHERE position < $1 AND position >= $2
       AND ($3::text IS NULL OR tenant = $3) AND ($4::text[] IS NULL OR webhook = ANY ($4))
       AND ${problemStateSql(states, "$5::bigint")} AND $5::bigint IS NOT NULL ORDER BY position DESC LIMIT $6`,
      [before, from, tenantId, webhookIds === null ? null : texts(webhookIds), now, limit + 1],
    );
  }

  async get(tenantId: string | null, id: string): Promise<StoredProblem | null> {
    if (!isStoredId(id)) return null;
    const [row] = await this.#database.rows<ProblemRow>(
      "SELECT position, document FROM posthorn.delivery_problems WHERE id = $1 AND ($2::text IS NULL OR tenant = $2)",
      [id, tenantId],
    );
    return row === undefined ? null : toProblem(row);
  }

  async change(command: ChangeProblemCommand, audit?: AuditEntry): Promise<StoredProblem | null> {
    if (!isStoredId(command.id)) return null;
    const changed = await this.#database.transaction(async (transaction) => {
      const [row] = await transaction.rows<ProblemRow>(
        `SELECT position, document FROM posthorn.delivery_problems
         WHERE id = $1 AND ($2::text IS NULL OR tenant = $2) FOR UPDATE`,
        [command.id, command.tenantId],
      );
      if (row === undefined) return false;
      await saveProblems(transaction, [changedProblem(toProblem(row), command)]);
      await writeAudit(transaction, audit);
      return true;
    });
    return changed ? this.get(command.tenantId, command.id) : null;
  }

  async troubledWebhooks(after: string | null, limit: number): Promise<readonly string[]> {
    const rows = await this.#database.rows<[webhook: string]>(
      `SELECT DISTINCT webhook FROM posthorn.delivery_problems WHERE ${unresolvedSql} AND webhook > $1
       ORDER BY webhook LIMIT $2`,
      [after ?? "", limit],
    );
    return rows.map(([webhook]) => webhook);
  }

  resolveQuiet({ quietSince, now, limit }: QuietProblemsStep): Promise<ResolvedProblems> {
    return this.#database.transaction(async (transaction: Transaction) => {
      const rows = await transaction.rows<ProblemRow>(
        `SELECT position, document FROM posthorn.delivery_problems
         WHERE ${quietSql("$1")} ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED`,
        [quietSince, limit],
      );
      const before = rows.map(toProblem);
      const after = before.map((problem) => resolved(problem, now));
      await saveProblems(transaction, after);
      const moves = before.flatMap((problem, index) => problemMove(problem, after[index] ?? problem) ?? []);
      return { changed: rows.length, more: rows.length === limit, moves };
    });
  }

  async forget({ noticedBefore, resolvedBefore, limit }: ForgetProblemsStep): Promise<StepResult> {
    const rows = await this.#database.rows(
      `DELETE FROM posthorn.delivery_problems WHERE id IN (SELECT id FROM posthorn.delivery_problems
         WHERE ${forgottenSql({ noticed: "$1", resolved: "$2" })} ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED)
       RETURNING 1`,
      [noticedBefore, resolvedBefore, limit],
    );
    return { changed: rows.length, more: rows.length === limit };
  }
}
