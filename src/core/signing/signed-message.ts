/** The type of a structured field, which the field itself does not state. */
export type StructuredFieldType = "item" | "list" | "dictionary";

/** The parts of a request or response that components need. Omitted parts are unavailable. */
export interface SignedMessage {
  /** In the case that was sent, such as `POST`. */
  readonly method?: string;
  /** Absolute, without a fragment: `https://example.com/path?query`. */
  readonly targetUri?: string;
  /** As in the request line. Defaults to path and query of `targetUri`. */
  readonly requestTarget?: string;
  readonly status?: number;
  /** The values of all lines of a field, by lower-case name; empty if it is absent. */
  readonly fieldLines: (name: string) => readonly string[];
  readonly trailerLines?: (name: string) => readonly string[];
  /** By lower-case name, in addition to the fields that this module knows; needed for `sf`. */
  readonly structuredFields?: Readonly<Record<string, StructuredFieldType>>;
}
