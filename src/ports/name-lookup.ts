/** An IP address of a host, and how long it may be cached. */
export interface NamedAddress {
  readonly address: string;
  readonly ttlMs: number;
}

/**
 * Resolves host names. The IP addresses are checked by the transport, not here.
 *
 * Promises: rejects with a `code`, or resolves to an empty list, if a name has no address; ends within seconds; does
 * not block a thread while a name server is unresponsive.
 */
export interface NameSource {
  resolve(hostname: string): Promise<readonly NamedAddress[]>;
  /** Cancels all queries. Safe to call twice. */
  close(): void;
}

/**
 * Queries DNS for TXT records.
 *
 * Promises: never rejects, ends within seconds, and returns a limited number of strings of limited
 * length.
 */
export interface NameLookup {
  /** The TXT records of a name, one string each. */
  texts(name: string): Promise<TextLookup>;
  /** Cancels all queries. Safe to call twice. */
  close(): void;
}

/** The result of a query. `detail` is a human-readable sentence for the owner of the name. */
export type TextLookup =
  | { readonly kind: "found"; readonly texts: readonly string[] }
  /** The name servers answered that the name or the record does not exist. */
  | { readonly kind: "absent" }
  /** No name server answered, or one answered with a failure. Says nothing about the record. */
  | { readonly kind: "failed"; readonly detail: string };
