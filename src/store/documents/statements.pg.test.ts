import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { after, test } from "node:test";
import { createTestDatabase } from "../../../test/conformance/store/postgres-database.fixture.ts";
import { openPostgresStore } from "../postgres/open.ts";
import { migrate } from "../sqlite/migrations.ts";
import { declaredStatements } from "./statement.ts";

const database = await createTestDatabase();
after(() => database.drop());
const folder = new URL("./", import.meta.url);
for (const file of await readdir(folder))
  if (!file.includes(".test.")) await import(new URL(file, folder).href);

test("both databases understand every statement of the document stores", async () => {
  const masterKeyIds = { current: "test", previous: [] };
  await (await openPostgresStore({ url: database.url, now: 0, masterKeyIds })).close();
  using db = new DatabaseSync(":memory:");
  migrate(db, 0);
  const statements = declaredStatements();
  assert.ok(statements.length > 100, `only ${statements.length} statements`);
  for (const { sqlite } of statements) assert.doesNotThrow(() => db.prepare(sqlite), sqlite);
  for (const { postgres } of statements)
    await assert.doesNotReject(() => database.query(`PREPARE one AS ${postgres}`), postgres);
});
