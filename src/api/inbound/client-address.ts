/** The address of a sender: that of the connection, or the one that trusted proxies report in `X-Forwarded-For`. */
import { BlockList, isIPv4, isIPv6 } from "node:net";

export type ClientAddressReader = (peer: string | undefined, rawHeaders: readonly string[]) => string;

const forwardedFor = "x-forwarded-for";
/** Number of addresses read from the end of the header; longer chains of proxies are not trusted. */
const hopsMax = 16;

/**
 * Reads the header from its end, because each proxy appends the address that it saw. The first address that is not a
 * trusted proxy is the sender. Everything before it was written by the sender.
 */
export function clientAddressReader(trustedProxies: readonly string[]): ClientAddressReader {
  const trusted = blocksOf(trustedProxies);
  return (peer, rawHeaders) => {
    let address = plainAddress(peer ?? "");
    if (!isTrusted(trusted, address)) return address;
    const values = rawHeaders.filter(
      (_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === forwardedFor,
    );
    const hops = values.join(",").split(",").slice(-hopsMax);
    for (const hop of hops.toReversed()) {
      const next = plainAddress(hop.trim());
      if (!isIPv4(next) && !isIPv6(next)) return address;
      address = next;
      if (!isTrusted(trusted, address)) return address;
    }
    return address;
  };
}

export function blocksOf(blocks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const block of blocks) {
    const [address = "", prefix] = block.split("/");
    const family = isIPv6(address) ? "ipv6" : "ipv4";
    list.addSubnet(address, Number(prefix ?? (family === "ipv6" ? 128 : 32)), family);
  }
  return list;
}

export function isTrusted(trusted: BlockList, peer: string | undefined): boolean {
  const address = plainAddress(peer ?? "");
  if (isIPv4(address)) return trusted.check(address, "ipv4");
  return isIPv6(address) && trusted.check(address, "ipv6");
}

/** Strips the port, brackets, zone and the IPv4-mapped prefix. */
export function plainAddress(text: string): string {
  const inner = /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  return inner.replace(/^::ffff:(?=\d+\.)/i, "").replace(/%.*$/, "");
}
