/** Outcomes of a request that the gateway received. */
export const gatewayOutcomes = [
  /** Stored, or accepted by the destination. */
  "accepted",
  /** Already known: answered like the first time. */
  "duplicate",
  /** Refused because of its content: not authenticated, an unusable key, too large. */
  "rejected",
  /** Authentic, but no connection accepted it. */
  "ignored",
  /** A provider's check of the address was answered. */
  "challenge",
  /** The destination or the store could not accept it now. */
  "failed",
] as const;
/** How long the log keeps an entry, and the body of a request that may be retried. A bookmark keeps both. */
export const receivedMs = 7 * 86_400_000;
export const receivedBodiesMs = 86_400_000;
/** Requests of one source that a list summarises. */
export const recentRequestsMax = 100;

export type GatewayOutcome = (typeof gatewayOutcomes)[number];

/** What an event from the gateway keeps of the request that brought it. Every attempt forwards it unchanged. */
export interface Relayed {
  /** The value of `Idempotency-Key`, byte for byte (EDS-9.7-1); null if there was none. */
  readonly key: string | null;
  /** The verified `Webhook-ID`; null if there was none. */
  readonly webhookId: string | null;
  /** Text appended to the path of the webhook, including the query; null for nothing. */
  readonly path: string | null;
  /** Flat name-value list of other forwarded headers. */
  readonly headers: readonly string[];
  /** Delays between attempts by webhook id, for connections with their own delays. */
  readonly retryDelaysMs?: Readonly<Record<string, readonly number[]>>;
}

/** Prefix of the deduplication keys of a source's events; also used to look them up. */
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

/** Reverses `packRelayed`; null for null. */
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
