import type { BatchOperation, OperationStore } from "../../../ports/store/operations.ts";
import type { Database } from "./database.ts";

export class PostgresOperations implements OperationStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async save(operation: BatchOperation): Promise<void> {
    const finished = operation.status !== "pending" && operation.status !== "running";
    await this.#database.rows(
      `INSERT INTO posthorn.operations (id, tenant, finished, document) VALUES ($1, $2, $3, $4)
       ON CONFLICT (id) DO UPDATE SET tenant = excluded.tenant, finished = excluded.finished,
         document = excluded.document`,
      [operation.id, operation.tenantId, finished, JSON.stringify(operation)],
    );
  }

  async get(query: {
    readonly tenantId: string | null;
    readonly id: string;
  }): Promise<BatchOperation | null> {
    const [row] = await this.#database.rows<[tenant: string | null, document: string]>(
      "SELECT tenant, document FROM posthorn.operations WHERE id = $1",
      [query.id],
    );
    if (row === undefined || (query.tenantId !== null && query.tenantId !== row[0])) return null;
    return JSON.parse(row[1]) as BatchOperation;
  }

  async unfinished(): Promise<readonly BatchOperation[]> {
    const rows = await this.#database.rows<[document: string]>(
      "SELECT document FROM posthorn.operations WHERE NOT finished ORDER BY seq",
    );
    return rows.map(([document]) => JSON.parse(document) as BatchOperation);
  }
}
