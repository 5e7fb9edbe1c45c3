/**
 * The parts of a store that `posthorn move` copies into another store. Each part is a list of rows in key order,
 * which both stores read and write in the same form.
 *
 * A part is moved in ranges: the rows between two keys. The target stores a digest with each range, written in
 * the same transaction, so an interrupted move can resume. A range is verified by reading it back from the target
 * and comparing digests. Changes in the source during the move are found by fingerprints, which the source
 * computes without returning its rows. The last round, during which no server runs, takes seconds for a million
 * events.
 */

/** Numbers are safe integers. Text does not contain U+0000, which PostgreSQL cannot store. */
export type MovedValue = string | number | boolean | Uint8Array | null;

/** The columns of a part, in their order. */
export type MovedRow = readonly MovedValue[];

/** The values of the key columns, which order the rows of a part and are unique. */
export type MovedKey = readonly (string | number)[];

/** Types of columns; any column may be null. */
export type MovedKind = "integer" | "real" | "text" | "boolean" | "bytes" | "uuid";

/** A set of rows with the same columns. */
export interface MovedPart {
  readonly name: string;
  /** Column types by name, in order. The key columns come first. */
  readonly columns: Readonly<Record<string, MovedKind>>;
  readonly keyLength: number;
}

/** The rows after one key, up to and including another key. */
export interface Stretch {
  /** Null starts at the first row. */
  readonly after: MovedKey | null;
  /** Null ends at the last row. */
  readonly upTo: MovedKey | null;
}

/** A range that has been copied completely to the target. */
export interface KeptStretch extends Stretch {
  /** Number of the range, starting at 0, in the order of the keys. */
  readonly number: number;
  readonly upTo: MovedKey;
  readonly rows: number;
  /** Digest of the rows as read from the source (hexadecimal). */
  readonly digest: string;
  /** The source's fingerprint of these rows when they were read. */
  readonly fingerprint: string;
}

/**
 * The source or the target of a move. Every call rejects with StoreUnavailableError if the store cannot be read or
 * written.
 */
export interface MovedRows {
  /** Reads rows in key order. */
  read(part: MovedPart, stretch: Stretch & { readonly limit: number }): Promise<readonly MovedRow[]>;
  /** Approximate number of rows of a part. */
  count(part: MovedPart): Promise<number>;
  close(): Promise<void>;
}

/** The store from which data is moved. */
export interface MoveSource extends MovedRows {
  /** Starts a snapshot: until the next call, all reads see the same state of the store. */
  freeze(): Promise<void>;
  /**
   * SHA-256 over the rows of a range in the format of this store. Other stores have a different fingerprint for the
   * same rows.
   */
  fingerprint(part: MovedPart, stretch: Stretch): Promise<string>;
}

/** The target of a move. A server cannot open it before `finish`. */
export interface MoveTarget extends MovedRows {
  /** Ranges that have already been copied, in key order. */
  kept(part: MovedPart): Promise<readonly KeptStretch[]>;
  /** Replaces the content of the range with `rows` and stores its digest, atomically. */
  replace(part: MovedPart, stretch: KeptStretch, rows: readonly MovedRow[]): Promise<void>;
  /** Updates derived data: counters and positions. A server can open the store afterwards. */
  finish(): Promise<void>;
}
