/** What an event that came through the gateway keeps of the request that brought it. Every attempt sends it as it came. */
export interface Relayed {
  /** The value of `Idempotency-Key`, byte for byte (EDS-9.7-1); null where none came. */
  readonly key: string | null;
  /** The `Webhook-ID` that was verified (C-38); null where none was. */
  readonly webhookId: string | null;
  /** What is appended to the path of the webhook, query included; null for nothing. */
  readonly path: string | null;
  /** Flat name-value list of what is handed on beside. */
  readonly headers: readonly string[];
  /** Delays between requests to a webhook, by its id, where the connection has its own. */
  readonly retryDelaysMs?: Readonly<Record<string, readonly number[]>>;
}

/** What the keys begin with under which events of a source are remembered; also how they are found again. */
export function relayedKeyPrefix(sourceId: string): string {
  return `gateway:${sourceId}:`;
}

type Packed = [key: string | null, webhookId: string | null, path: string | null, ...headers: string[]];

/** As it is stored with an event. */
export function packRelayed({ key, webhookId, path, headers, retryDelaysMs }: Relayed): Uint8Array {
  const packed: Packed = [key, webhookId, path, ...headers];
  return Buffer.from(
    JSON.stringify(retryDelaysMs === undefined ? packed : { packed, retryDelaysMs }),
    "utf8",
  );
}

/** What `packRelayed` gave; null for nothing. */
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

/** A path of a webhook, or the whole address, with what is appended; queries are joined. */
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
