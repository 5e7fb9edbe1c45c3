import { isTableName } from "../../core/application-database.ts";
import type { OutboxEntry, ParkedEntry } from "./outbox-store.ts";

export const outboxTable = "posthorn_outbox";

/** The row of both databases; PostgreSQL returns numbers as strings. */
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

/** Databases return changed rows in any order. */
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

export function checkedTable(name: string, options: { readonly schemaAllowed: boolean }): string {
  if (isTableName(name, options)) return name;
  throw new TypeError(`"${name}" is not a table name`);
}
