// `npm run bench`: measures what design.md, section 8, claims. See docs/benchmarks.md.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Folders } from "./folders.ts";
import { parseOptions, usage, UsageError } from "./options.ts";
import type { BenchOptions } from "./options.ts";
import { describeProfile } from "./profile/describe.ts";
import { Raw } from "./raw/raw.ts";
import { describeEnvironment } from "./report/environment.ts";
import { renderTable } from "./report/table.ts";
import { RowSkippedError } from "./row.ts";
import type { Context, Line, ProfileTarget, Row } from "./row.ts";
import { allRows, unprofiledRows } from "./rows/all-rows.ts";
import { Sink } from "./sink/sink.ts";

const exitFailed = 1;
const exitWrongUsage = 2;

async function main(): Promise<number> {
  let options: BenchOptions | null = null;
  try {
    const names = allRows.map(({ name }) => name);
    options = parseOptions(
      process.argv.slice(2),
      names,
      names.filter((name) => !unprofiledRows.includes(name)),
    );
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`${error.message}\n${usage}\n`);
    return exitWrongUsage;
  }
  if (options === null) {
    process.stdout.write(`${usage}\n`);
    return 0;
  }
  return bench(options);
}

async function bench(options: BenchOptions): Promise<number> {
  const folders = new Folders();
  const sink = await Sink.start();
  const raw = await Raw.start(sink.origin, options.quick ? 700 : 3_000);
  const report = new Report();
  const context: Context = {
    sink,
    raw,
    folders,
    quick: options.quick,
    runs: runsOf(options),
    profile: profileTarget(options),
    lines: report.lines,
    note: (text) => report.notes.push(text),
    progress: (text) => process.stderr.write(`  ${text}\n`),
  };
  try {
    process.stdout.write(`${describeEnvironment(folders.root).join("\n")}\n`);
    for (const row of allRows) {
      if (options.only === null || options.only.includes(row.name)) await report.add(row, context);
    }
  } finally {
    await raw.stop();
    await sink.stop();
    folders.remove();
  }
  process.stdout.write(`\n${renderTable(report.lines)}\n\n${report.notes.join("\n")}\n`);
  if (context.profile !== null) process.stdout.write(`\n${describeProfile(context.profile)}\n`);
  if (options.jsonFile !== null)
    writeFileSync(options.jsonFile, `${JSON.stringify(report.lines, null, 2)}\n`);
  return report.failed ? exitFailed : 0;
}

function profileTarget({ profile }: BenchOptions): ProfileTarget | null {
  return profile === null ? null : { file: join(process.cwd(), `bench-${profile}.cpuprofile`), items: 0 };
}

function runsOf(options: BenchOptions): number {
  if (options.profile !== null) return 1;
  return options.quick ? 1 : 3;
}

/** What the rows said. A row that fails does not keep the others from running. */
class Report {
  readonly lines: Line[] = [];
  readonly notes: string[] = [];
  failed = false;

  async add(row: Row, context: Context): Promise<void> {
    process.stderr.write(`${row.name}\n`);
    const startedAt = performance.now();
    try {
      this.lines.push(...(await row.run(context)));
      context.progress(`${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
    } catch (error) {
      const skipped = error instanceof RowSkippedError;
      const reason = error instanceof Error ? error.message : String(error);
      this.lines.push({
        name: row.name,
        value: null,
        unit: "",
        baseline: null,
        ratio: null,
        goal: null,
        pass: null,
      });
      this.notes.push(`${row.name}: ${skipped ? "skipped" : "FAILED"}: ${reason}`);
      context.progress(
        skipped ? `skipped: ${reason}` : `failed: ${error instanceof Error ? error.stack : reason}`,
      );
      if (!skipped) this.failed = true;
    }
  }
}

process.exitCode = await main();
