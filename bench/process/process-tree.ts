import { readdirSync, readFileSync } from "node:fs";

/** The unit of CPU times in /proc/PID/stat on Linux. */
const ticksPerSecond = 100;
/** Field positions in /proc/PID/stat, counted after the program name, which may contain any characters. */
const parentPlace = 1;
/** The process's CPU time in user and in system mode, followed by that of its exited children. */
const timePlaces = [11, 12, 13, 14];

/** CPU time of a process and its descendants since they started, including descendants that have exited. */
export function treeCpuMs(root: number): number {
  const all = readAll();
  let ticks = 0;
  const open = [root];
  for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
    ticks += all.get(pid)?.ticks ?? 0;
    for (const [child, { parent }] of all) if (parent === pid) open.push(child);
  }
  return (ticks * 1_000) / ticksPerSecond;
}

/** Null if the process is not running on this machine. */
export function parentOf(pid: number): number | null {
  return read(String(pid))?.parent ?? null;
}

interface ProcessTimes {
  readonly parent: number;
  readonly ticks: number;
}

function readAll(): ReadonlyMap<number, ProcessTimes> {
  const all = new Map<number, ProcessTimes>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const times = read(name);
    if (times !== null) all.set(Number(name), times);
  }
  return all;
}

/** Null if the process has exited. */
function read(pid: string): ProcessTimes | null {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
    const ticks = timePlaces.reduce((sum, place) => sum + Number(fields[place]), 0);
    return { parent: Number(fields[parentPlace]), ticks };
  } catch {
    return null;
  }
}
