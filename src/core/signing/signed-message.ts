/** How a structured field is read; the field itself does not tell. */
export type StructuredFieldType = "item" | "list" | "dictionary";

/** A request or response as far as components need it. What is left out is unavailable. */
export interface SignedMessage {
  /** Case as sent; `POST`. */
  readonly method?: string;
  /** Absolute, without a fragment: `https://example.com/path?query`. */
  readonly targetUri?: string;
  /** As in the request line. Defaults to path and query of `targetUri`. */
  readonly requestTarget?: string;
  readonly status?: number;
  /** The values of all lines of a field, by lower-case name; none when it is absent. */
  readonly fieldLines: (name: string) => readonly string[];
  readonly trailerLines?: (name: string) => readonly string[];
  /** By lower-case name, beside those that this module knows; needed for `sf`. */
  readonly structuredFields?: Readonly<Record<string, StructuredFieldType>>;
}
