import type {
  NewPortalSession,
  PortalLogo,
  PortalSession,
  PortalSettings,
} from "../../ports/store/portal.ts";

/** As both stores select it; what changes is kept beside the document. */
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

/** Without what has columns of its own. */
export function portalSessionDocument(session: NewPortalSession): string {
  const { codeHash: _, codeExpiresAt: __, ...document } = session;
  return JSON.stringify(document);
}

/** How long a session is kept after its end, and how many are removed at once. */
export const endedSessionsKeptMs = 86_400_000;
export const removedAtOnce = 200;

/** The deployment has the name that no tenant can have. */
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
