import type { PortalCapability } from "./portal/capabilities.ts";
/** Whose call it is: `tenantId: null` is an administrator; with a tenant set, rows of others do not exist. */
export interface Scope {
  readonly tenantId: string | null;
  /** Of a customer in the portal; absent for holders of keys. */
  readonly portal?: PortalScope;
  /** Of a call that is written down; absent where nobody asked from outside. */
  readonly audit?: AuditTrail;
}

/** What a session of the portal may see and do, within its tenant. */
export interface PortalScope {
  /** Other webhooks do not exist for it; null is all. */
  readonly webhookIds: ReadonlySet<string> | null;
  readonly capabilities: ReadonlySet<PortalCapability>;
  /** Who uses it, as the host calls them. */
  readonly reference: string | null;
  /** Unix milliseconds. */
  readonly expiresAt: number;
}

/** The row of the audit log that a call is about to cause. Whoever changes the store writes it along, in one transaction. */
export interface AuditTrail {
  /** The row, which counts as written from now on: for a change that is made whole or rejected. */
  take(target?: AuditedTarget): AuditRecord | undefined;
  /** The row for an attempt that may be refused; `written` says that it was not. */
  peek(target?: AuditedTarget): AuditRecord | undefined;
  written(): void;
}

export interface AuditedTarget {
  readonly id: string;
  /** Whose it is; null for what belongs to the whole deployment. */
  readonly tenantId: string | null;
}

/** Who changed what, once. Times are Unix milliseconds. Holds no secret. */
export interface AuditRecord {
  readonly id: string;
  readonly at: number;
  /** Whose resource it is; null for what belongs to the whole deployment. */
  readonly tenantId: string | null;
  readonly actor: AuditActor;
  /** Such as `webhook.update`. */
  readonly action: string;
  /** `PATCH /v1/webhooks/{id}`. */
  readonly route: string;
  readonly target: { readonly type: string; readonly id: string | null };
  /** By field of the API. */
  readonly changes: Readonly<Record<string, AuditChange>>;
  /** Of the caller's connection. */
  readonly address: string | null;
  readonly requestId: string | null;
}

export const auditActorKinds = ["api_key", "dashboard_session", "portal_session", "anonymous"] as const;

/** `anonymous` holds no key, such as a receiver that permits deliveries. */
export interface AuditActor {
  readonly kind: (typeof auditActorKinds)[number];
  readonly keyId: string | null;
  readonly keyName: string | null;
  readonly role: string | null;
  readonly sessionId: string | null;
  /** Of somebody on whose behalf a session was opened. */
  readonly reference: string | null;
}

/** `from` is absent where it is not known, or there was nothing before. */
export interface AuditChange {
  readonly from?: unknown;
  readonly to: unknown;
}
