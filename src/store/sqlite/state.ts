import { Chunks } from "./driver/chunks.ts";
import type { Connection } from "./driver/connection.ts";
import { LaneQueue } from "./events/lane-queue.ts";
import { Leases } from "./events/leases.ts";
import { Counters } from "./events/counters.ts";
import { Lanes, StringTable } from "./driver/string-table.ts";

/** The connection and the in-memory data of the file, shared by all parts of the store. */
export interface StoreState {
  readonly connection: Connection;
  readonly strings: StringTable;
  readonly lanes: Lanes;
  readonly chunks: Chunks;
  readonly leases: Leases;
  readonly queue: LaneQueue;
  readonly counters: Counters;
}

/**
 * Lease tokens of one opening of the file are above those of the previous one, so an old lease never equals a current
 * one.
 */
const leaseTokensPerOpening = 2 ** 32;

export function loadState(connection: Connection): StoreState {
  const strings = new StringTable(connection);
  const leases = new Leases();
  const counters = new Counters(connection, () => leases.freshFirst());
  leases.startLeaseTokens((counters.opens + 1) * leaseTokensPerOpening);
  connection.join(leases.listener);
  return {
    connection,
    strings,
    lanes: new Lanes(connection, strings),
    chunks: new Chunks(connection),
    leases,
    queue: new LaneQueue(connection),
    counters,
  };
}
