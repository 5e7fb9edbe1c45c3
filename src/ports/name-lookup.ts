/**
 * Asks the domain name system for texts. Addresses are not asked here: those belong to the transport, which judges them.
 *
 * Promises: never rejects, ends within some seconds, and hands out a bounded number of bounded texts.
 */
export interface NameLookup {
  /** The TXT records of a name, each as one text. */
  texts(name: string): Promise<TextLookup>;
  /** Gives up what is being asked. Safe to call twice. */
  close(): void;
}

/** What came of a question. `detail` is a sentence for the owner of the name. */
export type TextLookup =
  | { readonly kind: "found"; readonly texts: readonly string[] }
  /** The name servers answered that there is no such name, or no such record. */
  | { readonly kind: "absent" }
  /** Nobody answered, or with a failure; says nothing about the record. */
  | { readonly kind: "failed"; readonly detail: string };
