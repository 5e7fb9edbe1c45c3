import { isTableName } from "../../domain/application-database.ts";

/** An event that is waiting to be published. */
export interface OutboxEntry {
  readonly id: string;
  /** The event as JSON, with the key by which the server recognises it. */
  readonly event: string;
  /** Number of claims, including this one. */
  readonly attempts: number;
  /** When the entry was first claimed, in Unix milliseconds. */
  readonly firstClaimedAt: number;
}

export interface ParkedEntry {
  readonly id: string;
  readonly event: string;
  readonly error: string;
  readonly parkedAt: number;
}

/**
 * Stores waiting events. `put` runs in the application's transaction. The outbox's own statements must run separately
 * and never become part of it.
 *
 * - `claim` returns the oldest entries in the order of `put`, or no entries while another claim is active: only one
 *   process publishes at a time, and order is preserved. If a claim is not finished, its entries are released at
 *   `leaseUntil`.
 * - `done`, `release` and `park` change only entries that this claim (`token`) still holds.
 */
export interface OutboxStore<
  Transaction = undefined,
  Put extends void | Promise<void> = void | Promise<void>,
> {
  put(id: string, event: string, transaction?: Transaction): Put;
  claim(token: string, now: number, leaseUntil: number, limit: number): Promise<readonly OutboxEntry[]>;
  /** Removes published entries. */
  done(token: string, ids: readonly string[]): Promise<void>;
  /** Releases entries, which can be claimed again from `dueAt` on. */
  release(token: string, ids: readonly string[], dueAt: number): Promise<void>;
  /** Parks entries that cannot be published unchanged. A person then has to requeue or discard them. */
  park(token: string, id: string, parkedAt: number, error: string): Promise<void>;
  /** Counts of waiting and parked entries. */
  counts(): Promise<{ readonly waiting: number; readonly parked: number }>;
  /** Oldest first. */
  listParked(limit: number): Promise<readonly ParkedEntry[]>;
  /**
   * Makes a parked entry due again, with `event` as its new content if given. Returns false if the entry does not
   * exist.
   */
  requeue(id: string, event: string | null): Promise<boolean>;
  discard(id: string): Promise<boolean>;
}

export const outboxTable = "posthorn_outbox";

/** A row as the databases return it; PostgreSQL returns numbers as strings. */
export interface OutboxRow {
  readonly position: number | string;
  readonly id: string;
  readonly event: string;
  readonly attempts: number | string;
  readonly first_claimed_at: number | string;
}

export interface ParkedRow {
  readonly id: string;
  readonly event: string;
  readonly error: string;
  readonly parked_at: number | string;
}

/** Sorts the rows by position, because databases return changed rows in any order. */
export function entriesOf(rows: readonly OutboxRow[]): readonly OutboxEntry[] {
  return rows
    .toSorted((a, b) => Number(a.position) - Number(b.position))
    .map((row) => ({
      id: row.id,
      event: row.event,
      attempts: Number(row.attempts),
      firstClaimedAt: Number(row.first_claimed_at),
    }));
}

export function parkedOf({ id, event, error, parked_at: parkedAt }: ParkedRow): ParkedEntry {
  return { id, event, error, parkedAt: Number(parkedAt) };
}

export function checkedTable(name: string, schemaAllowed: boolean): string {
  if (isTableName(name, schemaAllowed)) return name;
  throw new TypeError(`"${name}" is not a table name`);
}
