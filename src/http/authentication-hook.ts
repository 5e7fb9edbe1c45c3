import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import {
  authenticate,
  authenticateCustomer,
  authorize,
  type Caller,
  portalToken,
  UnauthenticatedError,
} from "./authentication.ts";
import type { CallLimits } from "./call-limits.ts";
import type { ApiOptions } from "./context.ts";
import type { Route } from "./route.ts";
import { ownHeader, type Session, sessionCookie, type Sessions } from "./sessions.ts";

/** Runs before the body is read, so that callers without a key cannot make the server buffer one. */
export function createAuthenticationHook(
  route: Route,
  parts: Pick<ApiOptions, "services" | "dashboard"> & { readonly callLimits: CallLimits },
) {
  const { services, callLimits, dashboard } = parts;
  const { access, isTest } = route;
  const known = { apiKeys: services.apiKeys, sessions: dashboard?.sessions ?? null };
  return (request: FastifyRequest, { raw: answer }: FastifyReply, done: (error?: Error) => void): void => {
    const refuse = (error: unknown): never => {
      if (error instanceof UnauthenticatedError) {
        callLimits.countUnknown(request.socket.remoteAddress ?? "", answer);
      }
      throw error;
    };
    const admit = ({ principal, session }: Caller): void => {
      if (session !== null) keepSession(session, request, answer, known.sessions);
      callLimits.count(principal, { access, ...(isTest !== undefined && { isTest }), answer });
      authorize(principal, route);
      request.principal = principal;
      request.dashboardSession = session;
    };
    const token = portalToken(request.headers);
    if (token === null) {
      let caller: Caller;
      try {
        caller = authenticate(request.raw as RequestHead, known);
      } catch (error) {
        return refuse(error);
      }
      admit(caller);
      return done();
    }
    answer.setHeader("cache-control", "no-store");
    authenticateCustomer(token, services.portalSessions)
      .catch(refuse)
      .then(admit)
      .then(
        () => done(),
        (error: unknown) => done(error as Error),
      );
  };
}

type RequestHead = IncomingMessage & { readonly method: string };

/** Responses to a session are never cached, and a person's calls extend the session. */
function keepSession(
  session: Session,
  request: FastifyRequest,
  answer: ServerResponse,
  sessions: Sessions | null,
): void {
  answer.setHeader("cache-control", "no-store");
  if (request.headers[ownHeader] === "poll") return;
  const renewed = sessions?.renewed(session) ?? null;
  if (renewed === null || sessions === null) return;
  answer.setHeader("set-cookie", sessionCookie(request.headers, sessions.cookieOf(renewed)));
}
