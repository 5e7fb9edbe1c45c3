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
import { writeAudited } from "./audit.ts";
import { storable } from "../../column-values.ts";
import type { Database, Value } from "../driver/database.ts";

/** Not part of the path of events: sessions are read over the maintenance pool. */
export class PostgresPortal implements PortalStore {
  readonly #database: Database;
  readonly #aside: Database;

  constructor(database: Database, aside: Database) {
    this.#database = database;
    this.#aside = aside;
  }

  async createSession(session: NewPortalSession, audit?: AuditEntry): Promise<void> {
    const { id, tenantId, reference, codeHash, codeExpiresAt, expiresAt } = session;
    await this.#aside.rows(
      `DELETE FROM posthorn.portal_sessions WHERE id IN (SELECT id FROM posthorn.portal_sessions
       WHERE expires_at < $1 LIMIT ${removedAtOnce} FOR UPDATE SKIP LOCKED)`,
      [session.createdAt - endedSessionsKeptMs],
    );
    const named = reference === null ? null : storable(reference);
    const document = storable(portalSessionDocument(session));
    await writeAudited(this.#database, audit, {
      sql: `INSERT INTO posthorn.portal_sessions
        (id, tenant, reference, code_hash, code_expires_at, expires_at, document) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
      values: [id, tenantId, named, codeHash, codeExpiresAt, expiresAt, document],
    });
  }

  async redeem({ codeHash, tokenHash, at }: CodeExchange): Promise<PortalSession | null> {
    const [row] = await this.#database.rows<PortalSessionRow>(
      `UPDATE posthorn.portal_sessions SET token_hash = $1, redeemed_at = $2
       WHERE code_hash = $3 AND redeemed_at IS NULL AND ended_at IS NULL AND code_expires_at > $2 AND expires_at > $2
       RETURNING ${portalSessionColumns}`,
      [tokenHash, at, codeHash],
    );
    return toPortalSessionOrNull(row);
  }

  async sessionByToken(tokenHash: string): Promise<PortalSession | null> {
    return toPortalSessionOrNull(await this.#session("token_hash", tokenHash));
  }

  async session(id: string): Promise<PortalSession | null> {
    return toPortalSessionOrNull(await this.#session("id", id));
  }

  async #session(column: "id" | "token_hash", value: string): Promise<PortalSessionRow | undefined> {
    const sql = `SELECT ${portalSessionColumns} FROM posthorn.portal_sessions WHERE ${column} = $1`;
    return (await this.#aside.rows<PortalSessionRow>(sql, [value]))[0];
  }

  async sessions({ tenantId, after, offset, limit }: PortalSessionQuery): Promise<readonly PortalSession[]> {
    const rows = await this.#aside.rows<PortalSessionRow>(
      `SELECT ${portalSessionColumns} FROM posthorn.portal_sessions
       WHERE ($1::text IS NULL OR tenant = $1) AND ($2::text IS NULL OR id < $2) ORDER BY id DESC LIMIT $3 OFFSET $4`,
      [tenantId, after, limit, offset],
    );
    return rows.map(toPortalSession);
  }

  async endSessions(selection: PortalSessionSelection, audit?: AuditEntry): Promise<readonly string[]> {
    const [condition, values]: readonly [string, readonly Value[]] =
      "id" in selection
        ? ["id = $2", [selection.at, selection.id]]
        : [
            "tenant = $2 AND reference = $3",
            [selection.at, selection.tenantId, storable(selection.reference)],
          ];
    const rows = await writeAudited(this.#database, audit, {
      sql: `UPDATE posthorn.portal_sessions SET ended_at = $1
        WHERE ${condition} AND ended_at IS NULL AND expires_at > $1 RETURNING id`,
      values,
    });
    return rows.map(([id]) => String(id));
  }

  async countSessions({ tenantId, at }: { readonly tenantId: string | null; readonly at: number }) {
    const [row] = await this.#aside.rows<[count: number]>(
      `SELECT count(*) FROM posthorn.portal_sessions
       WHERE ($1::text IS NULL OR tenant = $1) AND ended_at IS NULL AND expires_at > $2`,
      [tenantId, at],
    );
    return row?.[0] ?? 0;
  }

  async settings(tenantId: string | null): Promise<PortalSettings | null> {
    const sql = "SELECT document FROM posthorn.portal_settings WHERE tenant = $1";
    const [row] = await this.#aside.rows<[document: string]>(sql, [tenantColumn(tenantId)]);
    return toPortalSettings(row);
  }

  async saveSettings(settings: PortalSettings, audit?: AuditEntry): Promise<void> {
    await writeAudited(this.#database, audit, {
      sql: `INSERT INTO posthorn.portal_settings VALUES ($1, $2)
        ON CONFLICT (tenant) DO UPDATE SET document = excluded.document`,
      values: [tenantColumn(settings.tenantId), storable(JSON.stringify(settings))],
    });
  }

  async logo({ tenantId, scheme }: LogoPlace): Promise<PortalLogo | null> {
    const [row] = await this.#aside.rows<[mediaType: string, bytes: Uint8Array]>(
      "SELECT media_type, bytes FROM posthorn.portal_logos WHERE tenant = $1 AND scheme = $2",
      [tenantColumn(tenantId), scheme],
    );
    return toPortalLogo(row);
  }

  async saveLogo(
    { tenantId, scheme }: LogoPlace,
    logo: PortalLogo | null,
    audit?: AuditEntry,
  ): Promise<void> {
    const place = [tenantColumn(tenantId), scheme] as const;
    await writeAudited(
      this.#database,
      audit,
      logo === null
        ? { sql: "DELETE FROM posthorn.portal_logos WHERE tenant = $1 AND scheme = $2", values: place }
        : {
            sql: `INSERT INTO posthorn.portal_logos VALUES ($1, $2, $3, $4) ON CONFLICT (tenant, scheme)
              DO UPDATE SET media_type = excluded.media_type, bytes = excluded.bytes`,
            values: [...place, logo.mediaType, Buffer.from(logo.bytes)],
          },
    );
  }
}
