import type { Announcer } from "./announcer.ts";
import type { Database } from "./database.ts";
import type { Lanes, Words } from "./words.ts";

/** Which worker this process is now; null before it joined. It changes when the last one was taken for dead. */
export interface Membership {
  worker: number | null;
}

/** What all parts of the store share. */
export interface StoreState {
  /** For the path of an event. */
  readonly database: Database;
  /** For people and upkeep, whose long statements must not take the connections that deliveries need. */
  readonly aside: Database;
  readonly words: Words;
  readonly lanes: Lanes;
  /**
   * Stands in the leases of this opening (`queue.owner`); no other opening of the database ever had it. Not the number of
   * the worker, who owns webhooks (`ownership.worker`): that one changes when the worker was taken for dead, and its leases
   * stay its own, until whoever gets the webhook raises their fences.
   */
  readonly owner: number;
  readonly membership: Membership;
  readonly announcer: Announcer;
}
