import type { Caller, CallOptions } from "./caller.ts";
import { Pages, type Page } from "./pages.ts";
import { pathTo } from "./calls.ts";

/** Lets one of your users see and change the webhooks of a tenant in the portal. */
export interface PortalSessionInput {
  /** Whose endpoints and deliveries it shows. Keys of a tenant need not give it. */
  tenant_id?: string;
  /** What it may do, such as `endpoints:read` or `deliveries:retry`. */
  capabilities?: string[];
  /** How long it lasts. */
  expires_in_seconds?: number;
  /** Your name for who uses it; sessions can be revoked by it. */
  reference?: string | null;
  /** Only these webhooks; all of the tenant when left out. */
  webhook_ids?: string[] | null;
  /** The page that shows the portal in a frame. */
  origin?: string | null;
  /** A language such as `en`. */
  locale?: string | null;
  theme?: Record<string, unknown> | null;
}

export interface PortalSession {
  id: string;
  tenant_id: string;
  capabilities: string[];
  reference: string | null;
  created_at: string;
  expires_at: string;
  [name: string]: unknown;
}

export interface PortalSessionCreated extends PortalSession {
  /** The page that the user opens; it works once, and soon. */
  url: string;
  /** What an embedded portal is given instead. */
  code: string;
}

const sessionsPath = "/v1/portal-sessions";

/** Sessions of the portal for your customers. */
export function portalSessionsOf(caller: Caller) {
  return {
    create: (body: PortalSessionInput = {}, options?: CallOptions): Promise<PortalSessionCreated> =>
      caller.call("POST", { ...options, path: sessionsPath, body }),
    list: (query?: { tenant_id?: string; reference?: string; limit?: number }, options?: CallOptions) =>
      new Pages<PortalSession, Page<PortalSession>>((cursor) =>
        caller.call("GET", { ...options, path: sessionsPath, query: { ...query, cursor } }),
      ),
    delete: (id: string, options?: CallOptions): Promise<void> =>
      caller.call("DELETE", { ...options, path: pathTo(`${sessionsPath}/{id}`, id) }),
    /** Ends all sessions with this reference. */
    revoke: (body: { tenant_id?: string; reference: string }, options?: CallOptions): Promise<unknown> =>
      caller.call("POST", { ...options, path: `${sessionsPath}/revoke`, body }),
  };
}
