/** Login and logout of the dashboard. For all other functions, the dashboard calls the API like any other client. */
import { InvalidRequestError, PosthornError } from "../domain/errors.ts";
import {
  type Login,
  loginCodeSchema,
  loginSchema,
  sessionSchema,
  type SessionView,
} from "../resources/system.ts";
import { bearerToken, CallLimits, foreignCall, UnauthenticatedError } from "./authentication.ts";
import type { ApiOptions } from "./context.ts";
import { formatInstant } from "./mapping.ts";
import { type Answer, type Call, defineRoute, type Route } from "./route.ts";
import {
  comesFrom,
  isOwnCall,
  losesCookie,
  type OpenSession,
  readSessionCookie,
  sessionCookie,
  type Sessions,
} from "./dashboard-sessions.ts";

const noStore = { "cache-control": "no-store" };
/** Ignores headers, because these limits are reported only in errors. */
const untold = { setHeader: () => {} };

interface SessionRoutesOptions extends ApiOptions {
  readonly sessions: Sessions;
}

export function dashboardRoutes(options: ApiOptions): readonly Route[] {
  const { dashboard } = options;
  if (dashboard === undefined || dashboard === null) return [];
  const more = { ...options, sessions: dashboard.sessions };
  return [loginRoute(more), sessionRoute(more), logoutRoute(more), loginCodeRoute(more)];
}

function loginRoute(options: SessionRoutesOptions): Route {
  const limits = new CallLimits(options);
  return defineRoute({
    method: "POST",
    path: "/ui/session",
    operationId: "login",
    tag: "Dashboard",
    summary: "Log in to the dashboard",
    description:
      "Responds with a cookie, `__Host-posthorn-{deployment}`, or `posthorn-{deployment}` over http on localhost: `HttpOnly`, `SameSite=Strict`. It expires after 12 " +
      "hours, or after one hour without activity. With the cookie, the API accepts the session in place of its API key. Calls that " +
      "change something also need the header `X-Posthorn-UI` and must come from a page of this server. Each address is limited to five " +
      "failed logins per minute.",
    access: "public",
    body: loginSchema,
    answers: { 200: { description: "Logged in.", schema: sessionSchema } },
    errors: ["unauthenticated", "forbidden", "rate_limited"],
    audit: { none: "logging in changes nothing, and changes made in the session are audited" },
    handle: async ({ body, headers, connection }) => {
      if (comesFrom(headers) === "elsewhere") {
        throw new PosthornError("forbidden", "A page from another site cannot log in here.");
      }
      if (losesCookie(headers)) throw new InvalidRequestError(httpsNeeded, []);
      const opened = openedBy(options.sessions, body);
      if (opened === null) {
        limits.countWrongLogin(connection.remoteAddress ?? "", untold);
        throw new UnauthenticatedError(wrongLogin(body), 'Bearer realm="posthorn"');
      }
      return sessionAnswer(opened, options, headers);
    },
  });
}

const httpsNeeded =
  "Browsers keep this login only over https, or over http on the machine of the server. Put a TLS proxy in front, or " +
  "use a tunnel, for example: ssh -L 8080:127.0.0.1:8080 HOST";

function openedBy(sessions: Sessions, { key, code }: Login): OpenSession | null {
  if ((key === undefined) === (code === undefined)) {
    throw new InvalidRequestError("The body is not valid.", [
      { field: "key", message: "is required without a code" },
    ]);
  }
  if (key !== undefined) return sessions.login(key);
  return sessions.redeem(code ?? "");
}

function wrongLogin({ code }: Login): string {
  return code === undefined
    ? "The API key is unknown, expired or revoked."
    : "This link was already used or is older than five minutes. Create another one with: posthorn ui";
}

function sessionRoute(options: SessionRoutesOptions): Route {
  return defineRoute({
    method: "GET",
    path: "/ui/session",
    operationId: "getSession",
    tag: "Dashboard",
    summary: "Get the dashboard session",
    access: "public",
    answers: { 200: { description: "The session of the cookie.", schema: sessionSchema } },
    errors: ["unauthenticated"],
    handle: async ({ headers }) => {
      const found = options.sessions.find(readSessionCookie(headers, options.sessions.cookieId) ?? "");
      if (found === null) throw noSession();
      return sessionAnswer(found, options, headers);
    },
  });
}

function logoutRoute({ sessions }: SessionRoutesOptions): Route {
  return defineRoute({
    method: "DELETE",
    path: "/ui/session",
    operationId: "logout",
    tag: "Dashboard",
    summary: "Log out of the dashboard",
    access: "public",
    answers: { 204: { description: "The session has ended, and the cookie is removed." } },
    errors: ["forbidden"],
    audit: { none: "it only ends the caller's session" },
    handle: async ({ headers }) => {
      if (!isOwnCall("DELETE", headers)) throw foreignCall();
      const found = sessions.find(readSessionCookie(headers, sessions.cookieId) ?? "");
      if (found !== null) sessions.end(found.session);
      return {
        status: 204,
        headers: {
          ...noStore,
          "set-cookie": sessionCookie(headers, { id: sessions.cookieId, token: "", seconds: 0 }),
        },
      };
    },
  });
}

function loginCodeRoute({ sessions }: SessionRoutesOptions): Route {
  return defineRoute({
    method: "POST",
    path: "/ui/login-codes",
    operationId: "createLoginCode",
    tag: "Dashboard",
    summary: "Create a one-time login link for the dashboard",
    description:
      "Valid for five minutes, with the rights of the calling API key. The link must be opened on the process that created it.",
    access: "any",
    answers: { 201: { description: "The code.", schema: loginCodeSchema } },
    errors: [],
    answerIsSecret: true,
    audit: { action: "dashboard.create_login_code", target: "login_code" },
    handle: async ({ headers }) => {
      const key = bearerToken(headers.authorization);
      if (key === null)
        throw new PosthornError("forbidden", "A session cannot create login links; use an API key.");
      const { code, endsAt } = sessions.createCode(key);
      const body = { code, path: loginPath(code), expires_at: formatInstant(endsAt) };
      return { status: 201, headers: noStore, body };
    },
  });
}

/** The code is in the fragment, which browsers do not send and proxies do not log. */
export function loginPath(code: string): string {
  return `ui/#c=${code}`;
}

function noSession(): UnauthenticatedError {
  return new UnauthenticatedError("The session has ended. Log in again.", 'Bearer realm="posthorn"');
}

function sessionAnswer(
  { session, principal }: OpenSession,
  options: SessionRoutesOptions,
  headers: Call["headers"],
): Answer {
  const { sessions, dev, dashboard } = options;
  const body: SessionView = {
    role: principal.role,
    tenant_id: principal.tenantId,
    expires_at: formatInstant(session.endsAt),
    idle_until: formatInstant(session.idleUntil),
    version: dashboard?.version ?? "",
    dev,
  };
  const cookie = sessionCookie(headers, sessions.cookieOf(session));
  return { status: 200, headers: { ...noStore, "set-cookie": cookie }, body };
}
