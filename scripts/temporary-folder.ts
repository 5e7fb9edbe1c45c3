// Where tests keep their folders: in memory, where the machine has room for them there. What they prove does not depend on
// a disk that forgets nothing, because killed processes lose nothing of what they wrote, and many would wait for its `fsync`.

import { chmodSync, mkdtempSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { leftovers } from "../test/services/leftovers.ts";

const memoryFolder = "/dev/shm";
/** Many times what all tests of a run keep at once. */
const roomBytesMin = 6 * 1024 ** 3;

/** For the tests of this run, unless TMPDIR names another place. Returns what removes it; it also goes with the process. */
export function keepFoldersInMemory(): () => void {
  if (process.env["TMPDIR"] !== undefined || !hasRoom()) return () => undefined;
  const folder = mkdtempSync(join(memoryFolder, "posthorn-test-"));
  // Servers of other accounts have their folders in it.
  chmodSync(folder, 0o711);
  leftovers.folder(folder);
  process.env["TMPDIR"] = folder;
  return () => leftovers.removeFolder(folder);
}

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(memoryFolder);
    return bavail * bsize >= roomBytesMin;
  } catch {
    return false;
  }
}
