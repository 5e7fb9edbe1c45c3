import type { Page } from "../../../ports/store.ts";
import type { BatchOperation, OperationQuery, OperationStore } from "../../../ports/store/operations.ts";
import { isFinished, type OperationRow, toOperation, toOperationPage } from "../operation-rows.ts";
import type { Database } from "./database.ts";

export class PostgresOperations implements OperationStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async save(operation: BatchOperation): Promise<void> {
    await this.#database.rows(
      `INSERT INTO posthorn.operations (id, tenant, finished, document) VALUES ($1, $2, $3, $4)
       ON CONFLICT (id) DO UPDATE SET tenant = excluded.tenant, finished = excluded.finished,
         document = excluded.document`,
      [operation.id, operation.tenantId, isFinished(operation), JSON.stringify(operation)],
    );
  }

  async get(query: {
    readonly tenantId: string | null;
    readonly id: string;
  }): Promise<BatchOperation | null> {
    const [row] = await this.#database.rows<OperationRow>(
      "SELECT tenant, document FROM posthorn.operations WHERE id = $1",
      [query.id],
    );
    return toOperation(row, query);
  }

  async list({ tenantId, page }: OperationQuery): Promise<Page<BatchOperation>> {
    const { before, limit, offset } = page;
    const rows = await this.#database.rows<[seq: number, document: string]>(
      `SELECT seq, document FROM posthorn.operations WHERE ($1::text IS NULL OR tenant = $1) AND seq < $2
       ORDER BY seq DESC LIMIT $3 OFFSET $4`,
      [tenantId, before ?? Number.MAX_SAFE_INTEGER, limit + 1, offset],
    );
    return toOperationPage(rows, page);
  }

  async unfinished(): Promise<readonly BatchOperation[]> {
    const rows = await this.#database.rows<[document: string]>(
      "SELECT document FROM posthorn.operations WHERE NOT finished ORDER BY seq",
    );
    return rows.map(([document]) => JSON.parse(document) as BatchOperation);
  }
}
