import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { arch, availableParallelism, cpus, loadavg, platform, release, totalmem } from "node:os";
import { join } from "node:path";
import { median, percentile } from "./measure.ts";
import type { Line } from "./row.ts";

/** Describes the machine. */
export function describeEnvironment(folder: string): string[] {
  const sync = measureSyncMs(folder);
  const gib = totalmem() / 1024 ** 3;
  return [
    `${cpus()[0]?.model.trim() ?? "unknown processor"}, ${availableParallelism()} cores, ${gib.toFixed(0)} GiB`,
    `${platform()} ${release()} ${arch()}, Node ${process.versions.node}, SQLite ${process.versions["sqlite"] ?? "?"}`,
    `data in ${folder}: fsync of a page takes ${median(sync).toFixed(2)} ms, p95 ${percentile(sync, 0.95).toFixed(2)} ms`,
    `${new Date().toISOString()}, load average ${(loadavg()[0] ?? 0).toFixed(2)} before the start`,
  ];
}

/** Durations of an fsync of one page. */
export function measureSyncMs(folder: string): number[] {
  const file = openSync(join(folder, "fsync-probe"), "w");
  const page = Buffer.alloc(8192, 1);
  try {
    return Array.from({ length: 60 }, (_, index) => {
      const startedAt = performance.now();
      writeSync(file, page, 0, page.length, index * page.length);
      fdatasyncSync(file);
      return performance.now() - startedAt;
    });
  } finally {
    closeSync(file);
  }
}

const columns = ["name", "value", "unit", "baseline", "ratio", "goal", "pass"] as const;
const rightAligned = new Set(["value", "baseline", "ratio"]);

/** The result lines as an aligned table. */
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

/** Formats a number with three significant digits. */
function number(value: number | null): string {
  if (value === null) return "";
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en");
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
}
