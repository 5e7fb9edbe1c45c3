/** The cookie that holds a session of the dashboard. */
import type { IncomingHttpHeaders } from "node:http";
import { isLoopbackHost } from "../../core/http/loopback-host.ts";

/** Browsers take a cookie with this beginning over https only, for the whole host, and from no neighbouring one. */
const secureName = "__Host-posthorn";
/** Browsers take no cookie marked as secure over http, which is fine on this machine alone. */
const loopbackName = "posthorn";
const headerLengthMax = 16_384;

/** The token in the cookie of a request, or null. */
export function readSessionCookie(headers: IncomingHttpHeaders): string | null {
  const { cookie } = headers;
  if (cookie === undefined || cookie.length > headerLengthMax) return null;
  const cookies = new Map(cookie.split(";").map((pair) => splitOnce(pair.trim())));
  return cookies.get(secureName) ?? (isOnLoopback(headers) ? cookies.get(loopbackName) : undefined) ?? null;
}

/** `Set-Cookie` for a token; an empty one removes the cookie. */
export function sessionCookie(
  headers: IncomingHttpHeaders,
  { token, seconds }: { readonly token: string; readonly seconds: number },
): string {
  const isPlain = isOnLoopback(headers) && !isSecure(headers);
  const [name, secure] = isPlain ? [loopbackName, ""] : [secureName, "; Secure"];
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
