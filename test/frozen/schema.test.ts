import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { migrate } from "../../src/store/sqlite/migrations.ts";
import { assertFrozen } from "./golden.ts";
import { sqliteSchema } from "./schema.ts";

test("the schema of SQLite matches the golden file", (t) => {
  const db = new DatabaseSync(":memory:");
  t.after(() => db.close());
  migrate(db, 0);
  assertFrozen("schema-sqlite.txt", sqliteSchema(db), "sorted");
});
