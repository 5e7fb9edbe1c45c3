import type {
  LogoPlace,
  NewPortalSession,
  PortalLogo,
  PortalSession,
  PortalSettings,
  PortalStore,
} from "../../../src/ports/store/portal.ts";

interface Row {
  session: PortalSession;
  readonly codeHash: string;
  readonly codeExpiresAt: number;
  tokenHash: string | null;
}

/** The portal's tables in memory. */
export class ModelPortal implements PortalStore {
  readonly #rows = new Map<string, Row>();
  readonly #settings = new Map<string | null, PortalSettings>();
  readonly #logos = new Map<string, PortalLogo>();

  async createSession({ codeHash, codeExpiresAt, ...session }: NewPortalSession): Promise<void> {
    this.#rows.set(session.id, { session, codeHash, codeExpiresAt, tokenHash: null });
  }

  redeem: PortalStore["redeem"] = async ({ codeHash, tokenHash, at }) => {
    const row = this.#find((one) => one.codeHash === codeHash);
    if (row === undefined || row.tokenHash !== null || row.codeExpiresAt <= at || !isOn(row, at)) return null;
    row.tokenHash = tokenHash;
    row.session = { ...row.session, redeemedAt: at };
    return row.session;
  };

  async sessionByToken(tokenHash: string): Promise<PortalSession | null> {
    return this.#find((row) => row.tokenHash === tokenHash)?.session ?? null;
  }

  async session(id: string): Promise<PortalSession | null> {
    return this.#rows.get(id)?.session ?? null;
  }

  sessions: PortalStore["sessions"] = async ({ tenantId, after, offset, limit }) =>
    [...this.#rows.values()]
      .map(({ session }) => session)
      .filter((one) => (tenantId ?? one.tenantId) === one.tenantId && (after === null || one.id < after))
      .toSorted((left, right) => (left.id > right.id ? -1 : 1))
      .slice(offset, offset + limit);

  endSessions: PortalStore["endSessions"] = async (selection) => {
    const isMeant = ({ session }: Row): boolean =>
      "id" in selection
        ? session.id === selection.id
        : session.tenantId === selection.tenantId && session.reference === selection.reference;
    const ended = [...this.#rows.values()].filter((row) => isMeant(row) && isOn(row, selection.at));
    for (const row of ended) row.session = { ...row.session, endedAt: selection.at };
    return ended.map(({ session }) => session.id);
  };

  countSessions: PortalStore["countSessions"] = async (tenantId, at) =>
    [...this.#rows.values()].filter(
      (row) => (tenantId ?? row.session.tenantId) === row.session.tenantId && isOn(row, at),
    ).length;

  async settings(tenantId: string | null): Promise<PortalSettings | null> {
    return this.#settings.get(tenantId) ?? null;
  }

  async saveSettings(settings: PortalSettings): Promise<void> {
    this.#settings.set(settings.tenantId, settings);
  }

  async logo({ tenantId, scheme }: LogoPlace): Promise<PortalLogo | null> {
    return this.#logos.get(`${tenantId} ${scheme}`) ?? null;
  }

  async saveLogo({ tenantId, scheme }: LogoPlace, logo: PortalLogo | null): Promise<void> {
    if (logo === null) this.#logos.delete(`${tenantId} ${scheme}`);
    else this.#logos.set(`${tenantId} ${scheme}`, logo);
  }

  #find(isMeant: (row: Row) => boolean): Row | undefined {
    return [...this.#rows.values()].find(isMeant);
  }
}

function isOn({ session }: Row, at: number): boolean {
  return session.endedAt === null && session.expiresAt > at;
}
