import type { Settings } from "../config/options.ts";

/** A name that can belong to nobody (RFC 2606), for a system that was given none. */
const unnamed = "posthorn.invalid";

/** The DNS name that receivers are told, in handshakes as in deliveries (CEW-4.1.2-1, CEW-4.1.2-2). */
export function requestOriginOf({ origin, publicUrl }: Pick<Settings, "origin" | "publicUrl">): string {
  if (origin !== null) return origin;
  const hostname = publicUrl === null ? "" : new URL(publicUrl).hostname;
  // An address is a host and not a name of the system.
  const isName = hostname.includes(".") && /[a-z]$/.test(hostname);
  return isName ? hostname : unnamed;
}
