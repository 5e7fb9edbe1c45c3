import { setImmediate } from "node:timers/promises";
import type { StatementSync } from "node:sqlite";
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
import type { AuditRows } from "./audit.ts";
import type { Connection } from "./connection.ts";
import { StatementCache } from "./statement-cache.ts";
import { ProblemWriter } from "./problem-writer.ts";

export class SqliteDeliveryProblems implements DeliveryProblemStore {
  readonly writer: ProblemWriter;
  readonly #connection: Connection;
  readonly #audit: AuditRows;
  readonly #statements: StatementCache;
  readonly #window: StatementSync;
  readonly #troubled: StatementSync;
  readonly #quiet: StatementSync;
  readonly #forget: StatementSync;

  constructor(connection: Connection, audit: AuditRows) {
    this.#connection = connection;
    this.#audit = audit;
    this.writer = new ProblemWriter(connection);
    this.#statements = new StatementCache(connection);
    this.#window = connection.prepare(
      `SELECT min(position), count(*) FROM
         (SELECT position FROM delivery_problems WHERE position < ? ORDER BY position DESC LIMIT ${problemRowsAtOnce})`,
    );
    this.#troubled = connection.prepare(
      `SELECT DISTINCT webhook FROM delivery_problems WHERE ${unresolvedSql} AND webhook > ? ORDER BY webhook LIMIT ?`,
    );
    this.#quiet = connection.prepare(
      `SELECT position, document FROM delivery_problems WHERE ${quietSql("?")} LIMIT ?`,
    );
    this.#forget = connection.prepare(
      `DELETE FROM delivery_problems WHERE id IN (SELECT id FROM delivery_problems
         WHERE ${forgottenSql({ noticed: "?", resolved: "?" })} LIMIT ?)`,
    );
  }

  async search(search: ProblemSearch): Promise<SearchPage<StoredProblem>> {
    await setImmediate();
    const { filter, limit } = search;
    const before = search.after?.position ?? Number.MAX_SAFE_INTEGER;
    return this.#connection.read(() => {
      if (filter.webhookIds !== null) return problemPage(this.#matching(search, before, 0), limit, null);
      const [lowest, count] = this.#window.get(before) as unknown as [lowest: number | null, count: number];
      const found = this.#matching(search, before, lowest ?? 0);
      return problemPage(found, limit, count < problemRowsAtOnce ? null : lowest);
    });
  }

  #matching({ filter, now, limit }: ProblemSearch, before: number, from: number): readonly ProblemRow[] {
    const { tenantId, webhookIds, states } = filter;
    const statement = this.#statements.get(
      `SELECT position, document FROM delivery_problems WHERE position < ?1 AND position >= ?2
       AND (?3 IS NULL OR tenant = ?3) AND ?4 IS ?4 AND ${problemStateSql(states, "?5")}
       ${webhookIds === null ? "" : "AND webhook IN (SELECT value FROM json_each(?4))"}
       ORDER BY position DESC LIMIT ?6`,
    );
    const wanted = webhookIds === null ? null : JSON.stringify(webhookIds);
    return statement.all(before, from, tenantId, wanted, now, limit + 1) as unknown as ProblemRow[];
  }

  async get(tenantId: string | null, id: string): Promise<StoredProblem | null> {
    const found = this.#connection.read(() => this.writer.get(id));
    return found !== null && (tenantId === null || tenantId === found.tenantId) ? found : null;
  }

  async change(command: ChangeProblemCommand, audit?: AuditEntry): Promise<StoredProblem | null> {
    return this.#connection.write(() => {
      const found = this.writer.get(command.id);
      if (found === null || (command.tenantId !== null && command.tenantId !== found.tenantId)) return null;
      this.writer.save(changedProblem(found, command));
      this.#audit.write(audit);
      return this.writer.get(command.id);
    });
  }

  async troubledWebhooks(after: string | null, limit: number): Promise<readonly string[]> {
    const rows = this.#connection.read(() => this.#troubled.all(after ?? "", limit));
    return (rows as unknown as [webhook: string][]).map(([webhook]) => webhook);
  }

  async resolveQuiet({ quietSince, now, limit }: QuietProblemsStep): Promise<ResolvedProblems> {
    return this.#connection.write(() => {
      const rows = (this.#quiet.all(quietSince, limit) as unknown as ProblemRow[]).map(toProblem);
      const moves = rows.flatMap((problem) => {
        const after = resolved(problem, now);
        this.writer.save(after);
        return problemMove(problem, after) ?? [];
      });
      return { changed: rows.length, more: rows.length === limit, moves };
    });
  }

  async forget({ noticedBefore, resolvedBefore, limit }: ForgetProblemsStep): Promise<StepResult> {
    return this.#connection.write(() => {
      const changed = Number(this.#forget.run(noticedBefore, resolvedBefore, limit).changes);
      return { changed, more: changed === limit };
    });
  }
}
