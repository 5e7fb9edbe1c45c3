import { readFileSync } from "node:fs";
import { summarize } from "./cpu-profile.ts";
import type { CpuProfile, ProfileSummary, Share } from "./cpu-profile.ts";

const functionsShown = 40;
const filesShown = 25;
const callersShown = 30;

/** Where the processor time of a measured stretch went, as text. */
export function describeProfile(file: string): string {
  const summary = summarize(JSON.parse(readFileSync(file, "utf8")) as CpuProfile);
  const busyMs = summary.elapsedMs - summary.idleMs;
  const ours = summary.byFunction
    .filter(({ key }) => key.includes("  src/") || key.includes("  undici/"))
    .toSorted((a, b) => b.totalMs - a.totalMs);
  return [
    `Profile of ${Math.round(summary.elapsedMs)} ms: ${percent(summary, summary.idleMs)} idle, ` +
      `${percent(summary, summary.garbageMs)} garbage collection. Shares below are of the ${Math.round(busyMs)} ms busy.`,
    "",
    "By package and part, native code included in its caller",
    ...rows(summary.byPackage, { busyMs, count: filesShown }),
    "",
    "By file, native code included in its caller",
    ...rows(summary.byFile, { busyMs, count: filesShown }),
    "",
    "By function, time of its own",
    ...rows(summary.byFunction, { busyMs, count: functionsShown }),
    "",
    "By function of src and undici, with everything it calls",
    ...rows(
      ours.map(({ key, totalMs }) => ({ key, selfMs: totalMs, totalMs })),
      { busyMs, count: callersShown },
    ),
    "",
    `Whole profile for DevTools: ${file}`,
  ].join("\n");
}

function rows(
  shares: readonly Share[],
  shown: { readonly busyMs: number; readonly count: number },
): string[] {
  return shares
    .slice(0, shown.count)
    .map(({ key, selfMs }) => `  ${((100 * selfMs) / shown.busyMs).toFixed(1).padStart(5)} %  ${key}`);
}

function percent(summary: ProfileSummary, partMs: number): string {
  return `${((100 * partMs) / summary.elapsedMs).toFixed(1)} %`;
}
