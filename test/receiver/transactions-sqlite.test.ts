import { DatabaseSync } from "node:sqlite";
import { sqliteTransactions } from "../../src/receiver/stores/sqlite.ts";
import { transactionTests } from "./transactions.suite.ts";

transactionTests("sqlite", async () => {
  const database = new DatabaseSync(":memory:");
  database.exec("CREATE TABLE orders (id INTEGER PRIMARY KEY)");
  const count = (table: string) =>
    Number(database.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.["count"]);
  return {
    isSerial: true,
    inTransaction: sqliteTransactions(database),
    insertOrder: async (transaction) => transaction.exec("INSERT INTO orders DEFAULT VALUES"),
    countOrders: async () => count("orders"),
    countKeys: async () => count("posthorn_deduplication"),
    cleanup: async () => database.close(),
  };
});
