import type { StatementSync } from "node:sqlite";
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
  problemColumns,
  problemDocument,
  type ProblemRow,
  repeatable,
  type RoomRow,
  toProblem,
  unresolvedSql,
} from "../../problem-rows.ts";
import type { Connection } from "../driver/connection.ts";

/** Writes problems in the transaction of the failures that they describe. Only inside a write. */
export class ProblemWriter {
  readonly #save: StatementSync;
  readonly #remove: StatementSync;
  readonly #byId: StatementSync;
  readonly #unresolved: StatementSync;
  readonly #room: StatementSync;
  readonly #webhook: StatementSync;
  readonly #earlier: StatementSync;

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
  }

  /** Must run after the settlements of the same commit. */
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
    for (const problem of saved) this.#save.run(...problemColumns(problem), problemDocument(problem));
    return moves;
  }

  #known(batch: ProblemBatch, facts: readonly ProblemFact[]): readonly StoredProblem[] {
    const marked = [...new Set([...batch.recovering, ...batch.resolved])];
    const recovered = marked.flatMap((id) =>
      (this.#unresolved.all(id) as unknown as ProblemRow[]).map(toProblem),
    );
    const failing = [...new Set(facts.flatMap(candidateIds))].flatMap((id) => {
      const row = this.#byId.get(id) as unknown as ProblemRow | undefined;
      return row === undefined ? [] : toProblem(row);
    });
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
