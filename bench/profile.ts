import { readFileSync } from "node:fs";
import type { ProfileTarget } from "./row.ts";

const functionsShown = 40;
const filesShown = 25;
const callersShown = 30;

/** A text report on where a measured interval spent its CPU time. */
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
    "By function, self time",
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

/** Formats the share, the microseconds per delivery if deliveries are counted, and the name. */
function row({ key, selfMs }: Share, busyMs: number, items: number): string {
  const share = `${((100 * selfMs) / busyMs).toFixed(1).padStart(5)} %`;
  const each = items === 0 ? "" : `${((1000 * selfMs) / items).toFixed(2).padStart(7)} µs`;
  return `  ${share}${each}  ${key}`;
}

function percent(summary: ProfileSummary, partMs: number): string {
  return `${((100 * partMs) / summary.elapsedMs).toFixed(1)} %`;
}

/** The used part of a `.cpuprofile` (Chrome DevTools Protocol, `Profiler.Profile`). */
interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  /** In microseconds. */
  readonly startTime: number;
  readonly endTime: number;
  /** Node IDs, one per sample. */
  readonly samples: readonly number[];
  /** Microseconds since the previous sample. */
  readonly timeDeltas: readonly number[];
}

interface ProfileNode {
  readonly id: number;
  readonly callFrame: CallFrame;
  readonly children?: readonly number[];
}

interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
}

/** CPU time of one function, one file or one package. */
interface Share {
  readonly key: string;
  readonly selfMs: number;
  /** Includes the time of all functions that it called. Zero for rows where a total has no meaning. */
  readonly totalMs: number;
}

interface ProfileSummary {
  readonly elapsedMs: number;
  readonly idleMs: number;
  readonly garbageMs: number;
  readonly byFunction: readonly Share[];
  /** Totals by file and by package. Native code is attributed to its caller. */
  readonly byFile: readonly Share[];
  readonly byPackage: readonly Share[];
}

/** Sums up a profile by function, by file and by package. */
function summarize(profile: CpuProfile): ProfileSummary {
  const selfMs = selfTimes(profile);
  const functions = new Totals();
  const files = new Totals();
  const packages = new Totals();
  const byId = new Map(profile.nodes.map((node) => [node.id, node]));
  const special = { idleMs: 0, garbageMs: 0 };
  const visit = (node: ProfileNode, callers: ReadonlySet<string>, caller: CallFrame): number => {
    const own = selfMs.get(node.id) ?? 0;
    const { functionName } = node.callFrame;
    const owner = ownerOf(node.callFrame, caller);
    const key = `${functionName === "" ? "(anonymous)" : functionName}  ${placeOf(node.callFrame, owner)}`;
    const within = callers.has(key) ? callers : new Set([...callers, key]);
    let total = own;
    for (const id of node.children ?? []) {
      const child = byId.get(id);
      if (child !== undefined) total += visit(child, within, owner);
    }
    if (functionName === "(idle)") special.idleMs += own;
    else if (functionName !== "(root)") {
      if (functionName === "(garbage collector)") special.garbageMs += own;
      functions.add(key, own, callers.has(key) ? 0 : total);
      files.add(fileOf(owner), own, 0);
      packages.add(packageOf(owner), own, 0);
    }
    return total;
  };
  const [root] = profile.nodes;
  if (root !== undefined) visit(root, new Set(), root.callFrame);
  return {
    elapsedMs: (profile.endTime - profile.startTime) / 1000,
    ...special,
    byFunction: functions.shares(),
    byFile: files.shares(),
    byPackage: packages.shares(),
  };
}

/** CPU time by node. The time of a sample is the interval until the next sample. */
function selfTimes(profile: CpuProfile): ReadonlyMap<number, number> {
  const times = new Map<number, number>();
  for (const [index, id] of profile.samples.entries()) {
    const deltaUs = profile.timeDeltas[index + 1] ?? 0;
    times.set(id, (times.get(id) ?? 0) + Math.max(0, deltaUs) / 1000);
  }
  return times;
}

class Totals {
  readonly #entries = new Map<string, { selfMs: number; totalMs: number }>();

  add(key: string, selfMs: number, totalMs: number): void {
    const entry = this.#entries.get(key) ?? { selfMs: 0, totalMs: 0 };
    entry.selfMs += selfMs;
    entry.totalMs += totalMs;
    this.#entries.set(key, entry);
  }

  shares(): Share[] {
    return [...this.#entries]
      .map(([key, { selfMs, totalMs }]) => ({ key, selfMs, totalMs }))
      .toSorted((a, b) => b.selfMs - a.selfMs);
  }
}

/**
 * Attributes native code to the script that called it: SQLite's work to the store, and a system call to the code that
 * writes.
 */
function ownerOf(frame: CallFrame, caller: CallFrame): CallFrame {
  const isNative = frame.url === "" && !frame.functionName.startsWith("(");
  return isNative && caller.url !== "" ? caller : frame;
}

function placeOf(frame: CallFrame, owner: CallFrame): string {
  if (frame !== owner) return `native, for ${owner.functionName} ${fileOf(owner)}:${owner.lineNumber + 1}`;
  return frame.url === "" ? "" : `${fileOf(frame)}:${frame.lineNumber + 1}`;
}

function fileOf(frame: CallFrame): string {
  if (frame.url === "") return frame.functionName.startsWith("(") ? frame.functionName : "native";
  const path = frame.url.replace(/^file:\/\//, "");
  const packaged = path.lastIndexOf("/node_modules/");
  if (packaged >= 0) return path.slice(packaged + "/node_modules/".length);
  return path.startsWith(projectRoot) ? path.slice(projectRoot.length) : path;
}

/** The name of an npm package, a part of the source, or Node. */
function packageOf(frame: CallFrame): string {
  const file = fileOf(frame);
  if (frame.url.startsWith("node:")) return "node";
  if (frame.url.includes("/node_modules/")) return file.split("/", file.startsWith("@") ? 2 : 1).join("/");
  if (/^src\/(store|system|transport)\//.test(file)) return file.split("/", 3).join("/");
  return file.includes("/") ? file.split("/", 2).join("/") : file;
}

const projectRoot = new URL("../", import.meta.url).pathname;
