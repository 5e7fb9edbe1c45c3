import type { AuditEntry } from "../../ports/store/audit.ts";
import {
  type BatchOperation,
  isAtRest,
  type OperationQuery,
  type OperationStore,
} from "../../ports/store/operations.ts";
import type { Page } from "../../ports/store.ts";
import { ownedBy } from "../history-rows.ts";
import type { Sql } from "./sql.ts";
import { sql } from "./statement.ts";

const save = sql(
  "INSERT INTO posthorn.operations (id, tenant, finished, document, revision) VALUES ($1, $2, $3, $4, $5)",
);
const update = sql(
  `UPDATE posthorn.operations SET finished = $1, document = $2, revision = revision + 1
   WHERE id = $3 AND revision = $4 RETURNING id`,
);
const byId = sql<OperationRow>("SELECT tenant, document, revision FROM posthorn.operations WHERE id = $1");
const page = sql<readonly [seq: number, ...row: OperationRow]>(
  `SELECT seq, tenant, document, revision FROM posthorn.operations
   WHERE ($1::text IS NULL OR tenant = $1) AND seq < $2 ORDER BY seq DESC LIMIT $3 OFFSET $4`,
);
const unfinished = sql<OperationRow>(
  "SELECT tenant, document, revision FROM posthorn.operations WHERE finished = false ORDER BY seq",
);

type OperationRow = readonly [tenant: string | null, document: string, revision: number];

export class Operations implements OperationStore {
  readonly #sql: Sql;

  constructor(events: Sql) {
    this.#sql = events;
  }

  save(operation: BatchOperation, audit?: AuditEntry): Promise<void> {
    const { id, tenantId, revision } = operation;
    const row = [id, tenantId, isAtRest(operation), JSON.stringify(operation), revision];
    return this.#sql.write(audit, save(...row));
  }

  async update(operation: BatchOperation, audit?: AuditEntry): Promise<boolean> {
    const { id, revision } = operation;
    const document = JSON.stringify({ ...operation, revision: revision + 1 });
    const changed = await this.#sql.change(audit, update(isAtRest(operation), document, id, revision));
    return changed.length > 0;
  }

  /** Operations of other tenants are hidden from a tenant. */
  async get(tenantId: string | null, id: string): Promise<BatchOperation | null> {
    const [row] = await this.#sql.read(byId(id));
    return ownedBy(tenantId, row === undefined ? null : toOperation(row));
  }

  async list({ tenantId, page: { before, limit, offset } }: OperationQuery): Promise<Page<BatchOperation>> {
    const below = before ?? Number.MAX_SAFE_INTEGER;
    // One row more than the limit shows whether there are older messages.
    const rows = await this.#sql.read(page(tenantId, below, limit + 1, offset));
    const shown = rows.slice(0, limit);
    return {
      rows: shown.map(([, ...row]) => toOperation(row)),
      next: rows.length > limit ? (shown.at(-1)?.[0] ?? null) : null,
    };
  }

  async unfinished(): Promise<readonly BatchOperation[]> {
    const rows = await this.#sql.read(unfinished());
    return rows.map(toOperation);
  }
}

/**
 * The revision is stored in a separate column, because both the process that runs an operation and a user who changes
 * it compare the revision.
 */
function toOperation([, document, revision]: OperationRow): BatchOperation {
  return { ...(JSON.parse(document) as BatchOperation), revision };
}
