import { createHash, X509Certificate } from "node:crypto";
import { BlockList, isIPv4, isIPv6 } from "node:net";
import type { ClientCertificateSeen } from "../domain/http/client-certificate.ts";

/** The address of a sender: that of the connection, or the one that trusted proxies report in `X-Forwarded-For`. */

type ClientAddressReader = (peer: string | undefined, rawHeaders: readonly string[]) => string;

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

function blocksOf(blocks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const block of blocks) {
    const [address = "", prefix] = block.split("/");
    const family = isIPv6(address) ? "ipv6" : "ipv4";
    list.addSubnet(address, Number(prefix ?? (family === "ipv6" ? 128 : 32)), family);
  }
  return list;
}

function isTrusted(trusted: BlockList, peer: string | undefined): boolean {
  const address = plainAddress(peer ?? "");
  if (isIPv4(address)) return trusted.check(address, "ipv4");
  return isIPv6(address) && trusted.check(address, "ipv6");
}

/** Strips the port, brackets, zone and the IPv4-mapped prefix. */
export function plainAddress(text: string): string {
  const inner = /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  return inner.replace(/^::ffff:(?=\d+\.)/i, "").replace(/%.*$/, "");
}

// The client certificate of a sender, as reported by the TLS-terminating proxy.

/** The header with the certificate, and the proxies that may set it. */
export interface ClientCertificateSource {
  readonly header: string;
  /** CIDR blocks of the proxies. */
  readonly trustedProxies: readonly string[];
}

/** Null if no trusted proxy reported a certificate. */
type ClientCertificateReader = (
  peer: string | undefined,
  rawHeaders: readonly string[],
) => ClientCertificateSeen | null;

const valueLengthMax = 16_384;

/** The header is ignored if it does not come from a trusted proxy, because a sender could have written it. */
export function clientCertificateReader(source: ClientCertificateSource): ClientCertificateReader {
  const header = source.header.toLowerCase();
  const trusted = blocksOf(source.trustedProxies);
  return (peer, rawHeaders) => {
    if (!isTrusted(trusted, peer)) return null;
    const values = rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === header);
    const [value] = values;
    // With two values, one could be the sender's own that the proxy did not remove.
    if (value === undefined || values.length > 1 || value.length > valueLengthMax) return null;
    return readCertificate(value.trim());
  };
}

/**
 * Accepts RFC 9440 (`:base64:`), URL-encoded PEM (nginx `$ssl_client_escaped_cert`, Apache), bare base64 (Traefik), and
 * Envoy's `X-Forwarded-Client-Cert` with `Hash` or `Cert` and a single hop. Null for everything else.
 */
export function readCertificate(value: string): ClientCertificateSeen | null {
  if (/^(By|Hash|Cert|Chain|Subject|URI|DNS)=/i.test(value)) return fromElement(value);
  const text = value.includes("%") ? decoded(value) : value;
  if (text === null) return null;
  const pem = /-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----/.exec(text)?.[1];
  const base64 = pem ?? /^:([A-Za-z0-9+/=]+):$/.exec(text)?.[1] ?? /^([A-Za-z0-9+/=]+)(,|$)/.exec(text)?.[1];
  return base64 === undefined ? null : fromDer(Buffer.from(base64, "base64"));
}

/** A name and value, optionally quoted. Values from the certificate subject are quoted and cannot break out. */
const member = /([A-Za-z]+)=("(?:[^"\\]|\\.)*"|[^;,"=]*)/;
const oneElement = new RegExp(`^${member.source}(?:;${member.source})*$`);

/** `By=…;Hash=…;Cert="…"`. With several elements or a repeated hash, the proxy's own value cannot be identified. */
function fromElement(value: string): ClientCertificateSeen | null {
  if (!oneElement.test(value)) return null;
  const pairs = [...value.matchAll(new RegExp(member, "g"))];
  const members = new Map(
    pairs.map(([, name = "", text = ""]) => [name.toLowerCase(), text.replaceAll('"', "")]),
  );
  const certificate = members.get("cert");
  const named = pairs.map(([, name = ""]) => name.toLowerCase());
  if (["hash", "cert"].some((name) => named.indexOf(name) !== named.lastIndexOf(name))) return null;
  if (certificate !== undefined) return /^[A-Za-z]+=/.test(certificate) ? null : readCertificate(certificate);
  const hash = members.get("hash")?.toLowerCase() ?? "";
  if (!/^[0-9a-f]{64}$/.test(hash)) return null;
  return { certificateSha256: hash, publicKeySha256: null, validSeconds: null };
}

function fromDer(der: Buffer): ClientCertificateSeen | null {
  try {
    const certificate = new X509Certificate(der);
    const key = certificate.publicKey.export({ type: "spki", format: "der" });
    const validSeconds = { from: seconds(certificate.validFrom), to: seconds(certificate.validTo) };
    return { certificateSha256: sha256(certificate.raw), publicKeySha256: sha256(key), validSeconds };
  } catch {
    return null;
  }
}

function seconds(time: string): number {
  return Math.floor(Date.parse(time) / 1_000);
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function decoded(value: string): string | null {
  try {
    return decodeURIComponent(value);
  } catch {
    return null;
  }
}
