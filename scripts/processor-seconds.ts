// What a run of `npm test` costs: seconds of processor time, which unlike time on the clock hardly depend on what else the
// machine does. Linux keeps them; elsewhere they are null, and nothing is printed.

import { readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { projectRoot } from "./source-files.ts";

/** Of /proc: the same for all programs, whatever the kernel's own clock does. */
const ticksPerSecond = 100;

/** Of this process and those of its children that have ended. */
export function ownProcessorSeconds(): number | null {
  return secondsIn("/proc/self/stat");
}

let probes = 0;

/** Learns what a process of Node has cost with all its children, once it has ended. */
export class ProcessorProbe {
  readonly #file = join(tmpdir(), `posthorn-processor-${process.pid}-${(probes += 1)}`);

  /** For the command line of the process. */
  get option(): string {
    const preload = pathToFileURL(join(projectRoot, "scripts", "report-processor-seconds.mjs"));
    preload.searchParams.set("file", this.#file);
    return `--import=${preload.href}`;
  }

  /** Null when it was killed. */
  take(): number | null {
    const seconds = secondsIn(this.#file);
    rmSync(this.#file, { force: true });
    return seconds;
  }
}

/** User and system time of a process and of its children, in a file as Linux gives it for the process. */
function secondsIn(file: string): number | null {
  try {
    // The name of the program, in brackets, may hold anything; the fields after it are numbers.
    const fields = readFileSync(file, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ")
      .map(Number);
    return fields.slice(11, 15).reduce((sum, ticks) => sum + ticks, 0) / ticksPerSecond;
  } catch {
    return null;
  }
}
