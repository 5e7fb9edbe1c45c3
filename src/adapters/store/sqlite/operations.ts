import type { StatementSync } from "node:sqlite";
import type { BatchOperation, OperationStore } from "../../../ports/store/operations.ts";
import { isFinished, type OperationRow, toOperation } from "../operation-rows.ts";
import type { Connection } from "./connection.ts";

export class SqliteOperations implements OperationStore {
  readonly #connection: Connection;
  readonly #save: StatementSync;
  readonly #get: StatementSync;
  readonly #unfinished: StatementSync;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#save = connection.prepare(
      `INSERT INTO operations (id, tenant, finished, document) VALUES (?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET tenant = excluded.tenant, finished = excluded.finished,
         document = excluded.document`,
    );
    this.#get = connection.prepare("SELECT tenant, document FROM operations WHERE id = ?");
    this.#unfinished = connection.prepare("SELECT document FROM operations WHERE finished = 0 ORDER BY seq");
  }

  async save(operation: BatchOperation): Promise<void> {
    const finished = isFinished(operation) ? 1 : 0;
    this.#connection.write(() =>
      this.#save.run(operation.id, operation.tenantId, finished, JSON.stringify(operation)),
    );
  }

  async get(query: {
    readonly tenantId: string | null;
    readonly id: string;
  }): Promise<BatchOperation | null> {
    const row = this.#connection.read(() => this.#get.get(query.id)) as unknown as OperationRow | undefined;
    return toOperation(row, query);
  }

  async unfinished(): Promise<readonly BatchOperation[]> {
    const rows = this.#connection.read(() => this.#unfinished.all()) as unknown as [document: string][];
    return rows.map(([document]) => JSON.parse(document) as BatchOperation);
  }
}
