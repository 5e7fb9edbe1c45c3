import { readFileSync } from "node:fs";
import type { ProfileTarget } from "../row.ts";
import { summarize } from "./cpu-profile.ts";
import type { CpuProfile, ProfileSummary, Share } from "./cpu-profile.ts";

const functionsShown = 40;
const filesShown = 25;
const callersShown = 30;

/** Where the processor time of a measured stretch went, as text. */
export function describeProfile({ file, items }: ProfileTarget): string {
  const summary = summarize(JSON.parse(readFileSync(file, "utf8")) as CpuProfile);
  const busyMs = summary.elapsedMs - summary.idleMs;
  const rows = (shares: readonly Share[], count: number): string[] =>
    shares.slice(0, count).map((share) => row(share, busyMs, items));
  const ours = summary.byFunction
    .filter(({ key }) => key.includes("  src/") || key.includes("  undici/"))
    .toSorted((a, b) => b.totalMs - a.totalMs);
  const perItem = items === 0 ? "" : `, times for one of ${items.toLocaleString("en")} deliveries`;
  return [
    `Profile of ${Math.round(summary.elapsedMs)} ms: ${percent(summary, summary.idleMs)} idle, ${percent(summary, summary.garbageMs)} garbage collection. Shares below are of the ${Math.round(busyMs)} ms busy${perItem}.`,
    "",
    "By package and part, native code included in its caller",
    ...rows(summary.byPackage, filesShown),
    "",
    "By file, native code included in its caller",
    ...rows(summary.byFile, filesShown),
    "",
    "By function, time of its own",
    ...rows(summary.byFunction, functionsShown),
    "",
    "By function of src and undici, with everything it calls",
    ...rows(
      ours.map(({ key, totalMs }) => ({ key, selfMs: totalMs, totalMs })),
      callersShown,
    ),
    "",
    `Whole profile for DevTools: ${file}`,
  ].join("\n");
}

/** Share, then microseconds of one delivery where there are any, then what. */
function row({ key, selfMs }: Share, busyMs: number, items: number): string {
  const share = `${((100 * selfMs) / busyMs).toFixed(1).padStart(5)} %`;
  const each = items === 0 ? "" : `${((1000 * selfMs) / items).toFixed(2).padStart(7)} µs`;
  return `  ${share}${each}  ${key}`;
}

function percent(summary: ProfileSummary, partMs: number): string {
  return `${((100 * partMs) / summary.elapsedMs).toFixed(1)} %`;
}
