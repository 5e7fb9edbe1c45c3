import type { StatementSync } from "node:sqlite";
import type { AuditEntry } from "../../../ports/store/audit.ts";
import type {
  CodeExchange,
  LogoPlace,
  NewPortalSession,
  PortalLogo,
  PortalSession,
  PortalSessionQuery,
  PortalSessionSelection,
  PortalSettings,
  PortalStore,
} from "../../../ports/store/portal.ts";
import {
  endedSessionsKeptMs,
  portalSessionColumns,
  portalSessionDocument,
  type PortalSessionRow,
  removedAtOnce,
  tenantColumn,
  toPortalLogo,
  toPortalSession,
  toPortalSessionOrNull,
  toPortalSettings,
} from "../../document-rows.ts";
import { type Connection, StatementCache } from "../driver/connection.ts";
import type { AuditRows } from "./audit.ts";

const statements = {
  create: `INSERT INTO portal_sessions (id, tenant, reference, code_hash, code_expires_at, expires_at, document)
    VALUES (?, ?, ?, ?, ?, ?, ?)`,
  remove: `DELETE FROM portal_sessions WHERE id IN
    (SELECT id FROM portal_sessions WHERE expires_at < ? LIMIT ${removedAtOnce})`,
  redeem: `UPDATE portal_sessions SET token_hash = ?1, redeemed_at = ?2
    WHERE code_hash = ?3 AND redeemed_at IS NULL AND ended_at IS NULL AND code_expires_at > ?2 AND expires_at > ?2
    RETURNING ${portalSessionColumns}`,
  byToken: `SELECT ${portalSessionColumns} FROM portal_sessions WHERE token_hash = ?`,
  byId: `SELECT ${portalSessionColumns} FROM portal_sessions WHERE id = ?`,
  list: `SELECT ${portalSessionColumns} FROM portal_sessions
    WHERE (?1 IS NULL OR tenant = ?1) AND (?2 IS NULL OR id < ?2) ORDER BY id DESC LIMIT ?3 OFFSET ?4`,
  endOne: `UPDATE portal_sessions SET ended_at = ?1 WHERE id = ?2 AND ended_at IS NULL AND expires_at > ?1
    RETURNING id`,
  endNamed: `UPDATE portal_sessions SET ended_at = ?1
    WHERE tenant = ?2 AND reference = ?3 AND ended_at IS NULL AND expires_at > ?1 RETURNING id`,
  count: `SELECT count(*) FROM portal_sessions
    WHERE (?1 IS NULL OR tenant = ?1) AND ended_at IS NULL AND expires_at > ?2`,
  settings: "SELECT document FROM portal_settings WHERE tenant = ?",
  saveSettings: "INSERT OR REPLACE INTO portal_settings VALUES (?, ?)",
  logo: "SELECT media_type, bytes FROM portal_logos WHERE tenant = ? AND scheme = ?",
  saveLogo: "INSERT OR REPLACE INTO portal_logos VALUES (?, ?, ?, ?)",
  removeLogo: "DELETE FROM portal_logos WHERE tenant = ? AND scheme = ?",
} as const;

export class SqlitePortal implements PortalStore {
  readonly #connection: Connection;
  readonly #audit: AuditRows;
  /** Prepared on first use: most deployments have no portal. */
  readonly #statements: StatementCache;

  constructor(connection: Connection, audit: AuditRows) {
    this.#connection = connection;
    this.#audit = audit;
    this.#statements = new StatementCache(connection);
  }

  async createSession(session: NewPortalSession, audit?: AuditEntry): Promise<void> {
    const { id, tenantId, reference, codeHash, codeExpiresAt, expiresAt } = session;
    const document = portalSessionDocument(session);
    this.#connection.write(() => {
      this.#sql("remove").run(session.createdAt - endedSessionsKeptMs);
      this.#sql("create").run(id, tenantId, reference, codeHash, codeExpiresAt, expiresAt, document);
      this.#audit.write(audit);
    });
  }

  async redeem({ codeHash, tokenHash, at }: CodeExchange): Promise<PortalSession | null> {
    const row = this.#connection.write(() => this.#sql("redeem").get(tokenHash, at, codeHash));
    return toPortalSessionOrNull(row as unknown as PortalSessionRow | undefined);
  }

  async sessionByToken(tokenHash: string): Promise<PortalSession | null> {
    return toPortalSessionOrNull(this.#row<PortalSessionRow>("byToken", tokenHash));
  }

  async session(id: string): Promise<PortalSession | null> {
    return toPortalSessionOrNull(this.#row<PortalSessionRow>("byId", id));
  }

  async sessions({ tenantId, after, offset, limit }: PortalSessionQuery): Promise<readonly PortalSession[]> {
    const rows = this.#connection.read(() => this.#sql("list").all(tenantId, after, limit, offset));
    return (rows as unknown as PortalSessionRow[]).map(toPortalSession);
  }

  async endSessions(selection: PortalSessionSelection, audit?: AuditEntry): Promise<readonly string[]> {
    return this.#connection.write(() => {
      const rows =
        "id" in selection
          ? this.#sql("endOne").all(selection.at, selection.id)
          : this.#sql("endNamed").all(selection.at, selection.tenantId, selection.reference);
      if (rows.length > 0) this.#audit.write(audit);
      return (rows as unknown as (readonly [id: string])[]).map(([id]) => id);
    });
  }

  async countSessions({ tenantId, at }: { readonly tenantId: string | null; readonly at: number }) {
    return this.#row<[count: number]>("count", tenantId, at)?.[0] ?? 0;
  }

  async settings(tenantId: string | null): Promise<PortalSettings | null> {
    return toPortalSettings(this.#row<[document: string]>("settings", tenantColumn(tenantId)));
  }

  async saveSettings(settings: PortalSettings, audit?: AuditEntry): Promise<void> {
    this.#connection.write(() => {
      this.#sql("saveSettings").run(tenantColumn(settings.tenantId), JSON.stringify(settings));
      this.#audit.write(audit);
    });
  }

  async logo({ tenantId, scheme }: LogoPlace): Promise<PortalLogo | null> {
    return toPortalLogo(this.#row<[string, Uint8Array]>("logo", tenantColumn(tenantId), scheme));
  }

  async saveLogo(
    { tenantId, scheme }: LogoPlace,
    logo: PortalLogo | null,
    audit?: AuditEntry,
  ): Promise<void> {
    const tenant = tenantColumn(tenantId);
    this.#connection.write(() => {
      if (logo === null) this.#sql("removeLogo").run(tenant, scheme);
      else this.#sql("saveLogo").run(tenant, scheme, logo.mediaType, logo.bytes);
      this.#audit.write(audit);
    });
  }

  #sql(name: keyof typeof statements): StatementSync {
    return this.#statements.get(statements[name]);
  }

  #row<Row>(name: keyof typeof statements, ...values: (string | number | null)[]): Row | undefined {
    return this.#connection.read(() => this.#sql(name).get(...values)) as unknown as Row | undefined;
  }
}
