import type { IncomingHttpHeaders } from "node:http";
import { PosthornError } from "../core/errors.ts";
import type { ApiKeyService, Principal } from "../services/services.ts";
import type { ApiKeyRole } from "../ports/store/registry.ts";
import { isOwnCall } from "./dashboard/own-calls.ts";
import { readSessionCookie } from "./dashboard/session-cookie.ts";
import type { Session, Sessions } from "./dashboard/sessions.ts";
import type { Access } from "./route.ts";

/** `publish` only publishes and `read` only reads: a leaked publisher's key shows nobody's events. */
const rolesOf: Readonly<Record<Exclude<Access, "public">, ReadonlySet<ApiKeyRole>>> = {
  any: new Set(["admin", "manage", "publish", "read"]),
  read: new Set(["admin", "manage", "read"]),
  publish: new Set(["admin", "manage", "publish"]),
  manage: new Set(["admin", "manage"]),
  admin: new Set(["admin"]),
};

export function rolesFor(access: Access): readonly ApiKeyRole[] {
  return access === "public" ? [] : [...rolesOf[access]];
}

export class UnauthenticatedError extends PosthornError {
  override readonly name = "UnauthenticatedError";
  /** RFC 6750 3: the error code is only told to those who presented something. */
  readonly challenge: string;
  constructor({ detail, challenge }: { readonly detail: string; readonly challenge: string }) {
    super("unauthenticated", detail);
    this.challenge = challenge;
  }
}

/** Who a call comes from, and with which session of the dashboard if it is no key. */
export interface Caller {
  readonly principal: Principal;
  readonly session: Session | null;
}

/**
 * The holder of the key in an `Authorization` header; without one, that of a session of the dashboard, whose calls have to
 * come from the dashboard if they change anything. Throws UnauthenticatedError, and `forbidden` for a foreign call.
 */
export function authenticate(
  request: { readonly method: string; readonly headers: IncomingHttpHeaders },
  { apiKeys, sessions }: { readonly apiKeys: ApiKeyService; readonly sessions: Sessions | null },
): Caller {
  const { headers } = request;
  const token = headers.authorization === undefined && sessions !== null ? readSessionCookie(headers) : null;
  const found = token === null ? null : (sessions?.find(token) ?? null);
  if (found !== null) {
    if (!isOwnCall(request)) throw foreignCall();
    return found;
  }
  return { principal: holderOfKey(headers.authorization, apiKeys), session: null };
}

export function foreignCall(): PosthornError {
  return new PosthornError(
    "forbidden",
    "With a session, calls that change something come from the dashboard alone; use an API key.",
  );
}

function holderOfKey(header: string | undefined, apiKeys: ApiKeyService): Principal {
  const presented = bearerToken(header);
  if (presented === null) {
    throw new UnauthenticatedError({
      detail: 'Send "Authorization: Bearer KEY" with an API key.',
      challenge: 'Bearer realm="posthorn"',
    });
  }
  const principal = apiKeys.authenticate(presented);
  if (principal === null) {
    throw new UnauthenticatedError({
      detail: "The API key is unknown, expired or revoked.",
      challenge: 'Bearer realm="posthorn", error="invalid_token"',
    });
  }
  return principal;
}

/** Throws `forbidden` for a key whose role is not enough. */
export function authorize({ role }: Principal, access: Exclude<Access, "public">): void {
  const roles = rolesOf[access];
  if (roles.has(role)) return;
  const wanted = [...roles].join(" or ");
  throw new PosthornError("forbidden", `A key with the role "${role}" cannot do this; it takes ${wanted}.`);
}

const keyLengthMax = 512;

/** The key in an `Authorization` header, or null. */
export function bearerToken(header: string | undefined): string | null {
  if (header === undefined || header.length > keyLengthMax) return null;
  if (header.startsWith("Bearer ")) return header.slice(7).trim() || null;
  const match = /^bearer +(\S+)\s*$/i.exec(header);
  return match?.[1] ?? null;
}
