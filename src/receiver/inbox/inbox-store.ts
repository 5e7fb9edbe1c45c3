/**
 * Stores messages that were accepted but not yet processed.
 *
 * Guarantees of every implementation:
 * - a resolved `put` is as durable as the database; putting a known id changes nothing;
 * - of any number of concurrent claims, in any number of processes, only one gets an entry, earliest due time first;
 * - a claim counts as an attempt and holds the entry until `leaseUntil`; then the entry is due again, so that entries
 *   claimed by a crashed process are processed again;
 * - only the newest claim can settle an entry; older claims change nothing and return false;
 * - a parked entry is never claimed until it is requeued.
 */
export interface InboxStore {
  put(entry: NewInboxEntry): Promise<void>;
  /** Claims one due entry, or returns null. */
  claim(now: number, leaseUntil: number, token: string): Promise<InboxEntry | null>;
  /** Removes a processed entry. */
  done(claim: InboxClaim): Promise<boolean>;
  /** Releases an entry, which is due again at `dueAt`. */
  postpone(claim: InboxClaim & { readonly dueAt: number; readonly error: string }): Promise<boolean>;
  /** Parks an entry that cannot be processed. */
  park(claim: InboxClaim & { readonly parkedAt: number; readonly error: string }): Promise<boolean>;
  /** Parked entries, oldest first. */
  listParked(limit: number): Promise<readonly ParkedEntry[]>;
  /** Makes a parked entry due and resets its attempts. Returns false if the entry does not exist. */
  requeue(id: string, now: number): Promise<boolean>;
  /** Removes a parked entry. Returns false if the entry does not exist. */
  discard(id: string): Promise<boolean>;
}

interface NewInboxEntry {
  readonly id: string;
  /** Everything except the body, as JSON text. */
  readonly envelope: string;
  readonly body: Uint8Array;
  /** Unix ms from which it may be claimed. */
  readonly dueAt: number;
}

export interface InboxEntry extends NewInboxEntry {
  /** 1 for the first claim. */
  readonly attempt: number;
}

export interface InboxClaim {
  readonly id: string;
  readonly token: string;
}

export interface ParkedEntry extends InboxEntry {
  readonly parkedAt: number;
  /** Error of the last attempt. */
  readonly error: string;
}

/** A row of the table as SQLite and PostgreSQL return it; `pg` returns BIGINT as a string. */
export interface InboxRow {
  readonly id: string;
  readonly envelope: string;
  readonly body: Uint8Array;
  readonly due_at: number | string;
  readonly attempts: number;
  readonly parked_at: number | string | null;
  readonly error: string | null;
}

export const inboxTable = "posthorn_inbox";

export function entryOf(row: InboxRow): InboxEntry {
  const { id, envelope, body, due_at: dueAt, attempts: attempt } = row;
  return { id, envelope, body, dueAt: Number(dueAt), attempt };
}

export function parkedOf(row: InboxRow): ParkedEntry {
  return { ...entryOf(row), parkedAt: Number(row.parked_at), error: row.error ?? "" };
}
