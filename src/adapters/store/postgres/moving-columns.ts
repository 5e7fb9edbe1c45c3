import type { MovedKind, MovedPart, MovedRow, MovedValue } from "../../../ports/store/moving.ts";
import { numbers, plainWords, texts } from "./columns.ts";

/** The type of a column's array, as it is sent. */
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
    literal(
      kind,
      rows.map((row) => row[place] ?? null),
    ),
  );
}

function literal(kind: MovedKind, values: readonly MovedValue[]): string {
  switch (kind) {
    case "integer":
      return numbers(values as (number | null)[]);
    case "text":
      return texts(values as (string | null)[]);
    case "boolean":
      return plainWords(values.map((value) => (value === null ? null : String(value))));
    case "real":
      return plainWords(values.map((value) => (value === null ? null : String(value))));
    case "uuid":
      return plainWords(values as (string | null)[]);
    case "bytes":
      return plainWords(values.map((value) => (value === null ? null : hex(value as Uint8Array))));
  }
}

function hex(bytes: Uint8Array): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
  return `"\\\\x${text}"`;
}
