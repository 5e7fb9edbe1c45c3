import { readFileSync } from "node:fs";

/** The limit of open files and sockets for this process; null if the system does not report it. */
export function openFilesMax(): number | null {
  try {
    const limits = readFileSync("/proc/self/limits", "utf8");
    const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
    return soft === undefined ? null : Number(soft);
  } catch {
    return null;
  }
}
