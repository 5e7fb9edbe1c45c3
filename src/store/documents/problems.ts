import { setImmediate } from "node:timers/promises";
import {
  type DeliveryProblem,
  problemMove,
  problemStates,
  resolved,
} from "../../features/problems/problem.ts";
import type { AuditEntry } from "../../ports/store/audit.ts";
import type {
  ChangeProblemCommand,
  DeliveryProblemStore,
  ForgetProblemsStep,
  ProblemSearch,
  QuietProblemsStep,
  ResolvedProblems,
  StoredProblem,
} from "../../ports/store/delivery-problems.ts";
import type { SearchPage } from "../../ports/store/search.ts";
import type { StepResult } from "../../ports/store/upkeep.ts";
import { isStoredId } from "../column-values.ts";
import {
  changedProblem,
  forgottenSql,
  problemColumns,
  problemDocument,
  problemPage,
  type ProblemRow,
  problemRowsAtOnce,
  quietSql,
  shownSql,
  toProblem,
  unresolvedSql,
} from "../problem-rows.ts";
import { auditCalls, type Sql } from "./sql.ts";
import { batch, type Call, declare, rowsOf, sql, toSqlite } from "./statement.ts";

const columns = "id, webhook, tenant, state, muted_until, last_seen, document";
const given = `SELECT ${columns} FROM unnest($1::uuid[], $2::text[], $3::text[], $4::smallint[], $5::bigint[],
   $6::bigint[], $7::text[]) AS g (${columns})`;
const replace = `ON CONFLICT (id) DO UPDATE SET position = excluded.position, state = excluded.state,
   muted_until = excluded.muted_until, last_seen = excluded.last_seen, document = excluded.document`;
/** A changed problem gets a new position. PostgreSQL uses a sequence; SQLite has a single writer. */
const save = declare({
  postgres: `INSERT INTO posthorn.delivery_problems (${columns}) ${given} ${replace}`,
  sqlite: `INSERT INTO delivery_problems (${columns}, position)
   SELECT *, (SELECT coalesce(max(position), 0) FROM delivery_problems) + row_number() OVER ()
   FROM (${toSqlite(given)}) WHERE true ${replace}`,
});
const byId = sql<ProblemRow>(
  "SELECT position, document FROM posthorn.delivery_problems WHERE id = $1 AND ($2::text IS NULL OR tenant = $2)",
);
const locked = sql<ProblemRow>(
  `SELECT position, document FROM posthorn.delivery_problems WHERE id = $1 AND ($2::text IS NULL OR tenant = $2)
   FOR UPDATE`,
);
const window = sql<readonly [lowest: number | null, count: number]>(
  `SELECT min(position), count(*) FROM (SELECT position FROM posthorn.delivery_problems WHERE position < $1
     ORDER BY position DESC LIMIT ${problemRowsAtOnce}) AS w`,
);
const shown = `position < $1 AND ($2::text IS NULL OR tenant = $2) AND ${shownSql("$3", ["$4", "$5", "$6", "$7"])}`;
const inWindow = sql<ProblemRow>(
  `SELECT position, document FROM posthorn.delivery_problems WHERE ${shown} AND position >= $9
   ORDER BY position DESC LIMIT $8`,
);
const ofWebhooks = sql<ProblemRow>(
  `SELECT position, document FROM posthorn.delivery_problems WHERE ${shown} AND webhook = ANY ($9::text[])
   ORDER BY position DESC LIMIT $8`,
);
const troubled = sql<readonly [webhook: string]>(
  `SELECT DISTINCT webhook FROM posthorn.delivery_problems WHERE ${unresolvedSql} AND webhook > $1
   ORDER BY webhook LIMIT $2`,
);
const quiet = sql<ProblemRow>(
  `SELECT position, document FROM posthorn.delivery_problems WHERE ${quietSql("$1")}
   ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED`,
);
const forget = sql(
  `DELETE FROM posthorn.delivery_problems WHERE id IN (SELECT id FROM posthorn.delivery_problems
     WHERE ${forgottenSql("$1", "$2")} ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED)
   RETURNING id`,
);

/** Creates or replaces problems. */
export function saveCalls(problems: readonly DeliveryProblem[]): readonly Call[] {
  return batch(
    save,
    problems.map((problem) => [...problemColumns(problem), problemDocument(problem)]),
  );
}

export class Problems implements DeliveryProblemStore {
  readonly #sql: Sql;

  constructor(maintenance: Sql) {
    this.#sql = maintenance;
  }

  async search({ filter, now, after, limit }: ProblemSearch): Promise<SearchPage<StoredProblem>> {
    // A caller may search many pages in a row, so yield to other work in between.
    await setImmediate();
    const { tenantId, webhookIds, states } = filter;
    const before = after?.position ?? Number.MAX_SAFE_INTEGER;
    const isShown = problemStates.map((state) => states === null || states.includes(state));
    const asked = [before, tenantId, now, ...isShown, limit + 1];
    if (webhookIds !== null) {
      const found = await this.#sql.read(ofWebhooks(...asked, webhookIds));
      return problemPage(found, limit, null);
    }
    const [[lowest, count] = [null, 0]] = await this.#sql.read(window(before));
    const found = await this.#sql.read(inWindow(...asked, lowest ?? 0));
    return problemPage(found, limit, count < problemRowsAtOnce ? null : lowest);
  }

  async get(tenantId: string | null, id: string): Promise<StoredProblem | null> {
    if (!isStoredId(id)) return null;
    const [row] = await this.#sql.read(byId(id, tenantId));
    return row === undefined ? null : toProblem(row);
  }

  async change(command: ChangeProblemCommand, audit?: AuditEntry): Promise<StoredProblem | null> {
    const { id, tenantId } = command;
    if (!isStoredId(id)) return null;
    return this.#sql.transaction(function* () {
      const [row] = yield* rowsOf(locked(id, tenantId));
      if (row === undefined) return null;
      yield [...saveCalls([changedProblem(toProblem(row), command)]), ...auditCalls(audit)];
      const [changed = row] = yield* rowsOf(byId(id, tenantId));
      return toProblem(changed);
    });
  }

  async troubledWebhooks(after: string | null, limit: number): Promise<readonly string[]> {
    const rows = await this.#sql.read(troubled(after ?? "", limit));
    return rows.map(([webhook]) => webhook);
  }

  resolveQuiet({ quietSince, now, limit }: QuietProblemsStep): Promise<ResolvedProblems> {
    return this.#sql.transaction(function* () {
      const before = (yield* rowsOf(quiet(quietSince, limit))).map(toProblem);
      const after = before.map((problem) => resolved(problem, now));
      yield saveCalls(after);
      const moves = before.flatMap((problem, index) => problemMove(problem, after[index] ?? problem) ?? []);
      return { changed: before.length, more: before.length === limit, moves };
    });
  }

  async forget({ noticedBefore, resolvedBefore, limit }: ForgetProblemsStep): Promise<StepResult> {
    const [forgotten = []] = await this.#sql.run([forget(noticedBefore, resolvedBefore, limit)]);
    return { changed: forgotten.length, more: forgotten.length === limit };
  }
}
