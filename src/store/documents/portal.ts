import type { AuditEntry } from "../../ports/store/audit.ts";
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
} from "../../ports/store/portal.ts";
import { type Sql, tenantColumn } from "./sql.ts";
import { type Call, sql } from "./statement.ts";

/** The fields of a session that can change have separate columns. */
const columns = "document, redeemed_at, ended_at";
type SessionRow = readonly [document: string, redeemedAt: number | null, endedAt: number | null];

/** How long an ended session is kept, and the maximum number removed in one step. */
const endedSessionsKeptMs = 86_400_000;
const removedAtOnce = 200;

const isOpen = "ended_at IS NULL AND expires_at > $1";
const create = sql(
  `INSERT INTO posthorn.portal_sessions (id, tenant, reference, code_hash, code_expires_at, expires_at, document)
   VALUES ($1, $2, $3, $4, $5, $6, $7)`,
);
const remove = sql(
  `DELETE FROM posthorn.portal_sessions WHERE id IN (SELECT id FROM posthorn.portal_sessions
     WHERE expires_at < $1 LIMIT ${removedAtOnce} FOR UPDATE SKIP LOCKED)`,
);
const redeem = sql<SessionRow>(
  `UPDATE posthorn.portal_sessions SET token_hash = $2, redeemed_at = $1
   WHERE code_hash = $3 AND redeemed_at IS NULL AND code_expires_at > $1 AND ${isOpen} RETURNING ${columns}`,
);
const byToken = sql<SessionRow>(`SELECT ${columns} FROM posthorn.portal_sessions WHERE token_hash = $1`);
const byId = sql<SessionRow>(`SELECT ${columns} FROM posthorn.portal_sessions WHERE id = $1`);
const list = sql<SessionRow>(
  `SELECT ${columns} FROM posthorn.portal_sessions
   WHERE ($1::text IS NULL OR tenant = $1) AND ($2::text IS NULL OR id < $2) ORDER BY id DESC LIMIT $3 OFFSET $4`,
);
const endOne = sql<readonly [id: string]>(
  `UPDATE posthorn.portal_sessions SET ended_at = $1 WHERE id = $2 AND ${isOpen} RETURNING id`,
);
const endNamed = sql<readonly [id: string]>(
  `UPDATE posthorn.portal_sessions SET ended_at = $1 WHERE tenant = $2 AND reference = $3 AND ${isOpen} RETURNING id`,
);
const count = sql<readonly [count: number]>(
  `SELECT count(*) FROM posthorn.portal_sessions WHERE ($2::text IS NULL OR tenant = $2) AND ${isOpen}`,
);
const settings = sql<readonly [document: string]>(
  "SELECT document FROM posthorn.portal_settings WHERE tenant = $1",
);
const saveSettings = sql(
  `INSERT INTO posthorn.portal_settings (tenant, document) VALUES ($1, $2)
   ON CONFLICT (tenant) DO UPDATE SET document = excluded.document`,
);
const logo = sql<readonly [mediaType: PortalLogo["mediaType"], bytes: Uint8Array]>(
  "SELECT media_type, bytes FROM posthorn.portal_logos WHERE tenant = $1 AND scheme = $2",
);
const saveLogo = sql(
  `INSERT INTO posthorn.portal_logos (tenant, scheme, media_type, bytes) VALUES ($1, $2, $3, $4)
   ON CONFLICT (tenant, scheme) DO UPDATE SET media_type = excluded.media_type, bytes = excluded.bytes`,
);
const removeLogo = sql("DELETE FROM posthorn.portal_logos WHERE tenant = $1 AND scheme = $2");

/** Sessions are not part of event processing, so they are read over the maintenance pool. */
export class Portal implements PortalStore {
  readonly #sql: Sql;
  readonly #maintenance: Sql;

  constructor(events: Sql, maintenance: Sql) {
    this.#sql = events;
    this.#maintenance = maintenance;
  }

  createSession(session: NewPortalSession, audit?: AuditEntry): Promise<void> {
    const { codeHash, codeExpiresAt, ...document } = session;
    const { id, tenantId, reference, expiresAt } = session;
    const row = [id, tenantId, reference, codeHash, codeExpiresAt, expiresAt, JSON.stringify(document)];
    const removing = remove(session.createdAt - endedSessionsKeptMs);
    return this.#sql.write(audit, removing, create(...row));
  }

  async redeem({ codeHash, tokenHash, at }: CodeExchange): Promise<PortalSession | null> {
    const [row] = await this.#sql.change(undefined, redeem(at, tokenHash, codeHash));
    return toSessionOrNull(row);
  }

  sessionByToken(tokenHash: string): Promise<PortalSession | null> {
    return this.#session(byToken(tokenHash));
  }

  session(id: string): Promise<PortalSession | null> {
    return this.#session(byId(id));
  }

  async #session(call: Call<SessionRow>): Promise<PortalSession | null> {
    const [row] = await this.#maintenance.read(call);
    return toSessionOrNull(row);
  }

  async sessions({ tenantId, after, offset, limit }: PortalSessionQuery): Promise<readonly PortalSession[]> {
    const rows = await this.#maintenance.read(list(tenantId, after, limit, offset));
    return rows.map(toSession);
  }

  async endSessions(selection: PortalSessionSelection, audit?: AuditEntry): Promise<readonly string[]> {
    const ending =
      "id" in selection
        ? endOne(selection.at, selection.id)
        : endNamed(selection.at, selection.tenantId, selection.reference);
    const rows = await this.#sql.change(audit, ending);
    return rows.map(([id]) => id);
  }

  async countSessions(tenantId: string | null, at: number): Promise<number> {
    const [row] = await this.#maintenance.read(count(at, tenantId));
    return row?.[0] ?? 0;
  }

  async settings(tenantId: string | null): Promise<PortalSettings | null> {
    const [row] = await this.#maintenance.read(settings(tenantColumn(tenantId)));
    return row === undefined ? null : (JSON.parse(row[0]) as PortalSettings);
  }

  saveSettings(given: PortalSettings, audit?: AuditEntry): Promise<void> {
    return this.#sql.write(audit, saveSettings(tenantColumn(given.tenantId), JSON.stringify(given)));
  }

  async logo({ tenantId, scheme }: LogoPlace): Promise<PortalLogo | null> {
    const [row] = await this.#maintenance.read(logo(tenantColumn(tenantId), scheme));
    return row === undefined ? null : { mediaType: row[0], bytes: row[1] };
  }

  saveLogo({ tenantId, scheme }: LogoPlace, given: PortalLogo | null, audit?: AuditEntry): Promise<void> {
    const tenant = tenantColumn(tenantId);
    const saving =
      given === null ? removeLogo(tenant, scheme) : saveLogo(tenant, scheme, given.mediaType, given.bytes);
    return this.#sql.write(audit, saving);
  }
}

function toSession([document, redeemedAt, endedAt]: SessionRow): PortalSession {
  return { ...(JSON.parse(document) as PortalSession), redeemedAt, endedAt };
}

function toSessionOrNull(row: SessionRow | undefined): PortalSession | null {
  return row === undefined ? null : toSession(row);
}
