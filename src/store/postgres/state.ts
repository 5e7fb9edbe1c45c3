import type { Settlement } from "../../ports/store/deliveries.ts";
import type { Announcer } from "./cluster/announcer.ts";
import type { Transactor } from "./driver/database.ts";
import type { Lanes, StringTable } from "./driver/string-table.ts";

/** A registered worker; the token distinguishes it from another one that got the same number. */
export interface JoinedWorker {
  readonly worker: number;
  readonly token: string;
}

/** Which worker this process is now. It changes after the last one was considered dead. */
export interface Membership {
  /** Null until it joined. */
  worker: number | null;
  /** The last worker of this process, in this server run or in an earlier one. */
  joined: JoinedWorker | null;
  /** Numbers from earlier server runs, which may belong to other workers now. */
  readonly former: Set<number>;
}

/**
 * What all parts of the store share, for one server run (`Incarnation`). All numbers in it come from that server run,
 * and both databases refuse statements once there is another one.
 */
export interface StoreState {
  /** For the path of events. */
  readonly database: Transactor;
  /** The maintenance pool, whose long statements must not use the connections that deliveries need. */
  readonly maintenance: Transactor;
  readonly strings: StringTable;
  readonly lanes: Lanes;
  /**
   * The number of this opening in its leases (`queue.owner`), never reused by another opening of the database. It is
   * not the worker number, which owns webhooks (`ownership.worker`). A worker that was considered dead gets another
   * number, while the leases stay those of the process, until the next owner of the webhook raises their tokens.
   */
  readonly processNumber: number;
  readonly membership: Membership;
  readonly announcer: Announcer;
  /** Settlements of commits that failed with the connection, which may have been written. Kept across server runs. */
  readonly inDoubt: WeakSet<Settlement>;
}
