import type { IncomingHttpHeaders } from "node:http";
import type { ApiOptions } from "../context.ts";

/** Where callers reach this server, without a slash at its end: as the settings say, else as this call did. */
export function serverAddress(
  { portal, basePath = "" }: Pick<ApiOptions, "portal" | "basePath">,
  headers: IncomingHttpHeaders,
): string {
  if (typeof portal?.publicUrl === "string") return portal.publicUrl;
  const isSecure = headers["x-forwarded-proto"] === "https";
  return `${isSecure ? "https" : "http"}://${headers.host ?? "localhost"}${basePath}`;
}
