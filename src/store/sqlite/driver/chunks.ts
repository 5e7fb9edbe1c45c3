import type { StatementSync } from "node:sqlite";
import type { Connection } from "./connection.ts";

/** 4,096 rows per chunk; the indexes of ../schema.ts contain the same number. */
export const chunkBits = 12;
export const chunkRows = 2 ** chunkBits;

export const chunkKinds = { events: 0, deliveries: 1 } as const;
export type ChunkKind = (typeof chunkKinds)[keyof typeof chunkKinds];

export interface TimeRange {
  readonly from: number | null;
  readonly to: number | null;
}

interface OpenChunk {
  chunk: number;
  createdMin: number;
  createdMax: number;
  changed: boolean;
}

/**
 * Creation times by chunk of rows. Listings and upkeep step from chunk to chunk and skip chunks outside the time range,
 * so neither needs an index on time. Rows are appended, so only the newest chunk of a kind changes: it is kept in
 * memory and written once per transaction.
 */
export class Chunks {
  readonly #upsert: StatementSync;
  readonly #newest: StatementSync;
  readonly #older: StatementSync;
  readonly #newer: StatementSync;
  readonly #lastBefore: StatementSync;
  readonly #forget: StatementSync;
  readonly #lower: StatementSync;
  readonly #later: StatementSync;
  readonly #open: [OpenChunk, OpenChunk];

  constructor(connection: Connection) {
    this.#upsert = connection.prepare("INSERT OR REPLACE INTO chunks VALUES (?, ?, ?, ?)");
    this.#newest = connection.prepare(
      "SELECT chunk, created_min, created_max FROM chunks WHERE kind = ? ORDER BY chunk DESC LIMIT 1",
    );
    this.#older = connection.prepare(
      `SELECT chunk FROM chunks WHERE kind = ?1 AND chunk <= ?2 AND created_max >= ?3 AND created_min <= ?4
       ORDER BY chunk DESC LIMIT 1`,
    );
    this.#newer = connection.prepare(
      `SELECT chunk FROM chunks WHERE kind = ?1 AND chunk >= ?2 AND created_max >= ?3 AND created_min <= ?4
       ORDER BY chunk LIMIT 1`,
    );
    this.#lastBefore = connection.prepare(
      "SELECT chunk FROM chunks WHERE kind = ? AND created_min < ? ORDER BY chunk DESC LIMIT 1",
    );
    this.#lower = connection.prepare(
      "UPDATE chunks SET created_min = min(created_min, ?) WHERE kind = ? AND chunk = ?",
    );
    this.#later = connection.prepare("SELECT 1 FROM chunks WHERE kind = ? AND created_max > ? LIMIT 1");
    this.#forget = connection.prepare("DELETE FROM chunks WHERE kind = ? AND chunk < ?");
    this.#open = [this.#read(chunkKinds.events), this.#read(chunkKinds.deliveries)];
    connection.join({
      beforeCommit: () => this.#flushAll(),
      reload: () => {
        this.#open[chunkKinds.events] = this.#read(chunkKinds.events);
        this.#open[chunkKinds.deliveries] = this.#read(chunkKinds.deliveries);
      },
    });
  }

  /** Records a row that is being written. */
  note(kind: ChunkKind, seq: number, createdAt: number): void {
    const open = this.#open[kind];
    const chunk = chunkOf(seq);
    if (chunk !== open.chunk) {
      if (open.changed) this.#flush(kind);
      open.chunk = chunk;
      open.createdMin = createdAt;
      open.createdMax = createdAt;
      open.changed = true;
      return;
    }
    if (createdAt < open.createdMin) {
      open.createdMin = createdAt;
      open.changed = true;
    }
    if (createdAt > open.createdMax) {
      open.createdMax = createdAt;
      open.changed = true;
    }
  }

  /** Lowers the creation time of an existing row. */
  lower(kind: ChunkKind, seq: number, createdAt: number): void {
    const chunk = chunkOf(seq);
    if (chunk === this.#open[kind].chunk) this.note(kind, seq, createdAt);
    else this.#lower.run(createdAt, kind, chunk);
  }

  /** Whether any row may have been created after a time. */
  anyCreatedAfter(kind: ChunkKind, time: number): boolean {
    return this.#later.get(kind, time) !== undefined;
  }

  /** The newest chunk at or below `chunk` that can hold rows created in the range; null if no such chunk exists. */
  atOrBelow(kind: ChunkKind, search: TimeRange & { readonly chunk: number }): number | null {
    return this.#chunkOf(this.#older, { kind, ...search });
  }

  /** The oldest chunk at or above `chunk` that may contain such rows. */
  atOrAbove(kind: ChunkKind, search: TimeRange & { readonly chunk: number }): number | null {
    return this.#chunkOf(this.#newer, { kind, ...search });
  }

  #chunkOf(
    statement: StatementSync,
    search: TimeRange & { readonly kind: ChunkKind; readonly chunk: number },
  ): number | null {
    const { kind, chunk, from, to } = search;
    const row = statement.get(kind, chunk, from ?? Number.MIN_SAFE_INTEGER, to ?? Number.MAX_SAFE_INTEGER) as
      | [chunk: number]
      | undefined;
    return row === undefined ? null : row[0];
  }

  /** The last position that may contain a row created before a time; 0 if no such row exists. */
  lastSeqBefore(kind: ChunkKind, createdBefore: number): number {
    const row = this.#lastBefore.get(kind, createdBefore) as unknown as [chunk: number] | undefined;
    return row === undefined ? 0 : chunkEnd(row[0]);
  }

  /** Drops the records of chunks entirely below a position. */
  forgetBelow(kind: ChunkKind, seq: number): void {
    this.#forget.run(kind, Math.min(chunkOf(seq), this.#open[kind].chunk));
  }

  #flushAll(): void {
    if (this.#open[0].changed) this.#flush(chunkKinds.events);
    if (this.#open[1].changed) this.#flush(chunkKinds.deliveries);
  }

  #flush(kind: ChunkKind): void {
    const open = this.#open[kind];
    this.#upsert.run(kind, open.chunk, open.createdMin, open.createdMax);
    open.changed = false;
  }

  #read(kind: ChunkKind): OpenChunk {
    const row = this.#newest.get(kind) as unknown as [chunk: number, min: number, max: number] | undefined;
    const [chunk, createdMin, createdMax] = row ?? [-1, 0, 0];
    return { chunk, createdMin, createdMax, changed: false };
  }
}

/** Uses a division instead of a shift, because positions may exceed 32 bits. */
export function chunkOf(seq: number): number {
  return Math.floor(seq / 2 ** chunkBits);
}

export function chunkStart(chunk: number): number {
  return chunk * 2 ** chunkBits;
}

export function chunkEnd(chunk: number): number {
  return chunkStart(chunk + 1) - 1;
}
