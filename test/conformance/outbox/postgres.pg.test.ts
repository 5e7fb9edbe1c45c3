import {
  createPostgresOutboxStore,
  createPostgresOutboxTable,
  type PostgresQueryable,
} from "../../../src/client/outbox/postgres-store.ts";
import { openOwnSchema } from "../../receiver/own-schema.fixture.ts";
import { outboxConformance } from "./outbox.suite.ts";

outboxConformance<PostgresQueryable, Promise<void>>({
  name: "postgres",
  open: async () => {
    const { pool, drop } = await openOwnSchema();
    // Even if several processes start together, the table is created only once.
    await Promise.all([createPostgresOutboxTable(pool), createPostgresOutboxTable(pool)]);
    return {
      store: createPostgresOutboxStore(pool),
      elsewhere: createPostgresOutboxStore(pool),
      transaction: async (work, end) => {
        const client = await pool.connect();
        try {
          await client.query("BEGIN");
          await work(client);
          await client.query(end);
        } finally {
          client.release();
        }
      },
      cleanup: drop,
    };
  },
});
