import type { PoolClient } from "pg";
import {
  createPostgresDeduplicationTable,
  postgresTransactions,
} from "../../src/receiver/stores/postgres.ts";
import { openOwnSchema } from "./own-schema.fixture.ts";
import { transactionTests } from "./transactions.suite.ts";

transactionTests("postgres", async () => {
  const { pool, drop } = await openOwnSchema();
  await pool.query("CREATE TABLE orders (id SERIAL)");
  await createPostgresDeduplicationTable(pool);
  const count = async (table: string) =>
    Number((await pool.query(`SELECT count(*) AS count FROM ${table}`)).rows[0].count);
  return {
    isSerial: false,
    inTransaction: postgresTransactions<PoolClient>(pool),
    insertOrder: async (transaction) => void (await transaction.query("INSERT INTO orders DEFAULT VALUES")),
    countOrders: () => count("orders"),
    countKeys: () => count("posthorn_deduplication"),
    cleanup: drop,
  };
});
