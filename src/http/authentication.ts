import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { PosthornError } from "../domain/errors.ts";
import { portalTokenPrefix } from "../features/portal/portal-sessions.ts";
import type { ApiKeyService, PortalSessionService, Principal } from "../features/services.ts";
import type { CallLimits } from "./call-limits.ts";
import type { ApiOptions } from "./context.ts";
import type { Access, Route } from "./route.ts";
import {
  isOwnCall,
  ownHeader,
  readSessionCookie,
  type Session,
  type Sessions,
  sessionCookie,
} from "./sessions.ts";

/** `publish` keys cannot read, and `read` keys cannot write: a leaked publisher key reveals no events. */
const rolesOf: Readonly<Record<Exclude<Access, "public">, ReadonlySet<Principal["role"]>>> = {
  any: new Set(["admin", "manage", "publish", "read"]),
  read: new Set(["admin", "manage", "read"]),
  publish: new Set(["admin", "manage", "publish"]),
  manage: new Set(["admin", "manage"]),
  admin: new Set(["admin"]),
  session: new Set(["session"]),
};

export function rolesFor(access: Access): readonly Principal["role"][] {
  return access === "public" ? [] : [...rolesOf[access]];
}

export class UnauthenticatedError extends PosthornError {
  override readonly name = "UnauthenticatedError";
  /** RFC 6750, section 3: the error code is sent only if the caller presented credentials. */
  readonly challenge: string;
  constructor(detail: string, challenge: string) {
    super("unauthenticated", detail);
    this.challenge = challenge;
  }
}

/** The principal of a call, and its dashboard session if it was not made with a key. */
export interface Caller {
  readonly principal: Principal;
  readonly session: Session | null;
}

/**
 * Authenticates by the key in the `Authorization` header or, without one, by the dashboard session. Session calls that
 * change something must come from the dashboard. Throws UnauthenticatedError, or `forbidden` for a cross-site call.
 */
export function authenticate(
  request: { readonly method: string; readonly headers: IncomingHttpHeaders },
  { apiKeys, sessions }: { readonly apiKeys: ApiKeyService; readonly sessions: Sessions | null },
): Caller {
  const { headers } = request;
  const token =
    headers.authorization === undefined && sessions !== null
      ? readSessionCookie(headers, sessions.cookieId)
      : null;
  const found = token === null ? null : (sessions?.find(token) ?? null);
  if (found !== null) {
    if (!isOwnCall(request.method, request.headers)) throw foreignCall();
    return found;
  }
  return { principal: holderOfKey(headers.authorization, apiKeys), session: null };
}

/** The portal session token in an `Authorization` header, or null. */
export function portalToken(headers: IncomingHttpHeaders): string | null {
  const presented = bearerToken(headers.authorization);
  return presented?.startsWith(portalTokenPrefix) === true ? presented : null;
}

/** The customer with this token. Rejects with UnauthenticatedError. */
export async function authenticateCustomer(
  token: string,
  portalSessions: Pick<PortalSessionService, "holderOf">,
): Promise<Caller> {
  const principal = await portalSessions.holderOf(token);
  if (principal !== null) return { principal, session: null };
  throw new UnauthenticatedError(
    "The portal session is unknown, expired or revoked.",
    'Bearer realm="posthorn", error="invalid_token"',
  );
}

export function foreignCall(): PosthornError {
  return new PosthornError(
    "forbidden",
    "With a session, only the dashboard can make calls that change something. Use an API key.",
  );
}

function holderOfKey(header: string | undefined, apiKeys: ApiKeyService): Principal {
  const presented = bearerToken(header);
  if (presented === null) {
    throw new UnauthenticatedError(
      'Send "Authorization: Bearer KEY" with an API key.',
      'Bearer realm="posthorn"',
    );
  }
  const principal = apiKeys.authenticate(presented);
  if (principal === null) {
    throw new UnauthenticatedError(
      "The API key is unknown, expired or revoked.",
      'Bearer realm="posthorn", error="invalid_token"',
    );
  }
  return principal;
}

/** Throws `forbidden` if the role of the key or the capabilities of the session do not suffice. */
export function authorize(principal: Principal, route: Pick<Route, "access" | "capability">): void {
  const { access, capability } = route;
  const { role, portal } = principal;
  if (access === "public") return;
  if (portal !== undefined && access !== "session") {
    if (capability === "any") return;
    if (capability === undefined) throw new PosthornError("forbidden", "A portal session cannot do this.");
    if (portal.capabilities.has(capability)) return;
    throw new PosthornError("forbidden", `This portal session lacks the capability "${capability}".`);
  }
  const roles = rolesOf[access];
  if (roles.has(role)) return;
  if (access === "session") throw new PosthornError("forbidden", "Only portal sessions can call this.");
  const wanted = [...roles].join(" or ");
  throw new PosthornError(
    "forbidden",
    `A key with the role "${role}" cannot do this; it requires ${wanted}.`,
  );
}

const keyLengthMax = 512;

/** The key in an `Authorization` header, or null. */
export function bearerToken(header: string | undefined): string | null {
  if (header === undefined || header.length > keyLengthMax) return null;
  if (header.startsWith("Bearer ")) return header.slice(7).trim() || null;
  const match = /^bearer +(\S+)\s*$/i.exec(header);
  return match?.[1] ?? null;
}

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
