import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { checksum, type Migration, planFrom } from "./migrations.ts";
import { migrations as postgres } from "./postgres/migrations.ts";
import { migrations as sqlite } from "./sqlite/migrations.ts";

/**
 * The beginning of each checksum, by migration name. Until 0.1.0 is released, update the line of a changed schema.
 * Databases of earlier development versions are then refused. After the release, only add lines; never change them.
 */
const released = {
  sqlite: { schema: "8f3c481f7da6bfea" },
  postgres: { schema: "7e2ddbf571349585" },
};

const beginnings = (migrations: readonly Migration[]): Record<string, string> =>
  Object.fromEntries(migrations.map((migration) => [migration.name, checksum(migration).slice(0, 16)]));

const first = { number: 1, name: "schema", sql: "CREATE TABLE one (id int);\n" };
const second = { number: 2, name: "second", sql: "CREATE TABLE two (id int);\n" };
const applied = (...migrations: readonly Migration[]) =>
  migrations.map((migration) => ({
    number: migration.number,
    name: migration.name,
    checksum: checksum(migration),
  }));

suite("migrations that databases were created with", () => {
  test("are the same to the letter, comments within their SQL included", () => {
    assert.deepEqual(
      { sqlite: beginnings(sqlite), postgres: beginnings(postgres) },
      released,
      "existing databases could not be opened any more",
    );
  });
});

suite("planned migrations", () => {
  test("are all on an empty database, and those after the last applied one otherwise", () => {
    const known = [first, second];
    assert.deepEqual(planFrom([], known), { from: 0, pending: known });
    assert.deepEqual(planFrom(applied(first), known), { from: 1, pending: [second] });
    assert.deepEqual(planFrom(applied(first, second), known), { from: 2, pending: [] });
  });

  test("refuse a newer database and a changed migration", () => {
    const changed = { ...second, sql: "CREATE TABLE two (id text);\n" };
    assert.throws(() => planFrom(applied(first, second), [first]), { name: "SchemaTooNewError" });
    assert.throws(() => planFrom(applied(first, changed), [first, second]), {
      name: "MigrationMismatchError",
    });
  });

  test("refuse a database of a development version, however many migrations it had", () => {
    const earlier = { ...first, name: "initial", sql: "CREATE TABLE none (id int);\n" };
    for (const rows of [applied(earlier), applied(earlier, second)])
      assert.throws(() => planFrom(rows, [first]), {
        name: "DevelopmentSchemaError",
        message: /development version .* start with an empty data folder or database/,
      });
  });
});
