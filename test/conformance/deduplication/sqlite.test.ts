import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createSqliteDeduplicationStore } from "../../../src/receiver/stores/sqlite.ts";
import { deduplicationConformance } from "./deduplication.suite.ts";

deduplicationConformance({
  name: "sqlite",
  open: async () => {
    const directory = await mkdtemp(join(tmpdir(), "posthorn-receiver-"));
    const databases = [0, 1].map(() => new DatabaseSync(join(directory, "application.db")));
    const [store, elsewhere] = databases.map((database) => createSqliteDeduplicationStore(database));
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
