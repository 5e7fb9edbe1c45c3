import type {
  ApiKey,
  EventType,
  EventTypeKey,
  EventTypePage,
  EventTypeQuery,
  RegistryStore,
  Tenant,
} from "../../../ports/store/registry.ts";
import { type DocumentRow, startOf, toDocument, toEventTypePage, toTenant } from "../../document-rows.ts";
import type { AuditEntry } from "../../../ports/store/audit.ts";
import { writeAudited } from "./audit.ts";
import type { Database } from "../driver/database.ts";

/** Tables of JSON documents, ordered by id (UUIDv7: by creation) or name. */
export class PostgresRegistry implements RegistryStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async saveTenant(tenant: Tenant, audit?: AuditEntry): Promise<void> {
    await writeAudited(this.#database, audit, {
      sql: `INSERT INTO posthorn.tenants (id, document, pool) VALUES ($1, $2, $3)
       ON CONFLICT (id) DO UPDATE SET document = excluded.document, pool = excluded.pool`,
      values: [tenant.id, JSON.stringify(tenant), tenant.workerPool],
    });
  }

  /** The pool comes from its column, which ownership uses: a version without pools omits it from documents. */
  async tenants(): Promise<readonly Tenant[]> {
    const rows = await this.#database.rows<[document: string, workerPool: string]>(
      "SELECT document, pool FROM posthorn.tenants ORDER BY id",
    );
    return rows.map(([document, workerPool]) => Object.assign(toTenant(document), { workerPool }));
  }

  async saveApiKey(key: ApiKey, audit?: AuditEntry): Promise<void> {
    await writeAudited(this.#database, audit, {
      sql: `INSERT INTO posthorn.api_keys VALUES ($1, $2, $3)
       ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at, document = excluded.document`,
      values: [key.id, key.expiresAt, JSON.stringify(key)],
    });
  }

  async deleteApiKey(id: string, audit?: AuditEntry): Promise<boolean> {
    const sql = "DELETE FROM posthorn.api_keys WHERE id = $1 RETURNING 1";
    const rows = await writeAudited(this.#database, audit, { sql, values: [id] });
    return rows.length > 0;
  }

  async apiKeys(): Promise<readonly ApiKey[]> {
    const rows = await this.#database.rows<DocumentRow>("SELECT document FROM posthorn.api_keys ORDER BY id");
    return rows.map(toDocument<ApiKey>);
  }

  async saveEventType(eventType: EventType, audit?: AuditEntry): Promise<void> {
    await writeAudited(this.#database, audit, {
      sql: `INSERT INTO posthorn.event_types VALUES ($1, $2, $3)
       ON CONFLICT (tenant, name) DO UPDATE SET document = excluded.document`,
      values: [eventType.tenantId, eventType.name, JSON.stringify(eventType)],
    });
  }

  async deleteEventType({ tenantId, name }: EventTypeKey, audit?: AuditEntry): Promise<boolean> {
    const sql = "DELETE FROM posthorn.event_types WHERE tenant = $1 AND name = $2 RETURNING 1";
    const rows = await writeAudited(this.#database, audit, { sql, values: [tenantId, name] });
    return rows.length > 0;
  }

  async eventType({ tenantId, name }: EventTypeKey): Promise<EventType | null> {
    const [row] = await this.#database.rows<DocumentRow>(
      "SELECT document FROM posthorn.event_types WHERE tenant = $1 AND name = $2",
      [tenantId, name],
    );
    return row === undefined ? null : toDocument(row);
  }

  /** The bytes are added up without reading the documents, so that only shown documents are sent. */
  async eventTypePage(query: EventTypeQuery): Promise<EventTypePage> {
    const { tenantId, limit, offset, bytesMax } = query;
    const rows = await this.#database.rows<[document: string, fetched: number]>(
      `SELECT t.document, sized.fetched FROM (
         SELECT tenant, name, count(*) OVER () AS fetched, row_number() OVER place AS place,
           sum(bytes) OVER place - bytes AS before
         FROM (SELECT tenant, name, octet_length(document) AS bytes FROM posthorn.event_types
           WHERE ($1::text IS NULL OR tenant = $1) AND (tenant, name) > ($2, $3)
           ORDER BY tenant, name LIMIT $4 OFFSET $5) AS page
         WINDOW place AS (ORDER BY tenant, name)) AS sized
       JOIN posthorn.event_types t USING (tenant, name)
       WHERE (sized.before < $6 OR sized.place = 1) AND sized.place <= $7 ORDER BY tenant, name`,
      [tenantId, ...startOf(query), limit + 1, offset, bytesMax, limit],
    );
    return toEventTypePage(
      rows.map(([document]) => document),
      rows.length < (rows[0]?.[1] ?? 0),
    );
  }

  async eventTypeUsage(tenantId: string): Promise<{ readonly count: number; readonly bytes: number }> {
    const [row] = await this.#database.rows<[count: number, bytes: number]>(
      `SELECT count(*), coalesce(sum(octet_length(document)), 0)::bigint FROM posthorn.event_types
       WHERE tenant = $1`,
      [tenantId],
    );
    return { count: row?.[0] ?? 0, bytes: row?.[1] ?? 0 };
  }
}
