import { parseLossless } from "../../domain/json/lossless.ts";
import type { AuditEntry } from "../../ports/store/audit.ts";
import type {
  ApiKey,
  EventType,
  EventTypeKey,
  EventTypePage,
  EventTypeQuery,
  RegistryStore,
  Tenant,
} from "../../ports/store/registry.ts";
import type { Sql } from "./sql.ts";
import { sql } from "./statement.ts";

/** The pool is also stored in a column, because in PostgreSQL the ownership statements read it. */
const saveTenant = sql(
  `INSERT INTO posthorn.tenants (id, document, pool) VALUES ($1, $2, $3)
   ON CONFLICT (id) DO UPDATE SET document = excluded.document, pool = excluded.pool`,
);
const tenants = sql<DocumentRow>("SELECT document FROM posthorn.tenants ORDER BY id");
const saveApiKey = sql(
  `INSERT INTO posthorn.api_keys (id, expires_at, document) VALUES ($1, $2, $3)
   ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at, document = excluded.document`,
);
const deleteApiKey = sql("DELETE FROM posthorn.api_keys WHERE id = $1 RETURNING id");
const apiKeys = sql<DocumentRow>("SELECT document FROM posthorn.api_keys ORDER BY id");
const saveEventType = sql(
  `INSERT INTO posthorn.event_types (tenant, name, document) VALUES ($1, $2, $3)
   ON CONFLICT (tenant, name) DO UPDATE SET document = excluded.document`,
);
const deleteEventType = sql(
  "DELETE FROM posthorn.event_types WHERE tenant = $1 AND name = $2 RETURNING name",
);
const eventType = sql<DocumentRow>(
  "SELECT document FROM posthorn.event_types WHERE tenant = $1 AND name = $2",
);
const eventTypePage = eventTypePageSql("true");
const eventTypePageOfTenant = eventTypePageSql("tenant = $6");

/** The sizes are summed without reading the documents, so that only the documents of the page are sent. */
function eventTypePageSql(whose: string) {
  return sql<readonly [document: string, fetched: number]>(
    `SELECT t.document, sized.fetched FROM (
       SELECT tenant, name, count(*) OVER () AS fetched, row_number() OVER place AS place,
         sum(bytes) OVER place - bytes AS bytes_before
       FROM (SELECT tenant, name, octet_length(document) AS bytes FROM posthorn.event_types
         WHERE ${whose} AND (tenant, name) > ($1, $2) ORDER BY tenant, name LIMIT $3 OFFSET $4) AS page
       WINDOW place AS (ORDER BY tenant, name)) AS sized
     JOIN posthorn.event_types AS t USING (tenant, name)
     WHERE (sized.bytes_before < $5 OR sized.place = 1) AND sized.place < $3 ORDER BY tenant, name`,
  );
}

const eventTypeUsage = sql<readonly [count: number, bytes: number]>(
  `SELECT count(*), coalesce(sum(octet_length(document)), 0)::bigint FROM posthorn.event_types WHERE tenant = $1`,
);

type DocumentRow = readonly [document: string];

/** Tables of JSON documents, ordered by name or by id (a UUIDv7, so by creation time). */
export class Registry implements RegistryStore {
  readonly #sql: Sql;

  constructor(events: Sql) {
    this.#sql = events;
  }

  saveTenant(tenant: Tenant, audit?: AuditEntry): Promise<void> {
    return this.#sql.write(audit, saveTenant(tenant.id, JSON.stringify(tenant), tenant.workerPool));
  }

  async tenants(): Promise<readonly Tenant[]> {
    const rows = await this.#sql.read(tenants());
    return rows.map(([document]) => parseLossless(document) as Tenant);
  }

  saveApiKey(key: ApiKey, audit?: AuditEntry): Promise<void> {
    return this.#sql.write(audit, saveApiKey(key.id, key.expiresAt, JSON.stringify(key)));
  }

  async deleteApiKey(id: string, audit?: AuditEntry): Promise<boolean> {
    const deleted = await this.#sql.change(audit, deleteApiKey(id));
    return deleted.length > 0;
  }

  async apiKeys(): Promise<readonly ApiKey[]> {
    const rows = await this.#sql.read(apiKeys());
    return rows.map(([document]) => parseLossless(document) as ApiKey);
  }

  saveEventType(given: EventType, audit?: AuditEntry): Promise<void> {
    return this.#sql.write(audit, saveEventType(given.tenantId, given.name, JSON.stringify(given)));
  }

  async deleteEventType({ tenantId, name }: EventTypeKey, audit?: AuditEntry): Promise<boolean> {
    const deleted = await this.#sql.change(audit, deleteEventType(tenantId, name));
    return deleted.length > 0;
  }

  async eventType({ tenantId, name }: EventTypeKey): Promise<EventType | null> {
    const [row] = await this.#sql.read(eventType(tenantId, name));
    return row === undefined ? null : (parseLossless(row[0]) as EventType);
  }

  async eventTypePage({ tenantId, after, offset, limit, bytesMax }: EventTypeQuery): Promise<EventTypePage> {
    // Without `after`, the start value sorts before every tenant and name.
    const start = [after?.tenantId ?? "", after?.name ?? ""];
    const asked = [...start, limit + 1, offset, bytesMax];
    const found = await this.#sql.read(
      tenantId === null ? eventTypePage(...asked) : eventTypePageOfTenant(...asked, tenantId),
    );
    const rows = found.map(([document]) => parseLossless(document) as EventType);
    const hasMore = rows.length < (found[0]?.[1] ?? 0);
    const last = rows.at(-1);
    const next = hasMore && last !== undefined ? { tenantId: last.tenantId, name: last.name } : null;
    return { rows, next };
  }

  async eventTypeUsage(tenantId: string): Promise<{ readonly count: number; readonly bytes: number }> {
    const [[count, bytes] = [0, 0]] = await this.#sql.read(eventTypeUsage(tenantId));
    return { count, bytes };
  }
}
