import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createSqliteInboxStore } from "../../../src/receiver/inbox/sqlite-store.ts";
import { inboxConformance } from "./inbox.suite.ts";

inboxConformance({
  name: "sqlite",
  open: async () => {
    const directory = await mkdtemp(join(tmpdir(), "posthorn-inbox-"));
    const databases = [0, 1].map(() => new DatabaseSync(join(directory, "application.db")));
    const [store, elsewhere] = databases.map((database) => createSqliteInboxStore(database));
    return {
      store: store!,
      elsewhere: elsewhere!,
      cleanup: async () => {
        for (const database of databases) database.close();
        await rm(directory, { recursive: true });
      },
    };
  },
});
