import type { PortalTheme } from "../../core/fields/portal.ts";
import type { PortalCapability } from "../../core/portal/capabilities.ts";
import type { AuditEntry } from "./audit.ts";

/**
 * Sessions of the portal, and how it looks. Sessions are read one at a time, by the hash of their token, because there may
 * be as many as a tenant has users.
 */
export interface PortalStore {
  /** Also removes some of those that ended more than a day before `createdAt`. */
  createSession(session: NewPortalSession, audit?: AuditEntry): Promise<void>;
  /**
   * Exchanges the code for the token, once: null, and nothing written, for a code that is unknown, was used, is over, or of
   * a session that was ended.
   */
  redeem(exchange: CodeExchange): Promise<PortalSession | null>;
  /** Whatever its state. */
  sessionByToken(tokenHash: string): Promise<PortalSession | null>;
  session(id: string): Promise<PortalSession | null>;
  /** Newest first. */
  sessions(query: PortalSessionQuery): Promise<readonly PortalSession[]>;
  /** Ends what goes on; the ids of what it ended. */
  endSessions(selection: PortalSessionSelection, audit?: AuditEntry): Promise<readonly string[]>;
  /** How many go on at a time: of a tenant, or with null of all. */
  countSessions(query: { readonly tenantId: string | null; readonly at: number }): Promise<number>;

  /** Null when nothing was saved. The deployment's have the tenant null. */
  settings(tenantId: string | null): Promise<PortalSettings | null>;
  saveSettings(settings: PortalSettings, audit?: AuditEntry): Promise<void>;
  logo(place: LogoPlace): Promise<PortalLogo | null>;
  /** Null removes it. */
  saveLogo(place: LogoPlace, logo: PortalLogo | null, audit?: AuditEntry): Promise<void>;
}

/** Times are Unix milliseconds. */
export interface PortalSession {
  readonly id: string;
  readonly tenantId: string;
  readonly capabilities: readonly PortalCapability[];
  readonly reference: string | null;
  /** Null is all of the tenant. */
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

/** What becomes of a code, hashed both. */
export interface CodeExchange {
  readonly codeHash: string;
  readonly tokenHash: string;
  readonly at: number;
}

/** A page of sessions. */
export interface PortalSessionQuery {
  /** Null is everybody's. */
  readonly tenantId: string | null;
  /** Id of the last one of the page before. */
  readonly after: string | null;
  readonly offset: number;
  readonly limit: number;
}

/** One by its id, or all of a tenant with a reference. */
export type PortalSessionSelection = { readonly at: number } & (
  | { readonly id: string }
  | { readonly tenantId: string; readonly reference: string }
);

/** Of the deployment with null, or of a tenant. */
export interface PortalSettings {
  readonly tenantId: string | null;
  readonly theme: PortalTheme | null;
  readonly origins: readonly string[] | null;
  readonly capabilities: readonly PortalCapability[] | null;
  readonly updatedAt: number;
}

/** A logo for each scheme of colours. */
export const logoSchemes = ["light", "dark"] as const;
/** One of them. */
export type LogoScheme = (typeof logoSchemes)[number];

/** Whose logo, and for what. */
export interface LogoPlace {
  readonly tenantId: string | null;
  readonly scheme: LogoScheme;
}

/** A picture whose type was found by its content. */
export interface PortalLogo {
  readonly mediaType: "image/png" | "image/webp";
  readonly bytes: Uint8Array;
}
