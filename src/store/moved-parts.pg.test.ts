import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { createTestDatabase } from "../../test/conformance/store/postgres-database.fixture.ts";
import { movedParts, unmovedColumns, unmovedTables } from "./moved-parts.ts";
import { preparePostgres } from "./postgres/open.ts";
import { storedPart } from "./sqlite/move/moving-rows.ts";
import { databaseFile, openSqliteStore } from "./sqlite/open.ts";

/** `table.column` for every column of all tables. */
type Columns = readonly (readonly [table: string, column: string])[];

const advice =
  "a new table or column moves with the others: add it to moved-parts.ts, or list the reason there";
const names = new Set(movedParts.map(({ name }) => name));

test("every column of SQLite moves, or a reason is listed", async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), "posthorn-parts-"));
  t.after(() => rmSync(dataDir, { recursive: true, force: true }));
  await (await openSqliteStore({ dataDir, now: Date.now(), pid: process.pid })).close();
  const db = new DatabaseSync(databaseFile(dataDir), { readOnly: true });
  t.after(() => db.close());
  const columns = db
    .prepare(
      `SELECT t.name AS "table", c.name AS "column" FROM sqlite_schema t, pragma_table_info(t.name) c
       WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'`,
    )
    .all()
    .map((row) => [String(row["table"]), String(row["column"])] as const);
  assert.ok(columns.length > 100);
  const stored = new Map(
    movedParts.map((part) => {
      const { from, columns: read } = storedPart(part);
      return [part.name, [from, ...Object.values(read)].join(" ")];
    }),
  );
  assert.deepEqual(
    unknown(columns, (table, column) => isWord(stored.get(table), column)),
    [],
    advice,
  );
});

test("every column of PostgreSQL moves, or a reason is listed", async (t) => {
  const database = await createTestDatabase();
  t.after(() => database.drop());
  await preparePostgres({ url: database.url, now: Date.now(), masterKeyIds: { current: "a", previous: [] } });
  const rows = await database.query(
    `SELECT table_name, column_name FROM information_schema.columns
     WHERE table_schema = 'posthorn' AND table_name !~ '^attempts_[0-9]'`,
  );
  const columns = rows.map((row) => [String(row["table_name"]), String(row["column_name"])] as const);
  assert.ok(columns.length > 100);
  const parts = new Map(movedParts.map((part) => [part.name, Object.keys(part.columns)]));
  assert.deepEqual(
    unknown(columns, (table, column) => parts.get(table)?.includes(column) === true),
    [],
    advice,
  );
});

function unknown(columns: Columns, moves: (table: string, column: string) => boolean): readonly string[] {
  return columns
    .filter(([table]) => !unmovedTables.has(table))
    .filter(([table, column]) => !names.has(table) || !moves(table, column))
    .map((place) => place.join("."))
    .filter((place) => !unmovedColumns.has(place));
}

function isWord(text: string | undefined, word: string): boolean {
  return text !== undefined && new RegExp(`\\b${word}\\b`).test(text);
}
