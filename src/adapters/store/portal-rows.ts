import type {
  NewPortalSession,
  PortalLogo,
  PortalSession,
  PortalSettings,
} from "../../ports/store/portal.ts";

/** A row as both stores select it; fields that change are stored in columns. */
export type PortalSessionRow = readonly [
  document: string,
  redeemedAt: number | bigint | null,
  endedAt: number | bigint | null,
];

export const portalSessionColumns = "document, redeemed_at, ended_at";

export function toPortalSession([document, redeemedAt, endedAt]: PortalSessionRow): PortalSession {
  return {
    ...(JSON.parse(document) as PortalSession),
    redeemedAt: redeemedAt === null ? null : Number(redeemedAt),
    endedAt: endedAt === null ? null : Number(endedAt),
  };
}

export function toPortalSessionOrNull(row: PortalSessionRow | undefined): PortalSession | null {
  return row === undefined ? null : toPortalSession(row);
}

/** The document without the fields that have columns. */
export function portalSessionDocument(session: NewPortalSession): string {
  const { codeHash: _, codeExpiresAt: __, ...document } = session;
  return JSON.stringify(document);
}

/** How long an ended session is kept, and how many are removed in one step. */
export const endedSessionsKeptMs = 86_400_000;
export const removedAtOnce = 200;

/** The deployment is stored as the empty name, which no tenant can have. */
export function tenantColumn(tenantId: string | null): string {
  return tenantId ?? "";
}

export function toPortalSettings(row: readonly [document: string] | undefined): PortalSettings | null {
  return row === undefined ? null : (JSON.parse(row[0]) as PortalSettings);
}

export function toPortalLogo(
  row: readonly [mediaType: string, bytes: Uint8Array] | undefined,
): PortalLogo | null {
  if (row === undefined) return null;
  return { mediaType: row[0] as PortalLogo["mediaType"], bytes: new Uint8Array(row[1]) };
}
