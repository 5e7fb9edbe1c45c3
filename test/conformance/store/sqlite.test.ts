import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import { start } from "./scene.fixture.ts";
import { storeConformance } from "./store.suite.ts";

storeConformance({
  name: "sqlite",
  cannotShare: "one owner per data folder",
  open: async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "posthorn-store-"));
    const openHere = () => openSqliteStore({ dataDir, now: start, pid: process.pid });
    let store = await openHere();
    return {
      store,
      reopen: async () => {
        await store.close();
        store = await openHere();
        return store;
      },
      cleanup: async () => {
        await store.close();
        await rm(dataDir, { recursive: true });
      },
    };
  },
});
