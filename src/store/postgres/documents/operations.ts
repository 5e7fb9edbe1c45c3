import type { Page } from "../../../ports/store.ts";
import {
  type BatchOperation,
  isAtRest,
  type OperationQuery,
  type OperationStore,
} from "../../../ports/store/operations.ts";
import type { AuditEntry } from "../../../ports/store/audit.ts";
import { type OperationRow, readOperation, toOperation, toOperationPage } from "../../document-rows.ts";
import { writeAudited } from "./audit.ts";
import type { Database } from "../driver/database.ts";

export class PostgresOperations implements OperationStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async save(operation: BatchOperation, audit?: AuditEntry): Promise<void> {
    const { id, tenantId, revision } = operation;
    await writeAudited(this.#database, audit, {
      sql: `INSERT INTO posthorn.operations (id, tenant, finished, document, revision) VALUES ($1, $2, $3, $4, $5)`,
      values: [id, tenantId, isAtRest(operation), JSON.stringify(operation), revision],
    });
  }

  async update(operation: BatchOperation, audit?: AuditEntry): Promise<boolean> {
    const { id, revision } = operation;
    const document = JSON.stringify({ ...operation, revision: revision + 1 });
    const rows = await writeAudited(this.#database, audit, {
      sql: `UPDATE posthorn.operations SET finished = $1, document = $2, revision = revision + 1
            WHERE id = $3 AND revision = $4 RETURNING 1`,
      values: [isAtRest(operation), document, id, revision],
    });
    return rows.length > 0;
  }

  async get(query: {
    readonly tenantId: string | null;
    readonly id: string;
  }): Promise<BatchOperation | null> {
    const [row] = await this.#database.rows<OperationRow>(
      "SELECT tenant, document, revision FROM posthorn.operations WHERE id = $1",
      [query.id],
    );
    return toOperation(row, query.tenantId);
  }

  async list({ tenantId, page }: OperationQuery): Promise<Page<BatchOperation>> {
    const { before, limit, offset } = page;
    const rows = await this.#database.rows<[seq: number, ...row: OperationRow]>(
      `SELECT seq, tenant, document, revision FROM posthorn.operations WHERE ($1::text IS NULL OR tenant = $1) AND seq < $2
       ORDER BY seq DESC LIMIT $3 OFFSET $4`,
      [tenantId, before ?? Number.MAX_SAFE_INTEGER, limit + 1, offset],
    );
    return toOperationPage(rows, page.limit);
  }

  async unfinished(): Promise<readonly BatchOperation[]> {
    const rows = await this.#database.rows<OperationRow>(
      "SELECT tenant, document, revision FROM posthorn.operations WHERE NOT finished ORDER BY seq",
    );
    return rows.map((row) => readOperation(row));
  }
}
