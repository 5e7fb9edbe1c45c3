import type { Settlement } from "../../../ports/store/deliveries.ts";
import type { Announcer } from "./announcer.ts";
import type { Transactor } from "./database.ts";
import type { Lanes, StringTable } from "./string-table.ts";

/** A worker as it was registered; its token tells it from another one that was given the same number. */
export interface JoinedWorker {
  readonly worker: number;
  readonly token: string;
}

/** Which worker this process is now. It changes when the last one was taken for dead. */
export interface Membership {
  /** Null before it joined. */
  worker: number | null;
  /** The last one that joined in this incarnation of the database, or in an earlier one. */
  joined: JoinedWorker | null;
  /** Numbers from earlier incarnations, which may be somebody else's by now. */
  readonly former: Set<number>;
}

/**
 * What all parts of the store share: for one incarnation of the database (incarnations.ts). Everything in it that is a number
 * was given by that incarnation, and both databases refuse statements once there is another one.
 */
export interface StoreState {
  /** For the path of an event. */
  readonly database: Transactor;
  /** For people and upkeep, whose long statements must not take the connections that deliveries need. */
  readonly aside: Transactor;
  readonly strings: StringTable;
  readonly lanes: Lanes;
  /**
   * The number of this opening in its leases (`queue.owner`); no other opening of the database ever had it. Not the
   * number of the worker, which owns webhooks (`ownership.worker`). A worker that was taken for dead gets another
   * number, while the leases stay those of the process, until the next owner of the webhook raises their tokens.
   */
  readonly processNumber: number;
  readonly membership: Membership;
  readonly announcer: Announcer;
  /** Settlements of commits that failed with the connection: they may have been written. Known over all incarnations. */
  readonly inDoubt: WeakSet<Settlement>;
}
