/** An event that waits to be published. */
export interface OutboxEntry {
  readonly id: string;
  /** The event as JSON, with the key by which the server knows it again. */
  readonly event: string;
  /** How often it was claimed, this time included. */
  readonly attempts: number;
  /** Unix milliseconds; of an entry that was claimed for the first time now. */
  readonly firstClaimedAt: number;
}

export interface ParkedEntry {
  readonly id: string;
  readonly event: string;
  readonly error: string;
  readonly parkedAt: number;
}

/**
 * Where events wait. `put` belongs to the transaction of the application; what the outbox itself does runs beside it and
 * must never become part of it.
 *
 * - `claim` gives the oldest entries in the order in which they were put, and nothing while another claim holds: so one
 *   process publishes at a time, and order is kept. A claim that was not ended frees its entries at `leaseUntil`.
 * - `done`, `release` and `park` change only entries that this claim (`token`) still has.
 */
export interface OutboxStore<
  Transaction = undefined,
  Put extends void | Promise<void> = void | Promise<void>,
> {
  put(entry: { readonly id: string; readonly event: string }, transaction?: Transaction): Put;
  claim(claim: {
    readonly token: string;
    readonly now: number;
    readonly leaseUntil: number;
    readonly limit: number;
  }): Promise<readonly OutboxEntry[]>;
  /** They are published, and forgotten. */
  done(claimed: { readonly token: string; readonly ids: readonly string[] }): Promise<void>;
  /** They go on waiting, until `dueAt` at least. */
  release(claimed: {
    readonly token: string;
    readonly ids: readonly string[];
    readonly dueAt: number;
  }): Promise<void>;
  /** It will never be published as it is; somebody has to look at it. */
  park(claimed: {
    readonly token: string;
    readonly id: string;
    readonly parkedAt: number;
    readonly error: string;
  }): Promise<void>;
  /** Waiting and parked. */
  counts(): Promise<{ readonly waiting: number; readonly parked: number }>;
  /** Oldest first. */
  listParked(request: { readonly limit: number }): Promise<readonly ParkedEntry[]>;
  /** Publishes a parked entry again, with `event` instead of its own where that is given. False when there is none. */
  requeue(request: { readonly id: string; readonly event: string | null }): Promise<boolean>;
  discard(request: { readonly id: string }): Promise<boolean>;
}
