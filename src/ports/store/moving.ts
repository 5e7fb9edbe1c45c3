/**
 * What a store hands over when everything that it holds moves into another one (`posthorn move`): parts, each of them rows
 * in the order of a key, which both stores read and write in the same form.
 *
 * A part is moved in stretches: the rows between two keys. The target remembers a digest with each stretch that it has,
 * written in the same transaction. So a move that was killed goes on where it was, and a stretch that is read back from the
 * target and has the same digest is proved. What changed in the source meanwhile is found by fingerprints, which the source
 * makes without handing out its rows: the last round, in which nobody serves, takes seconds for a million events.
 */

/** Whole numbers are safe integers; text holds no U+0000, which PostgreSQL cannot store. */
export type MovedValue = string | number | boolean | Uint8Array | null;

/** The columns of a part, in their order. */
export type MovedRow = readonly MovedValue[];

/** The values of the columns that order the rows of a part, and tell each from all others. */
export type MovedKey = readonly (string | number)[];

/** What a column holds, beside null. */
export type MovedKind = "integer" | "real" | "text" | "boolean" | "bytes" | "uuid";

/** Rows of one form. */
export interface MovedPart {
  readonly name: string;
  /** By name, in order; the first ones are the key. */
  readonly columns: Readonly<Record<string, MovedKind>>;
  readonly keyLength: number;
}

/** Rows behind one key, up to and with another. */
export interface Stretch {
  /** Null begins with the first row. */
  readonly after: MovedKey | null;
  /** Null ends with the last row. */
  readonly upTo: MovedKey | null;
}

/** A stretch that a target has, whole. */
export interface KeptStretch extends Stretch {
  /** From 0, in the order of the keys. */
  readonly number: number;
  readonly upTo: MovedKey;
  readonly rows: number;
  /** Of the rows as they were read from the source (hexadecimal). */
  readonly digest: string;
  /** What the source said of these rows when they were read. */
  readonly fingerprint: string;
}

/** Either end of a move. Every call rejects with StoreUnavailableError when the store cannot be read or written. */
export interface MovedRows {
  /** In the order of the key. */
  read(part: MovedPart, stretch: Stretch & { readonly limit: number }): Promise<readonly MovedRow[]>;
  /** How many rows a part has, about. */
  count(part: MovedPart): Promise<number>;
  close(): Promise<void>;
}

/** The store that everything moves from. */
export interface MoveSource extends MovedRows {
  /** All reads from now on see one state of the store, until the next call. */
  freeze(): Promise<void>;
  /** SHA-256 over the rows of a stretch as they stand in this store: another one says something else of the same rows. */
  fingerprint(part: MovedPart, stretch: Stretch): Promise<string>;
}

/** The store that everything moves into; nobody can serve from it before `finish`. */
export interface MoveTarget extends MovedRows {
  /** What is there already, in the order of the keys. */
  kept(part: MovedPart): Promise<readonly KeptStretch[]>;
  /** Puts `rows` in the place of whatever the stretch has, and remembers it: all of it or nothing. */
  replace(part: MovedPart, stretch: KeptStretch, rows: readonly MovedRow[]): Promise<void>;
  /** Brings what follows from the rows up to date: counters, positions. After it the store can be served from. */
  finish(): Promise<void>;
}
