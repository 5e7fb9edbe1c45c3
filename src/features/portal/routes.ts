import { CallLimits, UnauthenticatedError } from "../../http/authentication.ts";
import type { ApiOptions } from "../../http/context.ts";
import { portalSessionPath } from "../../http/cross-origin.ts";
import { formatInstant, inputOf, jsonOf } from "../../http/mapping.ts";
import { pageLimitDefault, type Pager } from "../../http/paging.ts";
import { PlainRoutes } from "../../http/plain-routes.ts";
import { type Call, defineRoute, type Route } from "../../http/route.ts";
import { serverAddress } from "../../http/server-address.ts";
import type { PortalSession } from "../../ports/store/portal.ts";
import {
  portalCodeSchema,
  portalRevokedSchema,
  portalRevokeFields,
  portalRevokeSchema,
  portalSessionCreatedSchema,
  portalSessionFields,
  portalSessionFilters,
  portalSessionResource,
  portalThemeSchema,
  portalTokenSchema,
} from "../../resources/portal.ts";

const codeMs = 60_000;
const noStore = { "cache-control": "no-store" };

/** Portal sessions, managed by the tenants that create them for their customers. */
export function portalSessionRoutes(options: ApiOptions, pager: Pager): readonly Route[] {
  const { portalSessions } = options.services;
  const sessionJson = (session: PortalSession) => jsonOf(portalSessionResource.schemas.one, session);
  const routes = new PlainRoutes(
    portalSessionResource,
    (scope, id) => portalSessions.get(scope, id),
    sessionJson,
  );
  return [
    createRoute(options),
    routes.pages(
      {
        access: "manage",
        summary: "List portal sessions, newest first",
        description: "Ended sessions are listed for one more day.",
        answer: "A page of sessions.",
      },
      portalSessionFilters,
      async (scope, { tenantId }, query, listing) => {
        const { limit = pageLimitDefault, offset = 0 } = query;
        const asked = { tenantId, limit, offset, after: pager.after(query, listing) };
        const { rows, next } = await portalSessions.list(scope, asked);
        return { data: rows.map(sessionJson), next_cursor: pager.cursorAfter(next, listing) };
      },
    ),
    routes.delete(
      {
        access: "manage",
        summary: "End a portal session",
        description: "This process refuses its token immediately; other processes follow within a second.",
        answer: "The session has ended.",
      },
      (scope, id) => portalSessions.end(scope, id),
      ["reference"],
      "end",
    ),
    defineRoute({
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
        const revoked = await portalSessions.revoke(scope, input);
        return { status: 200, body: { tenant_id: input.tenantId ?? scope.tenantId ?? "default", revoked } };
      },
    }),
  ];
}

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
    body: portalSessionResource.schemas.create,
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
      return { status: 201, headers: noStore, body };
    },
  });
}

// Session calls of the portal pages: exchanging a code for a token, and ending the session.

/** Ignores headers, because these limits are reported only in errors. */
const untold = { setHeader: () => {} };

export function portalRoutes(options: ApiOptions): readonly Route[] {
  return [
    exchangeRoute(options),
    defineRoute({
      method: "DELETE",
      path: portalSessionPath,
      operationId: "leavePortal",
      tag: "Portal",
      summary: "End the portal session of the token",
      access: "session",
      answers: { 204: { description: "The session has ended." } },
      errors: [],
      audit: {
        action: "portal_session.end",
        target: "portal_session",
        before: async ({ principal }: Call) => ({ tenant_id: principal?.tenantId }),
      },
      handle: async ({ scope, principal }) => {
        await options.services.portalSessions.end(scope, principal?.keyId ?? "");
        return { status: 204, headers: noStore };
      },
    }),
  ];
}

function exchangeRoute(options: ApiOptions): Route {
  const limits = new CallLimits(options);
  const { services } = options;
  return defineRoute({
    method: "POST",
    path: portalSessionPath,
    operationId: "redeemPortalCode",
    tag: "Portal",
    summary: "Exchange a one-time code for the token of a portal session",
    description:
      "A code works once, within one minute. Each address is limited to 60 invalid codes per minute.",
    access: "public",
    body: portalCodeSchema,
    answers: { 200: { description: "The token and the portal theme.", schema: portalTokenSchema } },
    errors: ["unauthenticated", "rate_limited"],
    audit: { none: "the creation of the session and its changes are audited" },
    handle: async ({ body, headers, connection }) => {
      const redeemed = await services.portalSessions.redeem(body.code);
      if (redeemed === null) {
        limits.countWrongCode(connection.remoteAddress ?? "", untold);
        throw new UnauthenticatedError(
          "This code was already used, is older than a minute, or was revoked. Request a new session.",
          'Bearer realm="posthorn"',
        );
      }
      return {
        status: 200,
        headers: noStore,
        body: await tokenJson(options, redeemed.session, redeemed.token, headers),
      };
    },
  });
}

async function tokenJson(
  options: ApiOptions,
  session: PortalSession,
  token: string,
  headers: Call["headers"],
): Promise<Record<string, unknown>> {
  const { services } = options;
  const { id, tenantId, expiresAt, capabilities, webhookIds, locale } = session;
  const { portalLooks, tenants } = services;
  const { theme, cssVersion, logos } = await portalLooks.look(session);
  const logoPath = (scheme: "light" | "dark") => {
    const version = logos[scheme]?.version;
    return version === undefined ? null : `portal/logo?session=${id}&scheme=${scheme}&v=${version}`;
  };
  const { name } = await tenants.get({ tenantId }, tenantId);
  return {
    token,
    session_id: id,
    expires_at: formatInstant(expiresAt),
    capabilities,
    webhook_ids: webhookIds,
    tenant: { id: tenantId, name },
    locale,
    theme: jsonOf(portalThemeSchema, theme),
    theme_css: `portal/theme.css?session=${id}&v=${cssVersion}`,
    logo_light: logoPath("light"),
    logo_dark: logoPath("dark"),
    embedded_by: await portalLooks.framers(session),
    public_url: serverAddress(options, headers),
  };
}
