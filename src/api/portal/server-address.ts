import type { IncomingHttpHeaders } from "node:http";
import type { ApiOptions } from "../context.ts";

/** Where callers reach this server, without a slash at its end: as the settings say, else as this call did. */
export function serverAddress(
  { portal, basePath = "" }: Pick<ApiOptions, "portal" | "basePath">,
  headers: IncomingHttpHeaders,
): string {
  if (typeof portal?.publicUrl === "string") return portal.publicUrl;
  // Each proxy on the way adds its own; the first one is what the browser used.
  const forwarded = String(headers["x-forwarded-proto"] ?? "").split(",", 1)[0];
  const isSecure = forwarded?.trim().toLowerCase() === "https";
  return `${isSecure ? "https" : "http"}://${headers.host ?? "localhost"}${basePath}`;
}
