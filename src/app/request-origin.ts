import type { Settings } from "../config/options.ts";

/** A reserved name (RFC 2606), for a system without a configured name. */
const unnamed = "posthorn.invalid";

/** The DNS name that Posthorn sends to receivers, in handshakes and deliveries (CEW-4.1.2-1, CEW-4.1.2-2). */
export function requestOriginOf({ origin, publicUrl }: Pick<Settings, "origin" | "publicUrl">): string {
  if (origin !== null) return origin;
  const hostname = publicUrl === null ? "" : new URL(publicUrl).hostname;
  // An IP address is not a name of the system.
  const isName = hostname.includes(".") && /[a-z]$/.test(hostname);
  return isName ? hostname : unnamed;
}
