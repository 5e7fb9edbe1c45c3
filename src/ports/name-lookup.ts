/** An address of a host, and how long it may be used. */
export interface NamedAddress {
  readonly address: string;
  readonly ttlMs: number;
}

/**
 * Finds the addresses of host names. It judges none of them: the transport does.
 *
 * Promises: rejects with a `code`, or resolves to an empty list, when a name has no address; ends within some seconds;
 * occupies no thread while a name server does not answer.
 */
export interface NameSource {
  resolve(hostname: string): Promise<readonly NamedAddress[]>;
  /** Cancels all queries. Safe to call twice. */
  close(): void;
}

/**
 * Asks the domain name system for TXT records.
 *
 * Promises: never rejects, ends within some seconds, and hands out a bounded number of bounded texts.
 */
export interface NameLookup {
  /** The TXT records of a name, each as one text. */
  texts(name: string): Promise<TextLookup>;
  /** Cancels all queries. Safe to call twice. */
  close(): void;
}

/** The result of a query. `detail` is a sentence for the owner of the name. */
export type TextLookup =
  | { readonly kind: "found"; readonly texts: readonly string[] }
  /** The name servers answered that there is no such name, or no such record. */
  | { readonly kind: "absent" }
  /** No name server answered, or one answered with a failure; says nothing about the record. */
  | { readonly kind: "failed"; readonly detail: string };
