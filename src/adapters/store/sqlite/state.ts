import { Chunks } from "./chunks.ts";
import type { Connection } from "./connection.ts";
import { LaneQueue } from "./lane-queue.ts";
import { Leases } from "./leases.ts";
import { Tally } from "./tally.ts";
import { Lanes, Words } from "./words.ts";

/** The connection and what is kept in memory about the file, shared by all parts of the store. */
export interface StoreState {
  readonly connection: Connection;
  readonly words: Words;
  readonly lanes: Lanes;
  readonly chunks: Chunks;
  readonly leases: Leases;
  readonly queue: LaneQueue;
  readonly tally: Tally;
}

/** Fences of one opening of the file lie above those of the one before, so a lease of then is never one of now. */
const fencesPerOpening = 2 ** 32;

export function loadState(connection: Connection): StoreState {
  const words = new Words(connection);
  const leases = new Leases();
  const tally = new Tally(connection, () => leases.freshFirst());
  leases.startFences((tally.opens + 1) * fencesPerOpening);
  connection.join(leases.listener);
  return {
    connection,
    words,
    lanes: new Lanes(connection, words),
    chunks: new Chunks(connection),
    leases,
    queue: new LaneQueue(connection),
    tally,
  };
}
