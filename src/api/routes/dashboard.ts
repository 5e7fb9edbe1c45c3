/** Logging in to the dashboard and out of it. Everything else it does is a call of the API, as anybody's. */
import { CallLimits } from "../call-limits.ts";
import type { ApiOptions } from "../context.ts";
import { comesFrom, isOwnCall } from "../dashboard/own-calls.ts";
import { losesCookie, readSessionCookie, sessionCookie } from "../dashboard/session-cookie.ts";
import type { OpenSession, Sessions } from "../dashboard/sessions.ts";
import { bearerToken, foreignCall, UnauthenticatedError } from "../authentication.ts";
import { formatInstant } from "../mapping/instant.ts";
import { InvalidRequestError, PosthornError } from "../../core/errors.ts";
import { defineRoute } from "../route.ts";
import type { Answer, Call, Route } from "../route.ts";
import {
  type Login,
  loginCodeSchema,
  loginSchema,
  sessionSchema,
  type SessionView,
} from "../schemas/session.ts";

const noStore = { "cache-control": "no-store" };
/** Of limits that are told in errors alone. */
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
      "Answers with a cookie, `__Host-posthorn-{deployment}`, or `posthorn-{deployment}` on http on this machine: `HttpOnly`, `SameSite=Strict`, for 12 " +
      "hours, and for one hour without anybody's doing. With it the API takes the session for its API key; calls that " +
      "change something need the header `X-Posthorn-UI` too, and come from a page of this server. An address gets five " +
      "wrong logins a minute.",
    access: "public",
    body: loginSchema,
    answers: { 200: { description: "Logged in.", schema: sessionSchema } },
    errors: ["unauthenticated", "forbidden", "rate_limited"],
    audit: { none: "a session changes nothing by itself; what is done with it is written down" },
    handle: async ({ body, headers, connection }) => {
      if (comesFrom(headers) === "elsewhere") {
        throw new PosthornError("forbidden", "Another page cannot log in here.");
      }
      if (losesCookie(headers)) throw new InvalidRequestError(httpsNeeded, []);
      const opened = openedBy(options.sessions, body);
      if (opened === null) {
        limits.countWrongLogin(connection.remoteAddress ?? "", untold);
        throw new UnauthenticatedError({ detail: wrongLogin(body), challenge: 'Bearer realm="posthorn"' });
      }
      return sessionAnswer(opened, { options, headers });
    },
  });
}

const httpsNeeded =
  "A browser keeps the login over https alone, or over http on the machine of the server. Put a proxy with TLS in front, or " +
  "use a tunnel such as: ssh -L 8080:127.0.0.1:8080 HOST";

function openedBy(sessions: Sessions, { key, code }: Login): OpenSession | null {
  if ((key === undefined) === (code === undefined)) {
    throw new InvalidRequestError("The body is not valid.", [
      { field: "key", message: "is required, or code instead of it" },
    ]);
  }
  if (key !== undefined) return sessions.login(key);
  return sessions.redeem(code ?? "");
}

function wrongLogin({ code }: Login): string {
  return code === undefined
    ? "The API key is unknown, expired or revoked."
    : "This link was used already, or is older than five minutes. Print another one with: posthorn ui";
}

function sessionRoute(options: SessionRoutesOptions): Route {
  return defineRoute({
    method: "GET",
    path: "/ui/session",
    operationId: "getSession",
    tag: "Dashboard",
    summary: "Who is logged in to the dashboard?",
    access: "public",
    answers: { 200: { description: "The session of the cookie.", schema: sessionSchema } },
    errors: ["unauthenticated"],
    handle: async ({ headers }) => {
      const found = options.sessions.find(readSessionCookie(headers, options.sessions.cookieId) ?? "");
      if (found === null) throw noSession();
      return sessionAnswer(found, { options, headers });
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
    answers: { 204: { description: "The session ended, and the cookie is gone." } },
    errors: ["forbidden"],
    audit: { none: "it ends what the caller has" },
    handle: async ({ headers }) => {
      if (!isOwnCall({ method: "DELETE", headers })) throw foreignCall();
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
    summary: "Make a link that logs in to the dashboard once",
    description:
      "For five minutes, with the rights of the API key that asks. The link has to lead to the process that answered.",
    access: "any",
    answers: { 201: { description: "The code.", schema: loginCodeSchema } },
    errors: [],
    answerIsSecret: true,
    audit: { action: "dashboard.create_login_code", target: "login_code" },
    handle: async ({ headers }) => {
      const key = bearerToken(headers.authorization);
      if (key === null) throw new PosthornError("forbidden", "A session makes no links; use an API key.");
      const { code, endsAt } = sessions.createCode(key);
      const body = { code, path: loginPath(code), expires_at: formatInstant(endsAt) };
      return { status: 201, headers: noStore, body };
    },
  });
}

/** In the fragment, which no browser sends and no proxy logs. */
export function loginPath(code: string): string {
  return `ui/#c=${code}`;
}

function noSession(): UnauthenticatedError {
  return new UnauthenticatedError({
    detail: "The session ended; log in again.",
    challenge: 'Bearer realm="posthorn"',
  });
}

function sessionAnswer(
  { session, principal }: OpenSession,
  { options, headers }: { readonly options: SessionRoutesOptions; readonly headers: Call["headers"] },
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
