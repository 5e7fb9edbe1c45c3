import type { Line } from "../row.ts";

const columns = ["name", "value", "unit", "baseline", "ratio", "goal", "pass"] as const;
const rightAligned = new Set(["value", "baseline", "ratio"]);

/** The lines as text, aligned. */
export function renderTable(lines: readonly Line[]): string {
  const cells = [[...columns], ...lines.map(cellsOf)];
  const widths = columns.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  return cells
    .map((row) => row.map((cell, column) => aligned(cell, column, widths[column] ?? 0)).join("  "))
    .map((row) => row.trimEnd())
    .join("\n");
}

function cellsOf(line: Line): string[] {
  return [
    line.name,
    number(line.value),
    line.unit,
    number(line.baseline),
    line.ratio === null ? "" : line.ratio.toFixed(2),
    line.goal ?? "",
    verdict(line),
  ];
}

function verdict({ value, pass }: Line): string {
  if (value === null) return "skipped";
  if (pass === null) return "";
  return pass ? "yes" : "NO";
}

function aligned(cell: string, column: number, width: number): string {
  const name = columns[column] ?? "name";
  return rightAligned.has(name) ? cell.padStart(width) : cell.padEnd(width);
}

/** Three digits that matter. */
function number(value: number | null): string {
  if (value === null) return "";
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en");
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
}
