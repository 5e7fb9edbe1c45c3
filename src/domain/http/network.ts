import { isIPv6 } from "node:net";
import { parseAddress } from "../egress/address-policy.ts";

/**
 * The key for limits per IP address. A provider's customer has a whole /64 of IPv6 addresses and could use a different
 * one for each request. IPv4 addresses count individually, even if a socket reports them in IPv6 form.
 */
export function clientNetwork(address: string): string {
  const plain = address.replace(/%.*$/s, "").toLowerCase();
  const parsed = isIPv6(plain) ? parseAddress(plain) : null;
  if (parsed === null) return plain;
  const { bits, value } = parsed;
  const part = (from: number, size: number): number => Number(BigInt.asUintN(size, value >> BigInt(from)));
  if (bits === 32) return [24, 16, 8, 0].map((from) => part(from, 8)).join(".");
  return `${[112, 96, 80, 64].map((from) => part(from, 16).toString(16)).join(":")}::/64`;
}

/** True for the names and addresses of the local machine. */
export function isLoopbackHost(host: string): boolean {
  return host === "localhost" || host === "::1" || host === "[::1]" || /^127(\.\d{1,3}){3}$/.test(host);
}
