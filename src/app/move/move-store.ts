import { createHash } from "node:crypto";
import type { KeptStretch, MovedPart, MovedRow, MoveSource, MoveTarget } from "../../ports/store/moving.ts";
import { StoreUnavailableError } from "../../ports/store.ts";
import { storableDocument } from "../../store/column-values.ts";
import { movedParts } from "../../store/moved-parts.ts";
import { systemClock } from "../../system/clock.ts";
import type { MoveFrom, MoveTo } from "./move-ends.ts";

/** Totals of one part after a round. */
interface PartMoved {
  readonly part: string;
  readonly rows: number;
  /** Rows written in this round. */
  readonly written: number;
  /** Number of written rows whose text PostgreSQL rejects; U+FFFD replaces the rejected characters. */
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
      `the rows of ${part} (range ${number}) read back from the target differ from the source; ` +
        "the move did not finish, and the source is unchanged",
    );
  }
}

const rowsMax = 4_096;
const rowsMin = 64;
/** Approximate size of one key range. While a range is copied, it is in memory three times. */
const stretchBytes = 16 * 1024 * 1024;

/** The contribution of one key range to the totals of its part. */
interface StretchMoved {
  readonly moved: number;
  readonly written: number;
  readonly replaced: number;
}

/** Moves a part: first the key ranges that the target already has but that have changed, then the missing ones. */
class PartMove {
  readonly #part: MovedPart;
  readonly #source: MoveSource;
  readonly #target: MoveTarget;
  readonly #moved: (rows: StretchMoved) => void;
  /** Index of the column with the JSON document; -1 if there is none. */
  readonly #documentPlace: number;
  #limit = rowsMin;

  constructor(
    part: MovedPart,
    source: MoveSource,
    target: MoveTarget,
    /** Called after each key range with its contribution to the totals. */ moved: (
      rows: StretchMoved,
    ) => void,
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

  /** Reads the whole key range, because rows may have been added between its keys. */
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

  /** Returns the same row if no character has to be replaced. */
  #storable(row: MovedRow): MovedRow {
    const place = this.#documentPlace;
    const document = row[place];
    if (typeof document !== "string") return row;
    const storable = storableDocument(document);
    return storable === document ? row : row.with(place, storable);
  }
}

/** Number of rows of this size in one key range. */
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

/** Progress reports for the user. */
export type MoveNews =
  | { readonly kind: "round"; readonly number: number; readonly served: boolean }
  | { readonly kind: "progress"; readonly part: string; readonly rows: number; readonly written: number }
  /** Everything is copied except for new changes: the servers may stop. */
  | { readonly kind: "ready"; readonly written: number }
  /** Rows with text that PostgreSQL rejects. */
  | { readonly kind: "replaced"; readonly part: string; readonly rows: number }
  | { readonly kind: "finishing" };

export interface MoveReport {
  readonly parts: readonly PartMoved[];
  readonly rounds: number;
  /** Downtime: the time from stopping the source until the target can be opened. */
  readonly standstillMs: number;
}

/**
 * Moves all data from one store into another. While servers are using the source, each round copies new and changed
 * data. Once they have stopped, a last round copies the rest, and servers can open the target. Written data is
 * verified by reading it back. The move may be killed at any time and run again.
 */
export async function moveStore(
  from: MoveFrom,
  to: MoveTo,
  tell: (news: MoveNews) => void,
  /** Called between two rounds while servers are using the source. */ pause: () => Promise<void>,
  /** Monotonic milliseconds. */ now: () => number,
): Promise<MoveReport> {
  for (let number = 1; ; number += 1) {
    const stopped = await from.stop();
    const since = now();
    let moved = false;
    try {
      tell({ kind: "round", number, served: stopped === null });
      const parts = await copyAll(from, to, tell);
      if (stopped !== null) {
        tell({ kind: "finishing" });
        await finish(from, to);
        moved = true;
        return { parts, rounds: number, standstillMs: now() - since };
      }
      tell({ kind: "ready", written: parts.reduce((sum, { written }) => sum + written, 0) });
    } finally {
      await stopped?.release(moved);
    }
    await pause();
  }
}

async function copyAll(
  from: MoveFrom,
  to: MoveTo,
  tell: (news: MoveNews) => void,
): Promise<readonly PartMoved[]> {
  await from.rows.freeze();
  const done: PartMoved[] = [];
  for (const part of movedParts) {
    let [rows, written, replaced] = [0, 0, 0];
    const moved = (more: StretchMoved): void => {
      rows += more.moved;
      written += more.written;
      replaced += more.replaced;
      tell({ kind: "progress", part: part.name, rows, written });
    };
    await new PartMove(part, from.rows, to.rows, moved).run();
    done.push({ part: part.name, rows, written, replaced });
    if (replaced > 0) tell({ kind: "replaced", part: part.name, rows: replaced });
  }
  return done;
}

/** Marks the source as moved first, because servers running on both stores would deliver everything twice. */
async function finish(from: MoveFrom, to: MoveTo): Promise<void> {
  const digestKey = await from.digestKey();
  if (digestKey !== null) await to.keepDigestKey(digestKey);
  await from.markMoved({ place: to.place, at: systemClock.now() });
  await to.rows.finish();
}
