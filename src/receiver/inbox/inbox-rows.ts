import type { InboxEntry, ParkedEntry } from "./inbox-store.ts";

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
