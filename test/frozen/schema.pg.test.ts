import { test } from "node:test";
import { Database } from "../../src/store/postgres/driver/database.ts";
import { loadDriver } from "../../src/store/postgres/driver/driver.ts";
import { Incarnations } from "../../src/store/postgres/driver/server.ts";
import { migrate } from "../../src/store/postgres/migrations.ts";
import { createTestDatabase } from "../conformance/store/postgres-database.fixture.ts";
import { assertFrozen } from "./golden.ts";
import { postgresSchema } from "./schema.ts";

test("the schema of PostgreSQL matches the golden file", async (t) => {
  const database = await createTestDatabase();
  t.after(() => database.drop());
  const opened = new Database(await loadDriver(), {
    url: database.url,
    connectionsMax: 1,
    preparedStatements: "off",
    connectTimeoutMs: 30_000,
    bounds: null,
    unanswered: null,
    incarnations: new Incarnations(),
  });
  try {
    await migrate(opened, 0);
  } finally {
    await opened.close();
  }
  assertFrozen("schema-postgres.txt", await postgresSchema(database.query), "sorted");
});
