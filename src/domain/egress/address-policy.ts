import { isIPv4, isIPv6 } from "node:net";

/**
 * Which IP addresses a delivery may connect to (TS16-124, EDS-11.7-3, WDS-168).
 *
 * An address is either public or belongs to a named class that is refused. IPv6 addresses that carry an IPv4 address
 * are the usual way around such tables. The mapped form is judged as the IPv4 address that the system would connect to.
 * Every other form (NAT64, 6to4, Teredo, ISATAP, compatible, translated) is always refused, because its destination
 * depends on a gateway outside our control. An IPv6 address that no table contains is public only inside 2000::/3, the
 * one block that IANA assigns.
 *
 * The tables follow the IANA special-purpose registries, plus one address that is only nominally public: Azure's
 * virtual host (168.63.129.16).
 */

/** `malformed` means that the text is not an IP address, or that it has a zone where zones are not valid. */
export type AddressClass = "public" | NonPublicAddressClass;

/** Stable codes, shown to webhook owners. */
type NonPublicAddressClass =
  | "private"
  | "loopback"
  | "link_local"
  | "cgnat"
  | "multicast"
  | "reserved"
  | "documentation"
  | "benchmarking"
  | "unspecified"
  | "broadcast"
  | "ietf_protocol"
  | "as112"
  | "amt"
  | "cloud_metadata"
  | "unique_local"
  | "site_local"
  | "discard"
  | "nat64"
  | "6to4"
  | "teredo"
  | "isatap"
  | "ipv4_compatible"
  | "ipv4_translated"
  | "orchid"
  | "segment_routing"
  | "malformed";

/** First match wins: narrower blocks come before the blocks that contain them. */
const ipv4Classes = blocks([
  ["255.255.255.255/32", "broadcast"],
  ["168.63.129.16/32", "cloud_metadata"],
  ["0.0.0.0/8", "unspecified"],
  ["10.0.0.0/8", "private"],
  ["100.64.0.0/10", "cgnat"],
  ["127.0.0.0/8", "loopback"],
  ["169.254.0.0/16", "link_local"],
  ["172.16.0.0/12", "private"],
  ["192.0.0.0/24", "ietf_protocol"],
  ["192.0.2.0/24", "documentation"],
  ["192.31.196.0/24", "as112"],
  ["192.52.193.0/24", "amt"],
  ["192.88.99.0/24", "6to4"],
  ["192.168.0.0/16", "private"],
  ["192.175.48.0/24", "as112"],
  ["198.18.0.0/15", "benchmarking"],
  ["198.51.100.0/24", "documentation"],
  ["203.0.113.0/24", "documentation"],
  ["224.0.0.0/4", "multicast"],
  ["240.0.0.0/4", "reserved"],
]);

const ipv6Classes = blocks([
  ["::/128", "unspecified"],
  ["::1/128", "loopback"],
  ["::/96", "ipv4_compatible"],
  ["::ffff:0:0:0/96", "ipv4_translated"],
  ["64:ff9b::/96", "nat64"],
  ["64:ff9b:1::/48", "nat64"],
  ["100::/64", "discard"],
  ["100:0:0:1::/64", "discard"],
  ["2001::/32", "teredo"],
  ["2001:2::/48", "benchmarking"],
  ["2001:3::/32", "amt"],
  ["2001:4:112::/48", "as112"],
  ["2001:10::/28", "orchid"],
  ["2001:20::/28", "orchid"],
  ["2001:30::/28", "orchid"],
  ["2001:db8::/32", "documentation"],
  ["2001::/23", "ietf_protocol"],
  ["2002::/16", "6to4"],
  ["2620:4f:8000::/48", "as112"],
  ["3ffe::/16", "reserved"],
  ["3fff::/20", "documentation"],
  ["5f00::/16", "segment_routing"],
  ["fc00::/7", "unique_local"],
  ["fe80::/10", "link_local"],
  ["fec0::/10", "site_local"],
  ["ff00::/8", "multicast"],
]);

const ipv6GlobalUnicast = parseCidr("2000::/3");

