import type { PortalTheme } from "../../resources/portal.ts";
import type { PortalCapability } from "../../domain/scope.ts";
import type { AuditEntry } from "./audit.ts";

/**
 * Portal sessions and settings. Sessions are read one at a time, by the hash of their token, because there may be as
 * many sessions as a tenant has users.
 */
export interface PortalStore {
  /** Creates a session. Also deletes some sessions that ended more than a day before `createdAt`. */
  createSession(session: NewPortalSession, audit?: AuditEntry): Promise<void>;
  /**
   * Exchanges the code for the token, once. Returns null and writes nothing if the code is unknown, used or expired, or
   * if the session has ended.
   */
  redeem(exchange: CodeExchange): Promise<PortalSession | null>;
  /** Returns a session regardless of its state. */
  sessionByToken(tokenHash: string): Promise<PortalSession | null>;
  session(id: string): Promise<PortalSession | null>;
  /** Newest first. */
  sessions(query: PortalSessionQuery): Promise<readonly PortalSession[]>;
  /** Ends active sessions and returns their IDs. */
  endSessions(selection: PortalSessionSelection, audit?: AuditEntry): Promise<readonly string[]>;
  /** Number of active sessions of a tenant, or of all tenants if the tenant is null. */
  countSessions(tenantId: string | null, at: number): Promise<number>;

  /** Returns null if no settings were saved. A null tenant means the settings of the deployment. */
  settings(tenantId: string | null): Promise<PortalSettings | null>;
  saveSettings(settings: PortalSettings, audit?: AuditEntry): Promise<void>;
  logo(place: LogoPlace): Promise<PortalLogo | null>;
  /** Stores a logo. A null logo removes the stored one. */
  saveLogo(place: LogoPlace, logo: PortalLogo | null, audit?: AuditEntry): Promise<void>;
}

/** Times are Unix milliseconds. */
export interface PortalSession {
  readonly id: string;
  readonly tenantId: string;
  readonly capabilities: readonly PortalCapability[];
  readonly reference: string | null;
  /** The webhooks that the session may see. Null allows all webhooks of the tenant. */
  readonly webhookIds: readonly string[] | null;
  readonly origin: string | null;
  readonly locale: string | null;
  readonly theme: PortalTheme | null;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly redeemedAt: number | null;
  readonly endedAt: number | null;
}

/** Hashes are SHA-256, in hexadecimal digits. */
export interface NewPortalSession extends PortalSession {
  readonly codeHash: string;
  readonly codeExpiresAt: number;
}

/** The code of a session and the token for which it is exchanged, both hashed. */
export interface CodeExchange {
  readonly codeHash: string;
  readonly tokenHash: string;
  readonly at: number;
}

/** A page of sessions. */
export interface PortalSessionQuery {
  /** Null means all tenants. */
  readonly tenantId: string | null;
  /** ID of the last session on the previous page. */
  readonly after: string | null;
  readonly offset: number;
  readonly limit: number;
}

/** Selects one session by ID, or all sessions of a tenant with a given reference. */
export type PortalSessionSelection = { readonly at: number } & (
  | { readonly id: string }
  | { readonly tenantId: string; readonly reference: string }
);

/** Settings of the deployment (tenant null) or of a tenant. */
export interface PortalSettings {
  readonly tenantId: string | null;
  readonly theme: PortalTheme | null;
  readonly origins: readonly string[] | null;
  readonly capabilities: readonly PortalCapability[] | null;
  readonly updatedAt: number;
}

/** Colour schemes for which a logo can be stored. */
export const logoSchemes = ["light", "dark"] as const;
/** The colour scheme for which a logo is used. */
export type LogoScheme = (typeof logoSchemes)[number];

/** Identifies a logo by tenant and colour scheme. */
export interface LogoPlace {
  readonly tenantId: string | null;
  readonly scheme: LogoScheme;
}

/** An image whose type was detected from its content. */
export interface PortalLogo {
  readonly mediaType: "image/png" | "image/webp";
  readonly bytes: Uint8Array;
}
