/** The capabilities of a portal session. A route names the one that it requires (`Route.capability`). */
export const portalCapabilities = [
  "endpoints:read",
  "endpoints:write",
  "endpoints:delete",
  "secrets:read",
  "secrets:rotate",
  "deliveries:read",
  "payloads:read",
  "deliveries:retry",
  "endpoints:recover",
  "test:send",
  "filters:write",
  "transformations:write",
  "notifications:write",
] as const;
export type PortalCapability = (typeof portalCapabilities)[number];

/** Default capabilities of a session. Reading and replacing secrets must be requested explicitly. */
export const portalCapabilitiesDefault: readonly PortalCapability[] = [
  "endpoints:read",
  "endpoints:write",
  "deliveries:read",
  "payloads:read",
  "deliveries:retry",
  "test:send",
];

/**
 * The scope of a call. `tenantId: null` means an administrator. If a tenant is set, rows of other tenants do not exist
 * for the call.
 */
export interface Scope {
  readonly tenantId: string | null;
  /** Set for a customer in the portal; absent for a caller with an API key. */
  readonly portal?: PortalScope;
  /** Set if the call is audited; absent if the call does not come from an external caller. */
  readonly audit?: AuditTrail;
}

/** What a portal session may see and do within its tenant. */
export interface PortalScope {
  /** The webhooks that exist for the session; null means all. */
  readonly webhookIds: ReadonlySet<string> | null;
  readonly capabilities: ReadonlySet<PortalCapability>;
  /** The user of the session, as identified by the host. */
  readonly reference: string | null;
  /** Unix milliseconds. */
  readonly expiresAt: number;
}

/** The audit row of a call. Code that changes the store writes the row in the same transaction. */
export interface AuditTrail {
  /**
   * Returns the row, which counts as written from now on. Use this for a change that is either committed completely or
   * rejected.
   */
  take(target?: AuditedTarget): AuditRecord | undefined;
  /** Returns the row for an attempt that may be refused. If it was not refused, call `written`. */
  peek(target?: AuditedTarget): AuditRecord | undefined;
  written(): void;
}

export interface AuditedTarget {
  readonly id: string;
  /** Tenant that owns the resource; null for resources of the whole deployment. */
  readonly tenantId: string | null;
}

/** One audited change: who changed what. Times are Unix milliseconds. Contains no secrets. */
export interface AuditRecord {
  readonly id: string;
  readonly at: number;
  /** Tenant that owns the resource; null for resources of the whole deployment. */
  readonly tenantId: string | null;
  readonly actor: AuditActor;
  /** An action such as `webhook.update`. */
  readonly action: string;
  /** The route, such as `PATCH /v1/webhooks/{id}`. */
  readonly route: string;
  readonly target: { readonly type: string; readonly id: string | null };
  /** Indexed by API field. */
  readonly changes: Readonly<Record<string, AuditChange>>;
  /** Remote address of the caller's connection. */
  readonly address: string | null;
  readonly requestId: string | null;
}

export const auditActorKinds = ["api_key", "dashboard_session", "portal_session", "anonymous"] as const;

/** `anonymous`: a caller without a key, such as a receiver that permits deliveries. */
export interface AuditActor {
  readonly kind: (typeof auditActorKinds)[number];
  readonly keyId: string | null;
  readonly keyName: string | null;
  readonly role: string | null;
  readonly sessionId: string | null;
  /** The person for whom a session was opened. */
  readonly reference: string | null;
}

/** `from` is absent if the previous value did not exist or is unknown. */
export interface AuditChange {
  readonly from?: unknown;
  readonly to: unknown;
}
