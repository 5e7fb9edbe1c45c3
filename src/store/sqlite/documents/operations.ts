import type { StatementSync } from "node:sqlite";
import type { Page } from "../../../ports/store.ts";
import {
  type BatchOperation,
  isAtRest,
  type OperationQuery,
  type OperationStore,
} from "../../../ports/store/operations.ts";
import type { AuditEntry } from "../../../ports/store/audit.ts";
import { type OperationRow, readOperation, toOperation, toOperationPage } from "../../document-rows.ts";
import type { AuditRows } from "./audit.ts";
import type { Connection } from "../driver/connection.ts";

export class SqliteOperations implements OperationStore {
  readonly #connection: Connection;
  readonly #audit: AuditRows;
  readonly #save: StatementSync;
  readonly #update: StatementSync;
  readonly #get: StatementSync;
  readonly #list: StatementSync;
  readonly #unfinished: StatementSync;

  constructor(connection: Connection, audit: AuditRows) {
    this.#connection = connection;
    this.#audit = audit;
    this.#save = connection.prepare(
      "INSERT INTO operations (id, tenant, finished, document, revision) VALUES (?, ?, ?, ?, ?)",
    );
    this.#update = connection.prepare(
      "UPDATE operations SET finished = ?, document = ?, revision = ?3 + 1 WHERE id = ?4 AND revision = ?3",
    );
    this.#get = connection.prepare("SELECT tenant, document, revision FROM operations WHERE id = ?");
    this.#list = connection.prepare(
      `SELECT seq, tenant, document, revision FROM operations WHERE (?1 IS NULL OR tenant = ?1) AND seq < ?2
       ORDER BY seq DESC LIMIT ?3 OFFSET ?4`,
    );
    this.#unfinished = connection.prepare(
      "SELECT tenant, document, revision FROM operations WHERE finished = 0 ORDER BY seq",
    );
  }

  async save(operation: BatchOperation, audit?: AuditEntry): Promise<void> {
    const { id, tenantId, revision } = operation;
    this.#connection.write(() => {
      this.#save.run(id, tenantId, isAtRest(operation) ? 1 : 0, JSON.stringify(operation), revision);
      this.#audit.write(audit);
    });
  }

  async update(operation: BatchOperation, audit?: AuditEntry): Promise<boolean> {
    const { id, revision } = operation;
    const document = JSON.stringify({ ...operation, revision: revision + 1 });
    return this.#connection.write(() => {
      const { changes } = this.#update.run(isAtRest(operation) ? 1 : 0, document, revision, id);
      if (Number(changes) === 0) return false;
      this.#audit.write(audit);
      return true;
    });
  }

  async get(query: {
    readonly tenantId: string | null;
    readonly id: string;
  }): Promise<BatchOperation | null> {
    const row = this.#connection.read(() => this.#get.get(query.id)) as unknown as OperationRow | undefined;
    return toOperation(row, query.tenantId);
  }

  async list({ tenantId, page }: OperationQuery): Promise<Page<BatchOperation>> {
    const { before, limit, offset } = page;
    const rows = this.#connection.read(() =>
      this.#list.all(tenantId, before ?? Number.MAX_SAFE_INTEGER, limit + 1, offset),
    );
    return toOperationPage(rows as unknown as [seq: number, ...row: OperationRow][], page.limit);
  }

  async unfinished(): Promise<readonly BatchOperation[]> {
    const rows = this.#connection.read(() => this.#unfinished.all()) as unknown as OperationRow[];
    return rows.map((row) => readOperation(row));
  }
}
