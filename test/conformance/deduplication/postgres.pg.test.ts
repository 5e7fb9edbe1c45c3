import {
  createPostgresDeduplicationStore,
  createPostgresDeduplicationTable,
} from "../../../src/receiver/stores/postgres.ts";
import { openOwnSchema } from "../../receiver/own-schema.fixture.ts";
import { deduplicationConformance } from "./deduplication.suite.ts";

deduplicationConformance({
  name: "postgres",
  open: async () => {
    const { pool, drop } = await openOwnSchema();
    // Calls run concurrently, as in processes that start together.
    await Promise.all([createPostgresDeduplicationTable(pool), createPostgresDeduplicationTable(pool)]);
    return {
      store: createPostgresDeduplicationStore(pool),
      elsewhere: createPostgresDeduplicationStore(pool),
      cleanup: drop,
    };
  },
});
