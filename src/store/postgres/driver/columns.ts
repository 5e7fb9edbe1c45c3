import { storable } from "../../column-values.ts";

/**
 * Encodes columns of a batch as PostgreSQL array literals, one parameter each, for `unnest`. Hand-written because pg's
 * conversion costs more than the statement: it matches every element against a regular expression.
 */

/** Whole numbers, null as NULL. Fractions of a millisecond are rounded, because the column is a bigint. */
export function numbers(values: readonly (number | null)[]): string {
  return `{${values.map((value) => (value === null ? "NULL" : whole(value))).join(",")}}`;
}

export function decimals(values: readonly number[]): string {
  return `{${values.join(",")}}`;
}

function whole(value: number): number {
  if (Number.isSafeInteger(value)) return value;
  return Math.round(Math.min(Math.max(value, Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER));
}

/** UUIDs and other words without characters that are special in array literals. */
export function plainWords(values: readonly (string | null)[]): string {
  return `{${values.map((value) => value ?? "NULL").join(",")}}`;
}

export function booleans(values: readonly boolean[]): string {
  return `{${values.map((value) => (value ? "t" : "f")).join(",")}}`;
}

/** Any text, null as NULL. */
export function texts(values: readonly (string | null)[]): string {
  return `{${values.map((value) => (value === null ? "NULL" : `"${escaped(value)}"`)).join(",")}}`;
}

const needsEscape = /["\\]/;

function escaped(text: string): string {
  const clean = storable(text);
  return needsEscape.test(clean) ? clean.replaceAll(/["\\]/g, "\\$&") : clean;
}
