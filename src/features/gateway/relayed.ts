/** Outcomes of a request that the gateway received. */
export const gatewayOutcomes = [
  /** Stored, or accepted by the destination. */
  "accepted",
  /** Already received; gets the same response as the first request. */
  "duplicate",
  /** Refused because of its content: authentication failed, the key is unusable, or the message is too large. */
  "rejected",
  /** Authentic, but no connection accepted the message. */
  "ignored",
  /** A provider's check of the address was answered. */
  "challenge",
  /** The destination or the store was temporarily unable to accept it. */
  "failed",
] as const;
/** How long the log keeps an entry, and the body of a request that may be retried. A bookmark keeps both longer. */
export const receivedMs = 7 * 86_400_000;
export const receivedBodiesMs = 86_400_000;
/** Maximum number of latest requests that a list summarises per source. */
export const recentRequestsMax = 100;

export type GatewayOutcome = (typeof gatewayOutcomes)[number];

/** The part of a request that is kept with the event it became. Every attempt forwards it unchanged. */
export interface Relayed {
  /** The value of `Idempotency-Key`, byte for byte (EDS-9.7-1); null if there was none. */
  readonly key: string | null;
  /** The verified `Webhook-ID`; null if there was none. */
  readonly webhookId: string | null;
  /** Text appended to the path of the webhook, including the query; null if nothing is appended. */
  readonly path: string | null;
  /** Flat name-value list of other forwarded headers. */
  readonly headers: readonly string[];
  /** Delays between attempts, keyed by webhook id, for connections that define their own delays. */
  readonly retryDelaysMs?: Readonly<Record<string, readonly number[]>>;
}

/** Prefix of the deduplication keys of a source's events. Lookups of these events use it too. */
export function relayedKeyPrefix(sourceId: string): string {
  return `gateway:${sourceId}:`;
}

type Packed = [key: string | null, webhookId: string | null, path: string | null, ...headers: string[]];

/** The stored form, kept with the event. */
export function packRelayed({ key, webhookId, path, headers, retryDelaysMs }: Relayed): Uint8Array {
  const packed: Packed = [key, webhookId, path, ...headers];
  return Buffer.from(
    JSON.stringify(retryDelaysMs === undefined ? packed : { packed, retryDelaysMs }),
    "utf8",
  );
}

/** Reverses `packRelayed`. Returns null for null. */
export function unpackRelayed(bytes: Uint8Array | null): Relayed | null {
  if (bytes === null) return null;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
  const stored = JSON.parse(text) as Packed | (Pick<Relayed, "retryDelaysMs"> & { readonly packed: Packed });
  if (Array.isArray(stored)) return unpacked(stored);
  const { packed, retryDelaysMs = {} } = stored;
  return { ...unpacked(packed), retryDelaysMs };
}

function unpacked([key, webhookId, path, ...headers]: Packed): Relayed {
  return { key, webhookId, path, headers };
}

/** A webhook path or complete URL with the relayed part appended; queries are merged. */
export function withRelayedPath(base: string, relayed: Relayed | null): string {
  if (relayed === null || relayed.path === null) return base;
  const [path, query] = split(base);
  const [more, moreQuery] = split(relayed.path);
  const queries = [query, moreQuery].filter((one) => one !== undefined && one !== "");
  const joined = more === "" ? path : `${path.replace(/\/$/, "")}${more}`;
  return queries.length === 0 ? joined : `${joined}?${queries.join("&")}`;
}

function split(address: string): readonly [path: string, query?: string] {
  const at = address.indexOf("?");
  return at < 0 ? [address] : [address.slice(0, at), address.slice(at + 1)];
}

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

// Determines which headers of a sender reach the webhook: the configured ones, but never hop-by-hop or credential
// headers.

const never =
  /^(authorization|cookie|proxy-.*|connection|keep-alive|te|trailer|transfer-encoding|upgrade|host|content-length|forwarded|x-forwarded-.*|webhook-request-.*|webhook-signature|webhook-timestamp|webhook-id|x-webhook-signature|idempotency-key|x-idempotency-key|posthorn-.*|expect|set-cookie|www-authenticate)$/i;

export function isForwardable(name: string): boolean {
  return !never.test(name);
}

interface HeaderReader {
  get(name: string): string | null;
}

/** Reads the headers that may be forwarded. Headers listed in `Connection` apply only to the hop (RFC 9110, 7.6.1). */
export function endToEndReader(headers: HeaderReader): (name: string) => string | null {
  const connection = headers.get("connection");
  if (connection === null) return (name) => headers.get(name);
  const perHop = new Set(connection.split(",").map((name) => name.trim().toLowerCase()));
  return (name) => (perHop.has(name.toLowerCase()) ? null : headers.get(name));
}

const endToEnd = ["Signature", "Signature-Input", "Content-Digest"];

interface Handing {
  readonly get: (name: string) => string | null;
  /** The result of `handedOn`. */
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

/** Whether every client and server accepts the value in a header. */
function isSendable(value: string): boolean {
  return /^[\x20-\x7e\t]{0,4096}$/.test(value);
}

/** Encodes a source name for a header. Names may contain any character, but header values are ASCII. */
function asText(name: string): string {
  return /^[\x20-\x7e]+$/.test(name) ? name : encodeURIComponent(name);
}
