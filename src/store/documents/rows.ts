import type { Page } from "../../ports/store.ts";

/** A document with its position, which grows with each row. */
export type PlacedDocument = readonly [seq: number, document: string];

/** A page, newest first. One row more than the limit shows whether there is an older one. */
export function pageOf<Record>(
  rows: readonly PlacedDocument[],
  limit: number,
  toRecord: (document: string, seq: number) => Record,
): Page<Record> {
  const shown = rows.slice(0, limit);
  return {
    rows: shown.map(([seq, document]) => toRecord(document, seq)),
    next: rows.length > limit ? (shown.at(-1)?.[0] ?? null) : null,
  };
}

/** The deployment is stored as the empty name, which no tenant can have: a primary key cannot be null. */
export function tenantColumn(tenantId: string | null): string {
  return tenantId ?? "";
}