/** An IP address as a number. Mapped IPv6 addresses are converted to IPv4. */
interface IpAddress {
  readonly bits: 32 | 128;
  readonly value: bigint;
}

interface Block extends IpAddress {
  readonly prefixBits: number;
}

interface ClassBlock extends Block {
  readonly addressClass: NonPublicAddressClass;
}

/** An entry of the allow-list is not a CIDR block. Thrown at startup, so the message contains the entry. */
export class InvalidCidrError extends Error {
  override readonly name = "InvalidCidrError";
  readonly code = "invalid_cidr";
  readonly cidr: string;

  constructor(cidr: string, problem: string) {
    super(`"${cidr}" is not a CIDR block: ${problem}`);
    this.cidr = cidr;
  }
}

export type AddressJudgement =
  | { readonly allowed: true }
  | {
      readonly allowed: false;
      readonly addressClass: NonPublicAddressClass;
      /** A human-readable sentence, without the address. */
      readonly reason: string;
    };

export interface AddressPolicy {
  /** Development mode: URLs may also use names of the local machine. */
  readonly allowLoopback: boolean;
  /** Judges an address in text form; anything that is not an IP address is refused as `malformed`. */
  judge(address: string): AddressJudgement;
}

/**
 * A policy that allows public addresses, everything in `allow` (CIDR blocks or single addresses, which override every
 * class), and loopback if requested. IPv6 blocks do not cover mapped IPv4 addresses: allow those as IPv4. Throws {@link
 * InvalidCidrError}.
 */
export function createAddressPolicy(allow: readonly string[], allowLoopback: boolean): AddressPolicy {
  const allowed = allow.map(parseCidr);
  return {
    allowLoopback,
    judge: (address) => {
      const addressClass = classifyAddress(address);
      if (addressClass === "public") return { allowed: true };
      if (addressClass === "loopback" && allowLoopback) return { allowed: true };
      const ip = parseAddress(address);
      if (ip !== null && allowed.some((block) => contains(block, ip))) return { allowed: true };
      return { allowed: false, addressClass, reason: describeRefusal(addressClass) };
    },
  };
}

/** The class of an IPv4 or IPv6 address in text form. Only the canonical dotted quad counts as IPv4. */
export function classifyAddress(address: string): AddressClass {
  const zoneAt = address.indexOf("%");
  if (zoneAt >= 0) {
    // A zone names a network interface of this machine; only link-local addresses need one.
    const withoutZone = classifyAddress(address.slice(0, zoneAt));
    return withoutZone === "link_local" && isIPv6(address) ? "link_local" : "malformed";
  }
  const ip = parseAddress(address);
  if (ip === null) return "malformed";
  return ip.bits === 32 ? classifyIpv4(ip) : classifyIpv6(ip);
}

function classifyIpv4(ip: IpAddress): AddressClass {
  return ipv4Classes.find((block) => contains(block, ip))?.addressClass ?? "public";
}

function classifyIpv6(ip: IpAddress): AddressClass {
  const named = ipv6Classes.find((block) => contains(block, ip));
  if (named !== undefined) return named.addressClass;
  if (!contains(ipv6GlobalUnicast, ip)) return "reserved";
  return isIsatap(ip) ? "isatap" : "public";
}

/** RFC 5214: the interface identifier is 0000:5efe or 0200:5efe, then an IPv4 address, under any prefix. */
function isIsatap(ip: IpAddress): boolean {
  const marker = (ip.value >> 32n) & 0xffff_ffffn;
  return marker === 0x0000_5efen || marker === 0x0200_5efen;
}

function describeRefusal(addressClass: NonPublicAddressClass): string {
  if (addressClass === "malformed") return "not an IP address that can be connected to";
  return `not a public internet address (${addressClass})`;
}

function contains(block: Block, ip: IpAddress): boolean {
  if (block.bits !== ip.bits) return false;
  const hostBits = BigInt(block.bits - block.prefixBits);
  return ip.value >> hostBits === block.value >> hostBits;
}

function blocks(rows: readonly (readonly [string, NonPublicAddressClass])[]): ClassBlock[] {
  return rows.map(([cidr, addressClass]) => ({ ...parseCidr(cidr), addressClass }));
}

