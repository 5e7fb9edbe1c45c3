/**
 * Which calls come from the dashboard's own pages. A browser adds the cookie of a session to whatever another page makes
 * it send to this server, so a cookie alone changes nothing.
 */
import type { IncomingHttpHeaders } from "node:http";

/** Sent by the dashboard with every call: `poll` for those that no person caused. Other pages cannot add it. */
export const ownHeader = "x-posthorn-ui";

const safeMethods: ReadonlySet<string> = new Set(["GET", "HEAD"]);

/** Whether a call with the cookie of a session may do what it asks. */
export function isOwnCall({
  method,
  headers,
}: {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
}): boolean {
  if (safeMethods.has(method)) return true;
  return headers[ownHeader] !== undefined && comesFrom(headers) === "here";
}

/**
 * Where a page lies that makes a call. Browsers say it with `Sec-Fetch-Site` on https and on this machine, and with `Origin`
 * elsewhere; a proxy may change `Host`, so the former counts first.
 */
export function comesFrom(headers: IncomingHttpHeaders): "here" | "elsewhere" | "unknown" {
  const site = headers["sec-fetch-site"];
  if (site !== undefined) return site === "same-origin" ? "here" : "elsewhere";
  if (headers.origin === undefined) return "unknown";
  return URL.parse(headers.origin)?.host === headers.host ? "here" : "elsewhere";
}
