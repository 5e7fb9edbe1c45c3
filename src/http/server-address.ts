import type { IncomingHttpHeaders } from "node:http";
import type { ApiOptions } from "./context.ts";

/** Public address of this server without a trailing slash, taken from the settings or from this request. */
export function serverAddress(
  { portal, basePath = "" }: Pick<ApiOptions, "portal" | "basePath">,
  headers: IncomingHttpHeaders,
): string {
  if (typeof portal?.publicUrl === "string") return portal.publicUrl;
  // Each proxy appends its own value; the first one is the scheme that the browser used.
  const forwarded = String(headers["x-forwarded-proto"] ?? "").split(",", 1)[0];
  const isSecure = forwarded?.trim().toLowerCase() === "https";
  return `${isSecure ? "https" : "http"}://${headers.host ?? "localhost"}${basePath}`;
}
