import {
  createPostgresInboxStore,
  createPostgresInboxTable,
} from "../../../src/receiver/inbox/postgres-store.ts";
import { openOwnSchema } from "../../receiver/own-schema.ts";
import { inboxConformance } from "./suite.ts";

inboxConformance({
  name: "postgres",
  open: async () => {
    const { pool, drop } = await openOwnSchema();
    await createPostgresInboxTable(pool);
    return {
      store: createPostgresInboxStore(pool),
      elsewhere: createPostgresInboxStore(pool),
      cleanup: drop,
    };
  },
});
