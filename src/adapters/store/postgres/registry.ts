import type { ApiKey, EventType, RegistryStore, Tenant } from "../../../ports/store/registry.ts";
import { toTenant } from "../registry-rows.ts";
import type { Database } from "./database.ts";

/** Small tables of JSON documents, in the order of their ids (UUIDv7: of creation) or names. */
export class PostgresRegistry implements RegistryStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async saveTenant(tenant: Tenant): Promise<void> {
    await this.#database.rows(
      `INSERT INTO posthorn.tenants (id, document, pool) VALUES ($1, $2, $3)
       ON CONFLICT (id) DO UPDATE SET document = excluded.document, pool = excluded.pool`,
      [tenant.id, JSON.stringify(tenant), tenant.workerPool],
    );
  }

  /** The pool is that of its column, which ownership goes by: a version that knows no pools leaves it out of documents. */
  async tenants(): Promise<readonly Tenant[]> {
    const rows = await this.#database.rows<[document: string, workerPool: string]>(
      "SELECT document, pool FROM posthorn.tenants ORDER BY id",
    );
    return rows.map(([document, workerPool]) => Object.assign(toTenant(document), { workerPool }));
  }

  async saveApiKey(key: ApiKey): Promise<void> {
    await this.#database.rows(
      `INSERT INTO posthorn.api_keys VALUES ($1, $2, $3)
       ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at, document = excluded.document`,
      [key.id, key.expiresAt, JSON.stringify(key)],
    );
  }

  async deleteApiKey(id: string): Promise<boolean> {
    const rows = await this.#database.rows("DELETE FROM posthorn.api_keys WHERE id = $1 RETURNING 1", [id]);
    return rows.length > 0;
  }

  async apiKeys(): Promise<readonly ApiKey[]> {
    return this.#documents<ApiKey>("SELECT document FROM posthorn.api_keys ORDER BY id");
  }

  async saveEventType(eventType: EventType): Promise<void> {
    await this.#database.rows(
      `INSERT INTO posthorn.event_types VALUES ($1, $2, $3)
       ON CONFLICT (tenant, name) DO UPDATE SET document = excluded.document`,
      [eventType.tenantId, eventType.name, JSON.stringify(eventType)],
    );
  }

  async deleteEventType(query: { readonly tenantId: string; readonly name: string }): Promise<boolean> {
    const rows = await this.#database.rows(
      "DELETE FROM posthorn.event_types WHERE tenant = $1 AND name = $2 RETURNING 1",
      [query.tenantId, query.name],
    );
    return rows.length > 0;
  }

  async eventTypes(): Promise<readonly EventType[]> {
    return this.#documents<EventType>("SELECT document FROM posthorn.event_types ORDER BY tenant, name");
  }

  /** What was saved as `Document` comes back as one. */
  async #documents<Document>(sql: string): Promise<readonly Document[]> {
    const documents = await this.#texts(sql);
    return documents.map((document) => JSON.parse(document) as Document);
  }

  async #texts(sql: string): Promise<readonly string[]> {
    const rows = await this.#database.rows<[document: string]>(sql);
    return rows.map(([document]) => document);
  }
}
