import { PosthornError } from "../core/errors.ts";
import type { ApiKeyService, Principal } from "../engine/services.ts";
import type { ApiKeyRole } from "../ports/store/registry.ts";
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

/** The holder of the key in an `Authorization` header. Throws UnauthenticatedError. */
export function authenticate(header: string | undefined, apiKeys: ApiKeyService): Principal {
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

function bearerToken(header: string | undefined): string | null {
  if (header === undefined || header.length > keyLengthMax) return null;
  if (header.startsWith("Bearer ")) return header.slice(7).trim() || null;
  const match = /^bearer +(\S+)\s*$/i.exec(header);
  return match?.[1] ?? null;
}
