import { setImmediate } from "node:timers/promises";
import type { Page, PageRequest } from "../../../ports/store.ts";
import { chunkStart } from "./chunks.ts";
import type { Connection } from "./connection.ts";

/** How a listing finds its rows: newest first, chunk by chunk. */
export interface Walk {
  /** The newest chunk that can hold rows below a position; null when there is none. */
  readonly chunkBelow: (before: number) => number | null;
  /** Positions of matching rows in one chunk, descending. */
  readonly seqs: (slice: ChunkSlice) => readonly number[];
}

export interface ChunkSlice {
  readonly chunk: number;
  readonly before: number;
  readonly limit: number;
}

/** Chunks per turn of the event loop: about a millisecond when nothing in them matches. */
const chunksPerTurn = 4;

/**
 * Collects up to `limit` positions. A rare filter may have to search the whole history. It lets other work run between
 * chunks, so it takes long for the caller but blocks nothing else.
 */
export async function collectSeqs(
  connection: Connection,
  walk: Walk,
  search: { readonly before: number | null; readonly limit: number },
): Promise<readonly number[]> {
  const found: number[] = [];
  let before: number | null = search.before ?? Number.MAX_SAFE_INTEGER;
  while (before !== null && found.length < search.limit) {
    const from: number = before;
    before = connection.read(() => walkTurn(walk, from, found, search.limit));
    if (before !== null && found.length < search.limit) await setImmediate();
  }
  return found;
}

/** Adds the matches of a few chunks; returns where to continue, null at the end. */
function walkTurn(walk: Walk, from: number, found: number[], limit: number): number | null {
  let before = from;
  for (let turns = 0; turns < chunksPerTurn && found.length < limit; turns += 1) {
    const chunk = walk.chunkBelow(before);
    if (chunk === null) return null;
    for (const seq of walk.seqs({ chunk, before, limit: limit - found.length })) found.push(seq);
    before = chunkStart(chunk);
  }
  return before;
}

/** One page of a walk; `read` turns a position into a row, or undefined when upkeep removed it in between. */
export async function readPage<Row>(
  connection: Connection,
  walk: Walk,
  page: PageRequest,
  read: (seq: number) => Row | undefined,
): Promise<Page<Row>> {
  const { limit, offset, before } = page;
  // One row more than requested shows whether there is an older one.
  const seqs = await collectSeqs(connection, walk, { before, limit: offset + limit + 1 });
  const shown = seqs.slice(offset, offset + limit);
  const rows = connection.read(() => shown.map((seq) => read(seq)).filter((row) => row !== undefined));
  return { rows, next: seqs.length > offset + limit ? (shown.at(-1) ?? null) : null };
}
