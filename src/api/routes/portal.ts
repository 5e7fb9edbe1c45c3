/** Session calls of the portal pages: exchange a code for a token, and end the session. */
import { portalThemeFields } from "../../core/fields/portal.ts";
import type { PortalSession } from "../../ports/store/portal.ts";
import { UnauthenticatedError } from "../authentication.ts";
import { CallLimits } from "../call-limits.ts";
import type { ApiOptions } from "../context.ts";
import { shownJson } from "../mapping/fields.ts";
import { formatInstant } from "../mapping/instant.ts";
import { serverAddress } from "../portal/server-address.ts";
import { portalSessionPath } from "../portal/session-path.ts";
import { defineRoute } from "../route.ts";
import type { Call, Route } from "../route.ts";
import { portalCodeSchema, portalTokenSchema } from "../schemas/portal.ts";

const noStore = { "cache-control": "no-store" };
/** For limits that are reported only in errors. */
const untold = { setHeader: () => {} };

export function portalRoutes(options: ApiOptions): readonly Route[] {
  return [exchangeRoute(options), leaveRoute(options)];
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
    theme: shownJson(portalThemeFields, theme),
    theme_css: `portal/theme.css?session=${id}&v=${cssVersion}`,
    logo_light: logoPath("light"),
    logo_dark: logoPath("dark"),
    embedded_by: await portalLooks.framers(session),
    public_url: serverAddress(options, headers),
  };
}

function leaveRoute({ services }: ApiOptions): Route {
  return defineRoute({
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
      await services.portalSessions.end(scope, principal?.keyId ?? "");
      return { status: 204, headers: noStore };
    },
  });
}
