import type { Relayed } from "./relayed.ts";

/** Records the deployments that a message has passed, to detect forwarding loops. */
export const hopHeader = "Posthorn-Hop";
const hopsMax = 8;

type Hops = { readonly kind: "next"; readonly value: string } | { readonly kind: "loop" };

/** `received` is the untrusted header; entries that are not in our format are dropped. */
export function nextHops(received: string | null, self: string): Hops {
  const before = (received ?? "")
    .split(";")
    .map((one) => one.trim())
    .filter((one) => /^[0-9a-f]{12}$/.test(one));
  if (before.includes(self) || before.length >= hopsMax) return { kind: "loop" };
  return { kind: "next", value: [...before, self].join(";") };
}

// Which headers of a sender reach the webhook: the configured ones, but never hop-by-hop or credential headers.

const never =
  /^(authorization|cookie|proxy-.*|connection|keep-alive|te|trailer|transfer-encoding|upgrade|host|content-length|forwarded|x-forwarded-.*|webhook-request-.*|webhook-signature|webhook-timestamp|webhook-id|x-webhook-signature|idempotency-key|x-idempotency-key|posthorn-.*|expect|set-cookie|www-authenticate)$/i;

export function isForwardable(name: string): boolean {
  return !never.test(name);
}

interface HeaderReader {
  get(name: string): string | null;
}

/** Reads headers that may be forwarded: those listed in `Connection` belong to the hop (RFC 9110, 7.6.1). */
export function endToEndReader(headers: HeaderReader): (name: string) => string | null {
  const connection = headers.get("connection");
  if (connection === null) return (name) => headers.get(name);
  const perHop = new Set(connection.split(",").map((name) => name.trim().toLowerCase()));
  return (name) => (perHop.has(name.toLowerCase()) ? null : headers.get(name));
}

const endToEnd = ["Signature", "Signature-Input", "Content-Digest"];

interface Handing {
  readonly get: (name: string) => string | null;
  /** Result of `handedOn`. */
  readonly names: readonly string[];
  readonly sourceName: string;
  readonly receivedAt: number;
  readonly hops: string;
}

/** Names of the headers that a source forwards; `names` are added to the default ones. */
export function handedOn(names: readonly string[], passSignatures: boolean): readonly string[] {
  const wanted = new Map<string, string>();
  for (const name of ["Content-Encoding", ...names, ...(passSignatures ? endToEnd : [])])
    if (!wanted.has(name.toLowerCase())) wanted.set(name.toLowerCase(), name);
  return [...wanted.values()].filter(isForwardable);
}

/** Flat name-value list. */
export function forwardedHeaders(from: Handing): Relayed["headers"] {
  const { get, names } = from;
  const headers: string[] = [];
  for (const name of names) {
    const value = get(name);
    if (value !== null && isSendable(value)) headers.push(name, value);
  }
  const agent = get("user-agent");
  if (agent !== null && isSendable(agent)) headers.push("X-Forwarded-User-Agent", agent);
  headers.push("Posthorn-Source", asText(from.sourceName));
  headers.push("Posthorn-Received-At", new Date(from.receivedAt).toISOString());
  headers.push(hopHeader, from.hops);
  return headers;
}

/** Accepted in a header by every client and server. */
function isSendable(value: string): boolean {
  return /^[\x20-\x7e\t]{0,4096}$/.test(value);
}

/** Source names may contain any character; header values are ASCII. */
function asText(name: string): string {
  return /^[\x20-\x7e]+$/.test(name) ? name : encodeURIComponent(name);
}
