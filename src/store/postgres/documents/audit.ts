import type { AuditEntry, AuditSearch, AuditStore, StoredAuditEntry } from "../../../ports/store/audit.ts";
import type { SearchPage } from "../../../ports/store/search.ts";
import {
  actorText,
  auditParameters,
  type AuditRow,
  type AuditWindow,
  searchAuditLog,
} from "../../document-rows.ts";
import { storable } from "../../column-values.ts";
import type { Database, Runner, Value } from "../driver/database.ts";
import { searchBounds } from "../lists/search-walk.ts";

interface Statement {
  readonly sql: string;
  readonly values: readonly Value[];
}

/** Runs one statement together with writing its audit row, which is omitted if the statement returns no row. */
export async function writeAudited(
  database: Database,
  audit: AuditEntry | undefined,
  { sql, values }: Statement,
): Promise<readonly (readonly unknown[])[]> {
  if (audit === undefined) return database.rows(sql, values);
  return database.transaction(async (transaction) => {
    const rows = await transaction.rows(sql, values);
    if (rows.length > 0 || !sql.includes("RETURNING")) await writeAudit(transaction, audit);
    return rows;
  });
}

export async function writeAudit(runner: Runner, entry: AuditEntry | undefined): Promise<void> {
  if (entry === undefined) return;
  const { at, tenantId, action, target } = entry;
  await runner.rows(
    `INSERT INTO posthorn.audit_log (at, tenant, action, actor, target, document)
     VALUES ($1, $2, $3, $4, $5, $6)`,
    [at, tenantId, action, storable(actorText(entry)), target.id, storable(JSON.stringify(entry))],
  );
}

const windowSql = `SELECT seq, document FROM posthorn.audit_log WHERE seq < $1 AND seq >= $2
  AND ($3::text IS NULL OR tenant = $3) AND ($4::text IS NULL OR strpos(actor, $4) > 0)
  AND ($5::text IS NULL OR action = $5 OR starts_with(action, $5 || '.'))
  AND ($6::text IS NULL OR target = $6) AND ($7::bigint IS NULL OR at >= $7) AND ($8::bigint IS NULL OR at <= $8)
  ORDER BY seq DESC LIMIT $9`;

/** Uses the maintenance pool for reading. */
export class PostgresAudit implements AuditStore {
  readonly #database: Database;
  readonly #aside: Database;

  constructor(database: Database, aside: Database) {
    this.#database = database;
    this.#aside = aside;
  }

  async append(entry: AuditEntry): Promise<void> {
    await writeAudit(this.#database, entry);
  }

  search({ filter, ...page }: AuditSearch): Promise<SearchPage<StoredAuditEntry>> {
    const parameters = auditParameters(filter);
    const log = {
      edges: async () => {
        const [edges = [0, 0]] = await this.#aside.rows<[newest: number, oldest: number]>(
          "SELECT coalesce(max(seq), 0), coalesce(min(seq), 0) FROM posthorn.audit_log",
        );
        return edges;
      },
      window: ({ below, from, limit }: AuditWindow) =>
        this.#aside.rows<AuditRow>(windowSql, [below, from, ...parameters, limit], searchBounds),
      createdAt: async (position: number) => {
        const [row] = await this.#aside.rows<[at: number]>(
          "SELECT at FROM posthorn.audit_log WHERE seq >= $1 ORDER BY seq LIMIT 1",
          [position],
        );
        return row?.[0] ?? null;
      },
    };
    return searchAuditLog(log, page);
  }
}
