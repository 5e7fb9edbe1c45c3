import type { Terminal } from "./terminal.ts";
import { relativeTime } from "./times.ts";

/** A table column. */
export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => unknown;
}

/**
 * Creates columns from a table with their titles. Each column shows the named member of a row, or the result of a
 * function.
 */
export function columns<Row extends object>(
  table: Readonly<Record<string, string | ((row: Row) => unknown)>>,
): readonly Column<Row>[] {
  return Object.entries(table).map(([title, what]) => ({
    title,
    value: typeof what === "function" ? what : (row) => (row as Readonly<Record<string, unknown>>)[what],
  }));
}

/** Returns a column function that shows this member as a time. */
export function timeIn(name: string) {
  return (row: Readonly<Record<string, unknown>>): string => shortTime(row[name]);
}

const gap = "  ";

/** Prints a table with a header. Lines are truncated to the terminal width. */
export function printTable<Row>(
  terminal: Terminal,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
): void {
  const cells = rows.map((row) => columns.map(({ value }) => cellText(value(row))));
  const widths = columns.map(({ title }, index) =>
    Math.max(title.length, ...cells.map((line) => line[index]?.length ?? 0)),
  );
  const format = (line: readonly string[]): string =>
    cut(
      line
        .map((cell, index) => cell.padEnd(widths[index] ?? 0))
        .join(gap)
        .trimEnd(),
      terminal.outColumns,
    );
  terminal.data(terminal.outStyle("dim", format(columns.map(({ title }) => title))));
  for (const line of cells) terminal.data(format(line));
}

/** Prints `name  value` lines, with nested values as JSON. */
export function printFields(terminal: Terminal, fields: Readonly<Record<string, unknown>>): void {
  const names = Object.keys(fields);
  const width = Math.max(0, ...names.map((name) => name.length));
  for (const [name, value] of Object.entries(fields)) {
    terminal.data(`${terminal.outStyle("dim", name.padEnd(width))}${gap}${fieldText(value)}`);
  }
}

/** Replaces control characters, because untrusted text must not move the cursor. */
export function cellText(value: unknown): string {
  if (value === null || value === undefined) return "-";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.replaceAll(/\p{Cc}/gu, "·");
}

/** Formats an RFC 3339 time as `2026-01-31 09:30:00, 3 min ago`. */
export function shortTime(instant: unknown): string {
  if (typeof instant !== "string") return "-";
  return `${instant.slice(0, 19).replace("T", " ")}, ${relativeTime(instant, Date.now())}`;
}

const instantForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*Z$/;

function fieldText(value: unknown): string {
  const text = cellText(value);
  return instantForm.test(text) ? `${text} (${relativeTime(text, Date.now())})` : text;
}

function cut(line: string, columns: number | undefined): string {
  return columns === undefined || line.length <= columns
    ? line
    : `${line.slice(0, Math.max(1, columns - 1))}…`;
}
