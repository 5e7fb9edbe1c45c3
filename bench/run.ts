// `npm run bench`: see docs/benchmarks.md.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Folders } from "./folders.ts";
import { describeProfile } from "./profile.ts";
import { Raw } from "./raw/raw.ts";
import { describeEnvironment, renderTable } from "./report.ts";
import { type Context, type Line, type Row, RowSkippedError } from "./row.ts";
import { backlog, claims, claimsEmbedded } from "./rows/backlog.ts";
import {
  distributed,
  drain,
  drainDefaultSchemes,
  drainStatistics,
  drainTracing,
  fanOut,
  httpOneToOne,
  postgres,
  through,
} from "./rows/drain.ts";
import { gatewayIsolation, gatewayPass, gatewayStore } from "./rows/gateway.ts";
import { tenantsPostgres } from "./rows/hanging.ts";
import { isolation, latency } from "./rows/latency.ts";
import { bullmq, raw, rawDispatch } from "./rows/limits.ts";
import { idle, loop } from "./rows/loop.ts";
import { quiet } from "./rows/quiet.ts";
import { tenants } from "./rows/tenants.ts";
import { cores, hosts, publishUnderTls, tlsCold, tlsWarm } from "./rows/tls.ts";
import { verify } from "./rows/verify.ts";
import { Sink } from "./sink/sink.ts";

/** The rows in the order in which they run. */
const rows: readonly Row[] = [
  raw,
  rawDispatch,
  bullmq,
  drain,
  drainDefaultSchemes,
  drainStatistics,
  drainTracing,
  through,
  httpOneToOne,
  gatewayStore,
  gatewayPass,
  gatewayIsolation,
  fanOut,
  tlsWarm,
  tlsCold,
  publishUnderTls,
  cores,
  hosts,
  latency,
  quiet,
  isolation,
  tenants,
  tenantsPostgres,
  backlog,
  claimsEmbedded,
  postgres,
  distributed,
  claims,
  idle,
  loop,
  verify,
];
/** Rows that measure another program, several processes, or this process. */
const unprofiled: ReadonlySet<Row> = new Set([bullmq, quiet, verify]);

const exitFailed = 1;
const exitWrongUsage = 2;
const usage = `npm run bench [-- OPTIONS]
  --quick             smaller counts and fewer runs, under a minute
  --only NAME[,NAME]  these rows alone
  --json FILE         write the table as JSON
  --profile NAME      run one row once and print where its processor time goes
  --help`;

function parseOptions() {
  const { values } = parseArgs({
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string", multiple: true },
      json: { type: "string" },
      profile: { type: "string" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const { quick, json, profile, help } = values;
  const only = values.only?.flatMap((list) => list.split(",")).map((name) => name.trim());
  if (profile !== undefined && only !== undefined)
    throw new Error("--profile names its row, so leave out --only");
  const names = profile === undefined ? only : [profile];
  const known = (profile === undefined ? rows : rows.filter((row) => !unprofiled.has(row))).map(
    ({ name }) => name,
  );
  const unknown = names?.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`there is no row ${unknown}; there are ${known.join(", ")}`);
  return { quick, json, profile, help, chosen: rows.filter(({ name }) => names?.includes(name) ?? true) };
}

async function bench({ quick, json, profile, chosen }: ReturnType<typeof parseOptions>): Promise<number> {
  const folders = new Folders();
  const sink = await Sink.start();
  const limit = await Raw.start(sink.origin, quick ? 700 : 3_000);
  const report = new Report();
  const context: Context = {
    sink,
    raw: limit,
    folders,
    quick,
    runs: quick || profile !== undefined ? 1 : 3,
    profile:
      profile === undefined ? null : { file: join(process.cwd(), `bench-${profile}.cpuprofile`), items: 0 },
    lines: report.lines,
    note: (text) => report.notes.push(text),
    progress: (text) => process.stderr.write(`  ${text}\n`),
  };
  try {
    process.stdout.write(`${describeEnvironment(folders.root).join("\n")}\n`);
    for (const row of chosen) await report.add(row, context);
  } finally {
    await limit.stop();
    await sink.kill();
    folders.remove();
  }
  process.stdout.write(`\n${renderTable(report.lines)}\n\n${report.notes.join("\n")}\n`);
  if (context.profile !== null) process.stdout.write(`\n${describeProfile(context.profile)}\n`);
  if (json !== undefined) writeFileSync(json, `${JSON.stringify(report.lines, null, 2)}\n`);
  return report.failed ? exitFailed : 0;
}

/** Collects the results of the rows. If a row fails, the others still run. */
class Report {
  readonly lines: Line[] = [];
  readonly notes: string[] = [];
  failed = false;

  async add(row: Row, context: Context): Promise<void> {
    const { name } = row;
    process.stderr.write(`${name}\n`);
    const startedAt = performance.now();
    try {
      this.lines.push(...(await row.run(context)));
      context.progress(`${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
    } catch (error) {
      const skipped = error instanceof RowSkippedError;
      const reason = error instanceof Error ? error.message : String(error);
      this.lines.push({ name, value: null, unit: "", baseline: null, ratio: null, goal: null, pass: null });
      this.notes.push(`${name}: ${skipped ? "skipped" : "FAILED"}: ${reason}`);
      context.progress(
        skipped ? `skipped: ${reason}` : `failed: ${error instanceof Error ? error.stack : reason}`,
      );
      if (!skipped) this.failed = true;
    }
  }
}

function optionsOrNull(): ReturnType<typeof parseOptions> | null {
  try {
    return parseOptions();
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${usage}\n`);
    return null;
  }
}

const options = optionsOrNull();
if (options === null) process.exitCode = exitWrongUsage;
else if (options.help) process.stdout.write(`${usage}\n`);
else process.exitCode = await bench(options);
