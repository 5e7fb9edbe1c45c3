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
}

/** As it is stored with an event. */
export function packRelayed({ key, webhookId, path, headers }: Relayed): Uint8Array {
  return Buffer.from(JSON.stringify([key, webhookId, path, ...headers]), "utf8");
}

/** What `packRelayed` gave; null for nothing. */
export function unpackRelayed(bytes: Uint8Array | null): Relayed | null {
  if (bytes === null) return null;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
  const [key, webhookId, path, ...headers] = JSON.parse(text) as [
    key: string | null,
    webhookId: string | null,
    path: string | null,
    ...headers: string[],
  ];
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
