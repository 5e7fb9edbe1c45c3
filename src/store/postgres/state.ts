import type { Settlement } from "../../ports/store/deliveries.ts";
import type { Announcer } from "./cluster/announcer.ts";
import type { Transactor } from "./driver/database.ts";
import type { Lanes, StringTable } from "./driver/string-table.ts";

/** A registered worker. The token distinguishes it from a different worker that got the same number. */
export interface JoinedWorker {
  readonly worker: number;
  readonly token: string;
}

/** This process's current worker. Replaced after the previous worker was considered dead. */
export interface Membership {
  /** Null until the process has joined. */
  worker: number | null;
  /** The last worker of this process, in this or an earlier server run. */
  joined: JoinedWorker | null;
  /** Worker numbers from earlier server runs, which may now belong to other workers. */
  readonly former: Set<number>;
}

/**
 * The state that all parts of the store share during one server run (`Incarnation`). All numbers in it come from that
 * server run. Both databases refuse statements once a different server run is found.
 */
export interface StoreState {
  /** Used for event processing. */
  readonly database: Transactor;
  /** The maintenance pool. Its long statements must not use the connections that deliveries need. */
  readonly maintenance: Transactor;
  readonly strings: StringTable;
  readonly lanes: Lanes;
  /**
   * Identifies this opening of the database in its leases (`queue.owner`); never reused by another opening. It is not
   * the worker number, which owns webhooks (`ownership.worker`). A worker that was considered dead gets a new number,
   * while the leases remain those of the process, until the next owner of the webhook increments their tokens.
   */
  readonly processNumber: number;
  readonly membership: Membership;
  readonly announcer: Announcer;
  /**
   * Settlements of commits that failed together with the connection and may have been written. Kept across server runs.
   */
  readonly inDoubt: WeakSet<Settlement>;
}
