import type {
  KeptStretch,
  MovedKey,
  MovedKind,
  MovedPart,
  MovedRow,
  MovedValue,
} from "../../ports/store/moving.ts";
import { storable } from "./storable-text.ts";

type Stored = string | number | bigint | boolean | Uint8Array | null;

/** A row in the form in which both stores read and write it. */
export function movedRow(part: MovedPart, stored: readonly unknown[]): MovedRow {
  return Object.values(part.columns).map((kind, place) => movedValue(kind, stored[place] as Stored));
}

function movedValue(kind: MovedKind, value: Stored): MovedValue {
  if (value === null) return null;
  if (kind === "boolean") return Boolean(value);
  // SQLite stores fractions, PostgreSQL rounds them.
  if (kind === "integer") return Math.round(Number(value));
  if (kind === "text") return storable(String(value));
  return value as MovedValue;
}

/** A stretch as both stores record it. */
export type KeptRow = [number: number, upTo: string, rows: number, digest: string, fingerprint: string];

/** In order; each begins where the previous one ends. */
export function keptStretches(rows: readonly KeptRow[]): readonly KeptStretch[] {
  let after: MovedKey | null = null;
  return rows.map(([number, upToText, count, digest, fingerprint]) => {
    const upTo = JSON.parse(upToText) as MovedKey;
    const stretch: KeptStretch = { number, after, upTo, rows: count, digest, fingerprint };
    after = upTo;
    return stretch;
  });
}
