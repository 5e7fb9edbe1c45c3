// `npm run simulate`: many seeds, or one seed in detail.
//
//   npm run simulate -- --seeds 10000             seeds 1 to 10,000; continues after a violation
//   npm run simulate -- --seeds 500 --from 2000   a different range
//   npm run simulate -- --seed 4711 --trace       one world, with everything that happens in it
//   npm run simulate -- --seeds 200 --sqlite      with the embedded store instead of the model
//   npm run simulate -- --seeds 10000 --traces FOLDER     stores the trace of each seed
//   npm run simulate -- --seeds 10000 --compare FOLDER    compares each trace with the stored one, after the renames
//                                                         of "traces" in test/frozen/renames.json

import { parseArgs } from "node:util";
import { KeptTraces } from "./kept-traces.ts";
import { addCoverage, emptyCoverage, missingBoundaries, simulate } from "./simulate.ts";
import type { Coverage, SimulationResult } from "./simulate.ts";
import { modelDisk, sqliteDisk } from "./stores.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "200" },
    from: { type: "string", default: "1" },
    seed: { type: "string" },
    trace: { type: "boolean", default: false },
    sqlite: { type: "boolean", default: false },
    traces: { type: "string" },
    compare: { type: "string" },
  },
});

const disk = values.sqlite ? sqliteDisk : modelDisk;
const first = Number(values.seed ?? values.from);
const seeds = values.seed === undefined ? Number(values.seeds) : 1;
const keptIn = values.traces ?? values.compare;
const kept = keptIn === undefined ? null : new KeptTraces(keptIn);
const total = emptyCoverage();
const failed: SimulationResult[] = [];
let different = 0;
const startedAt = performance.now();
let reportedAt = startedAt;
const differencesShown = 5;

for (let seed = first; seed < first + seeds; seed += 1) {
  const lines: string[] = [];
  const onTrace = (line: string): void => {
    if (values.trace) process.stdout.write(`${line}\n`);
    if (kept !== null) lines.push(line);
  };
  const result = await simulate({ seed, disk, onTrace });
  if (values.traces !== undefined) kept?.write(seed, lines);
  const difference = values.compare === undefined ? null : (kept?.firstDifference(seed, lines) ?? null);
  if (difference !== null) different += 1;
  if (difference !== null && different <= differencesShown) process.stderr.write(`${difference}\n`);
  addCoverage(total, result.coverage);
  if (result.violation !== null) {
    failed.push(result);
    process.stderr.write(`seed ${seed}: ${result.violation.message}\n`);
  }
  if (performance.now() - reportedAt < 5_000) continue;
  reportedAt = performance.now();
  process.stderr.write(`${seed - first + 1} of ${seeds} seeds, ${failed.length} violations\n`);
}
printSummary(total);
if (values.compare !== undefined) process.stderr.write(`${different} of ${seeds} traces differ\n`);
process.exitCode = failed.length + different === 0 ? 0 : 1;

function printSummary(coverage: Coverage): void {
  const seconds = (performance.now() - startedAt) / 1_000;
  const rate = (seeds / seconds).toFixed(1);
  const lines = [
    `${seeds} seeds from ${first}, ${failed.length} with a violation; ${seconds.toFixed(1)} s, ${rate} seeds/s`,
    `${(coverage.virtualHours / 24).toFixed(0)} virtual days, ${coverage.steps} steps`,
    `crashes: ${table(coverage.crashes)}`,
    `never died at: ${missingBoundaries(coverage).join(", ") || "none, every boundary was met"}`,
    `store faults: ${table(coverage.storeFaults)}`,
    `receivers: ${table(coverage.moods)}`,
    `settled as: ${table(coverage.states)}`,
    `answered after the end: ${table(coverage.lateAnswers)}`,
    `circuits: ${table(coverage.circuits)}`,
    `log: ${table(coverage.messages)}`,
  ];
  process.stderr.write(`${lines.join("\n")}\n`);
  for (const { seed, violation } of failed.slice(0, 50))
    process.stderr.write(`seed ${seed}: ${violation?.message}\n`);
}

function table(counts: ReadonlyMap<string, number>): string {
  return [...counts]
    .toSorted((a, b) => b[1] - a[1])
    .map(([name, hits]) => `${name} ${hits}`)
    .join(", ");
}
