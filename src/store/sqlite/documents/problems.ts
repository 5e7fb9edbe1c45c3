import type { StatementSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
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
import { type Connection, StatementCache } from "../driver/connection.ts";
import type { AuditRows } from "./audit.ts";

/** Writes problems in the transaction of the failures that they describe. Only inside a write. */
export class ProblemWriter {
  readonly #save: StatementSync;
  readonly #remove: StatementSync;
  readonly #byId: StatementSync;
  readonly #unresolved: StatementSync;
  readonly #room: StatementSync;
  readonly #webhook: StatementSync;
  readonly #earlier: StatementSync;
  readonly #ofWebhook: StatementSync;

  constructor(connection: Connection) {
    this.#save = connection.prepare(
      `INSERT OR REPLACE INTO delivery_problems (id, webhook, tenant, state, muted_until, last_seen, document, position)
       VALUES (?, ?, ?, ?, ?, ?, ?, (SELECT coalesce(max(position), 0) + 1 FROM delivery_problems))`,
    );
    this.#remove = connection.prepare("DELETE FROM delivery_problems WHERE id = ?");
    this.#byId = connection.prepare("SELECT position, document FROM delivery_problems WHERE id = ?");
    this.#unresolved = connection.prepare(
      `SELECT position, document FROM delivery_problems WHERE webhook = ? AND ${unresolvedSql}`,
    );
    this.#room = connection.prepare(
      "SELECT id, state, last_seen FROM delivery_problems WHERE webhook = ? ORDER BY position",
    );
    this.#webhook = connection.prepare("SELECT 1 FROM webhooks WHERE id = ? AND deleted_at IS NULL");
    this.#earlier = connection.prepare(
      `SELECT key >> 16, category, status_code, response_sample, error_message FROM attempts
       WHERE key >= (?1 << 16) AND key < ((?1 << 16) | ?2) ORDER BY key DESC LIMIT ${earlierMax}`,
    );
    this.#ofWebhook = connection.prepare("DELETE FROM delivery_problems WHERE webhook = ?");
  }

  /** Must follow the settlements of the same commit. */
  write(batch: ProblemBatch, settled: readonly SettlementResult[]): readonly ProblemMove[] {
    const facts = problemFactsOf(batch, settled);
    const rows = this.#known(batch, facts);
    const webhookIds = [...new Set(facts.map(({ webhookId }) => webhookId))];
    const ids = new Set(rows.map(({ id }) => id));
    const crowded = facts.filter((fact) => !ids.has(candidateIds(fact)[0])).map(({ webhookId }) => webhookId);
    const known = {
      rows,
      webhooks: new Set(webhookIds.filter((id) => this.#webhook.get(id) !== undefined)),
      room: new Map([...new Set(crowded)].map((id) => [id, this.#roomOf(id)])),
      earlier: new Map(repeatable(facts).map((fact) => this.#before(fact))),
    };
    const { saved, removedIds, moves } = appliedProblems(batch, facts, known);
    for (const id of removedIds) this.#remove.run(id);
    for (const problem of saved) this.save(problem);
    return moves;
  }

  save(problem: DeliveryProblem): void {
    this.#save.run(...problemColumns(problem), problemDocument(problem));
  }

  get(id: string): StoredProblem | null {
    const row = this.#byId.get(id) as unknown as ProblemRow | undefined;
    return row === undefined ? null : toProblem(row);
  }

  removeOf(webhookId: string): void {
    this.#ofWebhook.run(webhookId);
  }

  #known(batch: ProblemBatch, facts: readonly ProblemFact[]): readonly StoredProblem[] {
    const marked = [...new Set([...batch.recovering, ...batch.resolved])];
    const recovered = marked.flatMap((id) =>
      (this.#unresolved.all(id) as unknown as ProblemRow[]).map(toProblem),
    );
    const failing = [...new Set(facts.flatMap(candidateIds))].flatMap((id) => this.get(id) ?? []);
    return [...new Map([...recovered, ...failing].map((row) => [row.id, row])).values()];
  }

  #roomOf(webhookId: string): readonly RoomRow[] {
    const rows = this.#room.all(webhookId) as unknown as [id: string, state: number, lastSeen: number][];
    return rows.map(([id, state, lastSeen]) => ({ id, state, lastSeen }));
  }

  #before({ lease: { ref }, attemptNumber }: ProblemFact): [ref: number, rows: readonly EarlierRow[]] {
    return [ref, this.#earlier.all(ref, attemptNumber) as unknown as readonly EarlierRow[]];
  }
}

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
