import { portalRevokeFields, portalSessionFields, portalSessionShown } from "../../core/fields/portal.ts";
import type { ApiOptions } from "../context.ts";
import { formatInstant } from "../mapping/instant.ts";
import { inputOf, shownJson } from "../mapping/fields.ts";
import { pageLimitDefault } from "../paging.ts";
import type { Pager } from "../paging.ts";
import { serverAddress } from "../portal/server-address.ts";
import { defineRoute } from "../route.ts";
import type { Call, Route } from "../route.ts";
import { closed, idParam } from "../schemas/building-blocks.ts";
import {
  portalRevokedSchema,
  portalRevokeSchema,
  portalSessionCreatedSchema,
  portalSessionInputSchema,
  portalSessionListSchema,
  portalSessionQuery,
} from "../schemas/portal.ts";

/** Portal sessions, managed by the tenants that create them for their customers. */
export function portalSessionRoutes(options: ApiOptions, pager: Pager): readonly Route[] {
  return [createRoute(options), listRoute(options, pager), endRoute(options), revokeRoute(options)];
}

const codeMs = 60_000;

function createRoute(options: ApiOptions): Route {
  const { services } = options;
  return defineRoute({
    method: "POST",
    path: "/v1/portal-sessions",
    operationId: "createPortalSession",
    tag: "Portal",
    summary: "Create a portal session for a customer",
    description:
      "Called by your backend for a user who is logged in to your product. `url` opens the portal once, within one minute: " +
      "the page exchanges the code in its fragment for a token that it keeps only in memory.",
    access: "manage",
    body: portalSessionInputSchema,
    bodyOptional: true,
    answers: { 201: { description: "The session, with its code.", schema: portalSessionCreatedSchema } },
    errors: ["limit_reached"],
    answerIsSecret: true,
    audit: { action: "portal_session.create", target: "portal_session" },
    handle: async (call) => {
      const input = inputOf(portalSessionFields, call.body);
      const { session, code } = await services.portalSessions.create(call.scope, input);
      const { id, tenantId, createdAt, expiresAt, capabilities } = session;
      const body = {
        id,
        tenant_id: tenantId,
        url: `${serverAddress(options, call.headers)}/portal/?session=${id}#c=${code}`,
        code,
        code_expires_at: formatInstant(Math.min(createdAt + codeMs, expiresAt)),
        expires_at: formatInstant(expiresAt),
        capabilities,
      };
      return { status: 201, headers: { "cache-control": "no-store" }, body };
    },
  });
}

function listRoute({ services }: ApiOptions, pager: Pager): Route {
  return defineRoute({
    method: "GET",
    path: "/v1/portal-sessions",
    operationId: "listPortalSessions",
    tag: "Portal",
    summary: "List portal sessions, newest first",
    description: "Ended sessions are listed for one more day.",
    access: "manage",
    query: portalSessionQuery,
    answers: { 200: { description: "A page of sessions.", schema: portalSessionListSchema } },
    errors: ["invalid_cursor"],
    handle: async ({ scope, query }) => {
      const { tenant_id: tenantId = null, limit = pageLimitDefault, offset = 0 } = query;
      const listing = { tenantId: scope.tenantId, route: "portal sessions", filters: { tenantId } };
      const asked = { tenantId, limit, offset, after: pager.after(query, listing) };
      const { rows, next } = await services.portalSessions.list(scope, asked);
      const data = rows.map((row) => shownJson(portalSessionShown, row));
      return { status: 200, body: { data, next_cursor: pager.cursorAfter(next, listing) } };
    },
  });
}

function endRoute({ services }: ApiOptions): Route {
  return defineRoute({
    method: "DELETE",
    path: "/v1/portal-sessions/{id}",
    operationId: "endPortalSession",
    tag: "Portal",
    summary: "End a portal session",
    description: "Its token is refused from now on; other processes follow within a second.",
    access: "manage",
    params: closed({ id: idParam("the session") }),
    answers: { 204: { description: "The session has ended." } },
    errors: ["not_found"],
    audit: {
      action: "portal_session.end",
      target: "portal_session",
      before: async ({ scope, params }: Call<{ readonly id: string }>) =>
        shownJson(portalSessionShown, await services.portalSessions.get(scope, params.id)),
      removes: ["reference"],
    },
    handle: async ({ scope, params }) => {
      await services.portalSessions.end(scope, params.id);
      return { status: 204 };
    },
  });
}

function revokeRoute({ services }: ApiOptions): Route {
  return defineRoute({
    method: "POST",
    path: "/v1/portal-sessions/revoke",
    operationId: "revokePortalSessions",
    tag: "Portal",
    summary: "End all portal sessions of a reference",
    description:
      "Ends the tenant's sessions with this `reference`, for example when the user logs out of your product.",
    access: "manage",
    body: portalRevokeSchema,
    answers: { 200: { description: "The number of ended sessions.", schema: portalRevokedSchema } },
    errors: [],
    audit: { action: "portal_session.revoke", target: "portal_session", idFrom: "reference" },
    handle: async ({ scope, body }) => {
      const input = inputOf(portalRevokeFields, body);
      const revoked = await services.portalSessions.revoke(scope, input);
      return { status: 200, body: { tenant_id: input.tenantId ?? scope.tenantId ?? "default", revoked } };
    },
  });
}
