import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import type { Store } from "../../src/ports/store.ts";
import { createModelStore } from "./model-store.ts";

/** The part of a world that survives its processes: a store that can be reopened repeatedly. */
export interface Disk {
  /** The store that the running process has opened. */
  readonly store: () => Store;
  /** Called when the process has died or ended. The next process opens the same data. */
  readonly reopen: () => Promise<void>;
  readonly remove: () => Promise<void>;
}

export function modelDisk(): Disk {
  const store = createModelStore();
  return { store: () => store, reopen: async () => store.restart(), remove: async () => undefined };
}

/** The embedded store in a separate folder. A crash closes the file without involving the engine. */
export async function sqliteDisk(now: () => number): Promise<Disk> {
  const dataDir = await mkdtemp(join(tmpdir(), "posthorn-simulation-"));
  const open = (): Promise<Store> => openSqliteStore({ dataDir, now: now(), pid: process.pid });
  let store = await open();
  return {
    store: () => store,
    reopen: async () => {
      await store.close();
      store = await open();
    },
    remove: async () => {
      await store.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
