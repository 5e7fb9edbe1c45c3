import { createHash } from "node:crypto";
import { storableDocument } from "../../adapters/store/storable-text.ts";
import { StoreUnavailableError } from "../../ports/store.ts";
import type { KeptStretch, MovedPart, MovedRow, MoveSource, MoveTarget } from "../../ports/store/moving.ts";

/** Totals of one part after a round. */
export interface PartMoved {
  readonly part: string;
  readonly rows: number;
  /** Rows written in this round. */
  readonly written: number;
  /** Written rows with text that PostgreSQL rejects; U+FFFD replaces it. */
  readonly replaced: number;
}

/** The target rejected rows, although it is available. */
class MoveRefusedError extends Error {
  override readonly name = "MoveRefusedError";

  constructor(part: MovedPart, rows: readonly MovedRow[], cause: Error) {
    const key = (row: MovedRow | undefined) => row?.slice(0, part.keyLength).join(", ") ?? "";
    super(
      `the target rejects rows of ${part.name} from ${key(rows[0])} to ${key(rows.at(-1))}: ${cause.message}; the move ` +
        "did not finish, and the source is unchanged: correct these rows in the source, then run the same command again",
      { cause },
    );
  }
}

/** Data read back from the target differs from what was written. */
class MoveMismatchError extends Error {
  override readonly name = "MoveMismatchError";

  constructor(part: string, { number }: KeptStretch) {
    super(
      `the rows of ${part} (stretch ${number}) read back from the target differ from the source;  ` +
        "the move did not finish, and the source is unchanged",
    );
  }
}

const rowsMax = 4_096;
const rowsMin = 64;
/** Approximate size of one stretch, which is in memory three times while it moves. */
const stretchBytes = 16 * 1024 * 1024;

/** The contribution of one stretch to the totals of its part. */
export interface StretchMoved {
  readonly moved: number;
  readonly written: number;
  readonly replaced: number;
}

/** Moves a part: first stretches that the target already has and that changed, then the missing ones. */
export class PartMove {
  readonly #part: MovedPart;
  readonly #source: MoveSource;
  readonly #target: MoveTarget;
  readonly #moved: (rows: StretchMoved) => void;
  /** Index of the JSON document column; -1 without one. */
  readonly #documentPlace: number;
  #limit = rowsMin;

  constructor(
    part: MovedPart,
    source: MoveSource,
    target: MoveTarget,
    /** Called after each stretch with its contribution to the totals. */ moved: (rows: StretchMoved) => void,
  ) {
    this.#part = part;
    this.#documentPlace = Object.keys(part.columns).indexOf("document");
    this.#source = source;
    this.#target = target;
    this.#moved = moved;
  }

  async run(): Promise<void> {
    const kept = await this.#target.kept(this.#part);
    for (const stretch of kept) await this.#compare(stretch);
    let last = kept.at(-1);
    for (;;) {
      last = await this.#append(last);
      if (last === undefined) return;
    }
  }

  /** Reads the whole stretch, because rows may have been added between its keys. */
  async #compare(kept: KeptStretch): Promise<void> {
    const fingerprint = await this.#source.fingerprint(this.#part, kept);
    if (fingerprint === kept.fingerprint) return this.#moved({ moved: kept.rows, written: 0, replaced: 0 });
    const rows = await this.#source.read(this.#part, { ...kept, limit: Number.MAX_SAFE_INTEGER });
    await this.#write({ ...kept, fingerprint }, rows);
  }

  async #append(last: KeptStretch | undefined): Promise<KeptStretch | undefined> {
    const after = last?.upTo ?? null;
    const rows = await this.#source.read(this.#part, { after, upTo: null, limit: this.#limit });
    const end = rows.at(-1);
    if (end === undefined) return undefined;
    this.#limit = limitFor(rows);
    const upTo = end.slice(0, this.#part.keyLength) as (string | number)[];
    const fingerprint = await this.#source.fingerprint(this.#part, { after, upTo });
    return this.#write({ number: (last?.number ?? -1) + 1, after, upTo, fingerprint }, rows);
  }

  async #write(place: Omit<KeptStretch, "rows" | "digest">, read: readonly MovedRow[]): Promise<KeptStretch> {
    const rows = read.map((row) => this.#storable(row));
    const replaced = rows.filter((row, index) => row !== read[index]).length;
    const { after, upTo } = place;
    const stretch = { ...place, rows: rows.length, digest: digestOf(rows) };
    try {
      await this.#target.replace(this.#part, stretch, rows);
    } catch (error) {
      if (!(error instanceof Error) || error instanceof StoreUnavailableError) throw error;
      throw new MoveRefusedError(this.#part, rows, error);
    }
    const there = await this.#target.read(this.#part, { after, upTo, limit: rows.length + 1 });
    if (digestOf(there) !== stretch.digest) throw new MoveMismatchError(this.#part.name, stretch);
    this.#moved({ moved: rows.length, written: rows.length, replaced });
    return stretch;
  }

  /** Returns the same row if nothing has to be replaced. */
  #storable(row: MovedRow): MovedRow {
    const place = this.#documentPlace;
    const document = row[place];
    if (typeof document !== "string") return row;
    const storable = storableDocument(document);
    return storable === document ? row : row.with(place, storable);
  }
}

/** Number of rows of this size in one stretch. */
function limitFor(rows: readonly MovedRow[]): number {
  const bytes = rows.reduce((sum, row) => sum + bytesOf(row), 0);
  const fitting = Math.floor(stretchBytes / Math.max(1, bytes / rows.length));
  return Math.min(Math.max(fitting, rowsMin), rowsMax);
}

function bytesOf(row: MovedRow): number {
  return row.reduce<number>(
    (sum, value) => sum + (typeof value === "string" || value instanceof Uint8Array ? value.length : 8),
    0,
  );
}

/** SHA-256 over the values of rows in order. The kind and length of each value separate it from its neighbours. */
function digestOf(rows: readonly MovedRow[]): string {
  const hash = createHash("sha256");
  let text = "";
  for (const row of rows) {
    for (const value of row) {
      if (typeof value === "string") text += `"${value.length}:${value}`;
      else if (!(value instanceof Uint8Array)) text += `${value},`;
      else {
        hash.update(`${text}#${value.length}:`).update(value);
        text = "";
      }
    }
  }
  return hash.update(text).digest("hex");
}
