import { isIPv6 } from "node:net";

/**
 * The key by which per-address limits count. A provider's customer has a whole /64 of IPv6 addresses and could use
 * another one for each request. IPv4 addresses count individually, even if a socket shows them as IPv6.
 */
export function clientNetwork(address: string): string {
  const plain = address.replace(/%.*$/s, "").toLowerCase();
  if (!isIPv6(plain)) return plain;
  const groups = groupsOf(plain);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isMapped)
    return groups
      .slice(6)
      .flatMap((group) => [group >> 8, group & 0xff])
      .join(".");
  const network = groups.slice(0, 4).map((group) => group.toString(16));
  return `${network.join(":")}::/64`;
}

/** All eight groups of an address that `isIPv6` accepts. */
function groupsOf(address: string): readonly number[] {
  const [head = "", tail] = address.split("::");
  const start = numbersOf(head);
  const end = numbersOf(tail ?? "");
  return [...start, ...Array<number>(8 - start.length - end.length).fill(0), ...end];
}

function numbersOf(text: string): readonly number[] {
  if (text === "") return [];
  return text.split(":").flatMap((group) => {
    if (!group.includes(".")) return [Number.parseInt(group, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = group.split(".").map(Number);
    return [a * 256 + b, c * 256 + d];
  });
}

/** True for the names and addresses of this machine. */
export function isLoopbackHost(host: string): boolean {
  return host === "localhost" || host === "::1" || host === "[::1]" || /^127(\.\d{1,3}){3}$/.test(host);
}
