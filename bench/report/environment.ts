import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { arch, availableParallelism, cpus, loadavg, platform, release, totalmem } from "node:os";
import { join } from "node:path";
import { median, percentile } from "../statistics.ts";

/** The machine, for whoever reads the figures elsewhere. */
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

/** How long the disk takes to have a page for good, several times. */
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
