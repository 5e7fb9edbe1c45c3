import type { StatementSync } from "node:sqlite";
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
import type { AuditRows } from "./audit.ts";
import type { Connection } from "../driver/connection.ts";

/** Tables of JSON documents, ordered by id (UUIDv7: by creation) or name. */
export class SqliteRegistry implements RegistryStore {
  readonly #connection: Connection;
  readonly #audit: AuditRows;
  readonly #saveTenant: StatementSync;
  readonly #tenants: StatementSync;
  readonly #saveApiKey: StatementSync;
  readonly #deleteApiKey: StatementSync;
  readonly #apiKeys: StatementSync;
  readonly #saveEventType: StatementSync;
  readonly #deleteEventType: StatementSync;
  readonly #eventType: StatementSync;
  readonly #eventTypes: StatementSync;
  readonly #eventTypesOfTenant: StatementSync;
  readonly #eventTypeUsage: StatementSync;

  constructor(connection: Connection, audit: AuditRows) {
    this.#connection = connection;
    this.#audit = audit;
    this.#saveTenant = connection.prepare("INSERT OR REPLACE INTO tenants VALUES (?, ?)");
    this.#tenants = connection.prepare("SELECT document FROM tenants ORDER BY id");
    this.#saveApiKey = connection.prepare("INSERT OR REPLACE INTO api_keys VALUES (?, ?, ?)");
    this.#deleteApiKey = connection.prepare("DELETE FROM api_keys WHERE id = ?");
    this.#apiKeys = connection.prepare("SELECT document FROM api_keys ORDER BY id");
    this.#saveEventType = connection.prepare("INSERT OR REPLACE INTO event_types VALUES (?, ?, ?)");
    this.#deleteEventType = connection.prepare("DELETE FROM event_types WHERE tenant = ? AND name = ?");
    this.#eventType = connection.prepare("SELECT document FROM event_types WHERE tenant = ? AND name = ?");
    this.#eventTypes = connection.prepare(
      "SELECT document FROM event_types WHERE (tenant, name) > (?, ?) ORDER BY tenant, name LIMIT ? OFFSET ?",
    );
    this.#eventTypesOfTenant = connection.prepare(
      `SELECT document FROM event_types WHERE tenant = ?1 AND (tenant, name) > (?2, ?3) ORDER BY name
       LIMIT ?4 OFFSET ?5`,
    );
    this.#eventTypeUsage = connection.prepare(
      "SELECT count(*), coalesce(sum(octet_length(document)), 0) FROM event_types WHERE tenant = ?",
    );
  }

  async saveTenant(tenant: Tenant, audit?: AuditEntry): Promise<void> {
    this.#write(audit, () => this.#saveTenant.run(tenant.id, JSON.stringify(tenant)));
  }

  async tenants(): Promise<readonly Tenant[]> {
    return this.#rows(this.#tenants).map(([document]) => toTenant(document));
  }

  async saveApiKey(key: ApiKey, audit?: AuditEntry): Promise<void> {
    this.#write(audit, () => this.#saveApiKey.run(key.id, key.expiresAt, JSON.stringify(key)));
  }

  async deleteApiKey(id: string, audit?: AuditEntry): Promise<boolean> {
    return this.#write(audit, () => this.#deleteApiKey.run(id));
  }

  async apiKeys(): Promise<readonly ApiKey[]> {
    return this.#rows(this.#apiKeys).map(toDocument<ApiKey>);
  }

  async saveEventType(eventType: EventType, audit?: AuditEntry): Promise<void> {
    this.#write(audit, () =>
      this.#saveEventType.run(eventType.tenantId, eventType.name, JSON.stringify(eventType)),
    );
  }

  async deleteEventType(key: EventTypeKey, audit?: AuditEntry): Promise<boolean> {
    return this.#write(audit, () => this.#deleteEventType.run(key.tenantId, key.name));
  }

  async eventType(key: EventTypeKey): Promise<EventType | null> {
    const row = this.#connection.read(() => this.#eventType.get(key.tenantId, key.name)) as unknown as
      | DocumentRow
      | undefined;
    return row === undefined ? null : toDocument(row);
  }

  async eventTypePage(query: EventTypeQuery): Promise<EventTypePage> {
    const { tenantId, limit, offset, bytesMax } = query;
    const page = [...startOf(query), limit + 1, offset] as const;
    return this.#connection.read(() => {
      const rows = (tenantId === null
        ? this.#eventTypes.iterate(...page)
        : this.#eventTypesOfTenant.iterate(tenantId, ...page)) as unknown as Iterable<[document: string]>;
      const documents: string[] = [];
      let bytes = 0;
      for (const [document] of rows) {
        if (documents.length === limit || (bytes >= bytesMax && documents.length > 0))
          return toEventTypePage(documents, true);
        documents.push(document);
        bytes += Buffer.byteLength(document);
      }
      return toEventTypePage(documents, false);
    });
  }

  async eventTypeUsage(tenantId: string): Promise<{ readonly count: number; readonly bytes: number }> {
    const row = this.#connection.read(() => this.#eventTypeUsage.get(tenantId));
    const [count, bytes] = row as unknown as [count: number, bytes: number];
    return { count, bytes };
  }

  /** Returns whether anything changed; only then is an audit row written. */
  #write(audit: AuditEntry | undefined, work: () => { readonly changes: number | bigint }): boolean {
    return this.#connection.write(() => {
      const isChanged = Number(work().changes) > 0;
      if (isChanged) this.#audit.write(audit);
      return isChanged;
    });
  }

  #rows(statement: StatementSync): readonly DocumentRow[] {
    return this.#connection.read(() => statement.all()) as unknown as DocumentRow[];
  }
}
