import type { StatementSync } from "node:sqlite";
import type { Page } from "../../../ports/store.ts";
import type { BatchOperation, OperationQuery, OperationStore } from "../../../ports/store/operations.ts";
import { isFinished, type OperationRow, toOperation, toOperationPage } from "../operation-rows.ts";
import type { Connection } from "./connection.ts";

export class SqliteOperations implements OperationStore {
  readonly #connection: Connection;
  readonly #save: StatementSync;
  readonly #get: StatementSync;
  readonly #list: StatementSync;
  readonly #unfinished: StatementSync;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#save = connection.prepare(
      `INSERT INTO operations (id, tenant, finished, document) VALUES (?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET tenant = excluded.tenant, finished = excluded.finished,
         document = excluded.document`,
    );
    this.#get = connection.prepare("SELECT tenant, document FROM operations WHERE id = ?");
    this.#list = connection.prepare(
      `SELECT seq, document FROM operations WHERE (?1 IS NULL OR tenant = ?1) AND seq < ?2
       ORDER BY seq DESC LIMIT ?3 OFFSET ?4`,
    );
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

  async list({ tenantId, page }: OperationQuery): Promise<Page<BatchOperation>> {
    const { before, limit, offset } = page;
    const rows = this.#connection.read(() =>
      this.#list.all(tenantId, before ?? Number.MAX_SAFE_INTEGER, limit + 1, offset),
    );
    return toOperationPage(rows as unknown as [seq: number, document: string][], page);
  }

  async unfinished(): Promise<readonly BatchOperation[]> {
    const rows = this.#connection.read(() => this.#unfinished.all()) as unknown as [document: string][];
    return rows.map(([document]) => JSON.parse(document) as BatchOperation);
  }
}
