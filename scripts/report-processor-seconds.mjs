// Preloaded into processes of which somebody wants to know what they cost (scripts/processor-seconds.ts): writes the fields
// that Linux keeps for a process and its children to a file when it ends.

import { readFileSync, writeFileSync } from "node:fs";
import { isMainThread } from "node:worker_threads";

const file = new URL(import.meta.url).searchParams.get("file");

if (isMainThread && file !== null && process.platform === "linux") {
  process.on("exit", () => writeFileSync(file, readFileSync("/proc/self/stat")));
}
