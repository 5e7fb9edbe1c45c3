import type { MovedKind, MovedPart, MovedRow, MovedValue } from "../../../ports/store/moving.ts";
import { numbers, plainWords, texts } from "./columns.ts";

/** The array type in which a column is sent. */
export const arrayTypes: Readonly<Record<MovedKind, string>> = {
  integer: "bigint[]",
  real: "float8[]",
  text: "text[]",
  boolean: "boolean[]",
  bytes: "bytea[]",
  uuid: "uuid[]",
};

/** Rows column by column, one array literal each, for `unnest`. */
export function columnsOf(part: MovedPart, rows: readonly MovedRow[]): readonly string[] {
  return Object.values(part.columns).map((kind, place) =>
    literals[kind](rows.map((row) => row[place] ?? null)),
  );
}

const literals: Readonly<Record<MovedKind, (values: readonly MovedValue[]) => string>> = {
  integer: (values) => numbers(values as (number | null)[]),
  text: (values) => texts(values as (string | null)[]),
  uuid: (values) => plainWords(values as (string | null)[]),
  boolean: (values) => plainWords(values.map(plainText)),
  real: (values) => plainWords(values.map(plainText)),
  bytes: (values) => plainWords(values.map((value) => (value === null ? null : hex(value as Uint8Array)))),
};

function plainText(value: MovedValue): string | null {
  return value === null ? null : String(value);
}

function hex(bytes: Uint8Array): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
  return `"\\\\x${text}"`;
}
