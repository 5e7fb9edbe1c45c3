/**
 * Where messages wait that were accepted but not yet processed.
 *
 * Promises of every implementation, proved by test/conformance/inbox:
 * - a resolved `put` is as durable as the database is; putting a known id changes nothing;
 * - of any number of claims at the same time, in any number of processes, one gets an entry, oldest due time first;
 * - a claim counts as an attempt and holds until `leaseUntil`; then the entry is due again, so that what a crashed process
 *   had claimed comes back;
 * - only the newest claim can settle an entry; others change nothing and are told false;
 * - a parked entry is never claimed until somebody requeues it.
 */
export interface InboxStore {
  put(entry: NewInboxEntry): Promise<void>;
  /** One entry that is due, or null. */
  claim(request: {
    readonly now: number;
    readonly leaseUntil: number;
    readonly token: string;
  }): Promise<InboxEntry | null>;
  /** Removes a processed entry. */
  done(claim: InboxClaim): Promise<boolean>;
  /** Gives an entry back, to be due at `dueAt`. */
  postpone(claim: InboxClaim & { readonly dueAt: number; readonly error: string }): Promise<boolean>;
  /** Puts an entry aside that cannot be processed. */
  park(claim: InboxClaim & { readonly parkedAt: number; readonly error: string }): Promise<boolean>;
  /** Parked entries, oldest first. */
  listParked(request: { readonly limit: number }): Promise<readonly ParkedEntry[]>;
  /** Makes a parked entry due, with its attempts counted from the start. False when there is none. */
  requeue(request: { readonly id: string; readonly now: number }): Promise<boolean>;
  /** Forgets a parked entry. False when there is none. */
  discard(request: { readonly id: string }): Promise<boolean>;
}

export interface NewInboxEntry {
  readonly id: string;
  /** Everything but the body, as JSON text. */
  readonly envelope: string;
  readonly body: Uint8Array;
  /** Unix ms, from which on it may be claimed. */
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
  /** What the last attempt failed with. */
  readonly error: string;
}