/** A block such as `10.0.0.0/8`; a single address is a block of size one. Throws {@link InvalidCidrError}. */
function parseCidr(cidr: string): Block {
  const match = /^([0-9a-fA-F:.]+)(?:\/(0|[1-9]\d{0,2}))?$/.exec(cidr);
  if (match === null) throw new InvalidCidrError(cidr, "expected address/prefix");
  const [, address = "", prefix] = match;
  const ip = parseAddress(address);
  if (ip === null) throw new InvalidCidrError(cidr, "not an IP address");
  const prefixBits = prefixBitsOf(prefix, address, ip);
  if (prefixBits < 0 || prefixBits > ip.bits) {
    throw new InvalidCidrError(cidr, "the prefix length does not fit the address");
  }
  // Silently widening 10.0.0.1/8 to 10.0.0.0/8 would allow more than intended.
  const hostBits = BigInt(ip.bits - prefixBits);
  if ((ip.value >> hostBits) << hostBits !== ip.value) {
    throw new InvalidCidrError(cidr, "bits are set after the prefix");
  }
  return { ...ip, prefixBits };
}

/** The prefix length of a mapped block such as ::ffff:10.0.0.0/104 counts the bits of the IPv6 form. */
function prefixBitsOf(prefix: string | undefined, address: string, ip: IpAddress): number {
  if (prefix === undefined) return ip.bits;
  const isMapped = ip.bits === 32 && address.includes(":");
  return Number(prefix) - (isMapped ? 96 : 0);
}

export function parseAddress(text: string): IpAddress | null {
  if (isIPv4(text)) return { bits: 32, value: ipv4Value(text) };
  if (!isIPv6(text) || text.includes("%")) return null;
  const value = ipv6Value(text);
  if (value >> 32n === 0xffffn) return { bits: 32, value: value & 0xffff_ffffn };
  return { bits: 128, value };
}

function ipv4Value(text: string): bigint {
  return text.split(".").reduce((value, part) => (value << 8n) | BigInt(part), 0n);
}

/** Expects a valid IPv6 address. */
function ipv6Value(text: string): bigint {
  const [head = "", tail] = text.split("::");
  const before = hextets(head);
  const after = hextets(tail ?? "");
  const zeros = new Array<bigint>(8 - before.length - after.length).fill(0n);
  return [...before, ...zeros, ...after].reduce((value, hextet) => (value << 16n) | hextet, 0n);
}

function hextets(part: string): bigint[] {
  if (part === "") return [];
  return part.split(":").flatMap((group) => {
    if (!group.includes(".")) return [BigInt(`0x${group}`)];
    const embedded = ipv4Value(group);
    return [embedded >> 16n, embedded & 0xffffn];
  });
}

/**
 * A message about a connection, with `***` in place of non-public addresses. Tenants must not learn which internal
 * addresses a name resolves to. An address that the URL itself contains is already known to them.
 *
 * @param host of the URL, in the form of `URL.hostname`.
 */
export function withoutInnerAddresses(text: string, host: string): string {
  const own = host.replaceAll(/^\[|\]$/g, "").toLowerCase();
  return text.replaceAll(addressLike, (found) => {
    const address = addressIn(found);
    if (address === null || address.toLowerCase() === own) return found;
    const addressClass = classifyAddress(address);
    const isKnown = addressClass === "public" || (addressClass === "loopback" && isLocalName(own));
    return isKnown ? found : found.replace(address, "***");
  });
}

function isLocalName(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost");
}

/**
 * Node appends the port to an IPv6 address without brackets, so the port looks like one more group, possibly a ninth.
 */
function addressIn(found: string): string | null {
  if (!found.includes(":")) return found;
  const withoutZone = found.replace(/%.*$/, "");
  if (isIPv6(withoutZone)) return withoutZone;
  const withoutPort = withoutZone.replace(/:\d+$/, "");
  return isIPv6(withoutPort) ? withoutPort : null;
}

const addressLike =
  /(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,9}(?:\.\d{1,3}){0,3}(?:%\w+)?)(?![\w.])/gi;
