import type { StatementSync } from "node:sqlite";
import type { ApiKey, EventType, RegistryStore, Tenant } from "../../../ports/store/registry.ts";
import { toTenant } from "../registry-rows.ts";
import type { Connection } from "./connection.ts";

/** Small tables of JSON documents, in the order of their ids (UUIDv7: of creation) or names. */
export class SqliteRegistry implements RegistryStore {
  readonly #connection: Connection;
  readonly #saveTenant: StatementSync;
  readonly #tenants: StatementSync;
  readonly #saveApiKey: StatementSync;
  readonly #deleteApiKey: StatementSync;
  readonly #apiKeys: StatementSync;
  readonly #saveEventType: StatementSync;
  readonly #deleteEventType: StatementSync;
  readonly #eventTypes: StatementSync;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#saveTenant = connection.prepare("INSERT OR REPLACE INTO tenants VALUES (?, ?)");
    this.#tenants = connection.prepare("SELECT document FROM tenants ORDER BY id");
    this.#saveApiKey = connection.prepare("INSERT OR REPLACE INTO api_keys VALUES (?, ?, ?)");
    this.#deleteApiKey = connection.prepare("DELETE FROM api_keys WHERE id = ?");
    this.#apiKeys = connection.prepare("SELECT document FROM api_keys ORDER BY id");
    this.#saveEventType = connection.prepare("INSERT OR REPLACE INTO event_types VALUES (?, ?, ?)");
    this.#deleteEventType = connection.prepare("DELETE FROM event_types WHERE tenant = ? AND name = ?");
    this.#eventTypes = connection.prepare("SELECT document FROM event_types ORDER BY tenant, name");
  }

  async saveTenant(tenant: Tenant): Promise<void> {
    this.#connection.write(() => this.#saveTenant.run(tenant.id, JSON.stringify(tenant)));
  }

  async tenants(): Promise<readonly Tenant[]> {
    return this.#texts(this.#tenants).map(toTenant);
  }

  async saveApiKey(key: ApiKey): Promise<void> {
    this.#connection.write(() => this.#saveApiKey.run(key.id, key.expiresAt, JSON.stringify(key)));
  }

  async deleteApiKey(id: string): Promise<boolean> {
    return this.#connection.write(() => Number(this.#deleteApiKey.run(id).changes) > 0);
  }

  async apiKeys(): Promise<readonly ApiKey[]> {
    return this.#documents<ApiKey>(this.#apiKeys);
  }

  async saveEventType(eventType: EventType): Promise<void> {
    this.#connection.write(() =>
      this.#saveEventType.run(eventType.tenantId, eventType.name, JSON.stringify(eventType)),
    );
  }

  async deleteEventType(query: { readonly tenantId: string; readonly name: string }): Promise<boolean> {
    return this.#connection.write(
      () => Number(this.#deleteEventType.run(query.tenantId, query.name).changes) > 0,
    );
  }

  async eventTypes(): Promise<readonly EventType[]> {
    return this.#documents<EventType>(this.#eventTypes);
  }

  /** What was saved as `Document` comes back as one. */
  #documents<Document>(statement: StatementSync): readonly Document[] {
    return this.#texts(statement).map((document) => JSON.parse(document) as Document);
  }

  #texts(statement: StatementSync): readonly string[] {
    const rows = this.#connection.read(() => statement.all()) as unknown as [document: string][];
    return rows.map(([document]) => document);
  }
}
