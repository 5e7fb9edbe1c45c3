/**
 * Detects calls from the dashboard's own pages. A browser attaches the session cookie to requests that other sites
 * cause, so the cookie alone does not authorise changes.
 */
import type { IncomingHttpHeaders } from "node:http";

/** Sent by the dashboard with every call; `poll` marks calls that no person triggered. Other sites cannot add it. */
export const ownHeader = "x-posthorn-ui";

const safeMethods: ReadonlySet<string> = new Set(["GET", "HEAD"]);

/** Whether a call with a session cookie is allowed. */
export function isOwnCall(method: string, headers: IncomingHttpHeaders): boolean {
  if (safeMethods.has(method)) return true;
  return headers[ownHeader] !== undefined && comesFrom(headers) === "here";
}

/**
 * Origin of the page that makes a call. Browsers send `Sec-Fetch-Site` over https and on localhost, and `Origin`
 * elsewhere. A proxy may change `Host`, so `Sec-Fetch-Site` takes precedence.
 */
export function comesFrom(headers: IncomingHttpHeaders): "here" | "elsewhere" | "unknown" {
  const site = headers["sec-fetch-site"];
  if (site !== undefined) return site === "same-origin" ? "here" : "elsewhere";
  if (headers.origin === undefined) return "unknown";
  return URL.parse(headers.origin)?.host === headers.host ? "here" : "elsewhere";
}
