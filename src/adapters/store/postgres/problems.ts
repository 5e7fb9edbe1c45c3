import { problemMove, resolved } from "../../../core/delivery-problems/delivery-problem.ts";
import type { AuditEntry } from "../../../ports/store/audit.ts";
import type {
  ChangeProblemCommand,
  DeliveryProblemStore,
  ForgetProblemsStep,
  ProblemSearch,
  QuietProblemsStep,
  ResolvedProblems,
  StoredProblem,
} from "../../../ports/store/delivery-problems.ts";
import type { SearchPage } from "../../../ports/store/search.ts";
import type { StepResult } from "../../../ports/store/upkeep.ts";
import {
  changedProblem,
  forgottenSql,
  problemPage,
  type ProblemRow,
  problemRowsAtOnce,
  problemStateSql,
  quietSql,
  toProblem,
  unresolvedSql,
} from "../problem-rows.ts";
import { writeAudit } from "./audit.ts";
import { isStoredId, texts } from "./columns.ts";
import type { Database, Transaction } from "./database.ts";
import { saveProblems } from "./problem-writes.ts";

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
