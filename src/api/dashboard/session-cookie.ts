/** The cookie of a dashboard session. */
import type { IncomingHttpHeaders } from "node:http";
import { isLoopbackHost } from "../../core/http/loopback-host.ts";

/**
 * Cookies ignore ports and, with this prefix, paths, so two deployments on one host would overwrite each other's
 * cookie. The name therefore ends with the id of the deployment. Browsers accept the prefix `__Host-` only over https
 * and only from the host itself. Over http, which is allowed on this machine, they refuse cookies with the `Secure`
 * attribute.
 */
const secureName = (id: string): string => `__Host-posthorn-${id}`;
const loopbackName = (id: string): string => `posthorn-${id}`;
const headerLengthMax = 16_384;

/** The session token in the cookies of a request, or null. `id` is the deployment's `Sessions.cookieId`. */
export function readSessionCookie(headers: IncomingHttpHeaders, id: string): string | null {
  const { cookie } = headers;
  if (cookie === undefined || cookie.length > headerLengthMax) return null;
  const cookies = new Map(cookie.split(";").map((pair) => splitOnce(pair.trim())));
  return (
    cookies.get(secureName(id)) ?? (isOnLoopback(headers) ? cookies.get(loopbackName(id)) : undefined) ?? null
  );
}

export interface SessionCookie {
  /** Id of the deployment. */
  readonly id: string;
  readonly token: string;
  readonly seconds: number;
}

/** `Set-Cookie` for a token; an empty token removes the cookie. */
export function sessionCookie(headers: IncomingHttpHeaders, { id, token, seconds }: SessionCookie): string {
  const isPlain = isOnLoopback(headers) && !isSecure(headers);
  const [name, secure] = isPlain ? [loopbackName(id), ""] : [secureName(id), "; Secure"];
  return `${name}=${token}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${seconds}${secure}`;
}

/** Whether a browser would drop the cookie: http to another machine. */
export function losesCookie(headers: IncomingHttpHeaders): boolean {
  return !isOnLoopback(headers) && headers.origin?.startsWith("http:") === true;
}

function isOnLoopback({ host }: IncomingHttpHeaders): boolean {
  return isLoopbackHost(URL.parse(`http://${host ?? ""}`)?.hostname ?? "");
}

function isSecure({ origin }: IncomingHttpHeaders): boolean {
  return origin?.startsWith("https:") === true;
}

function splitOnce(pair: string): [string, string] {
  const at = pair.indexOf("=");
  return at < 0 ? [pair, ""] : [pair.slice(0, at), pair.slice(at + 1)];
}
