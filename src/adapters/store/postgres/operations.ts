import type { BatchOperation, OperationStore } from "../../../ports/store/operations.ts";
import { isFinished, type OperationRow, toOperation } from "../operation-rows.ts";
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

  async unfinished(): Promise<readonly BatchOperation[]> {
    const rows = await this.#database.rows<[document: string]>(
      "SELECT document FROM posthorn.operations WHERE NOT finished ORDER BY seq",
    );
    return rows.map(([document]) => JSON.parse(document) as BatchOperation);
  }
}
