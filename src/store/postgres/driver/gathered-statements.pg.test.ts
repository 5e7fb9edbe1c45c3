import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import {
  createTestDatabase,
  type TestDatabase,
} from "../../../../test/conformance/store/postgres-database.fixture.ts";
import { Database } from "./database.ts";
import { loadDriver } from "./driver.ts";
import { Incarnations } from "./server.ts";

suite("statements of a transaction that are sent together", () => {
  const stack = new AsyncDisposableStack();
  const insertSql = "INSERT INTO things VALUES ($1::int, $2::bytea) RETURNING pg_current_xact_id()::text";
  const readSql = "SELECT number, label FROM things ORDER BY number";
  let server: TestDatabase;
  let database: Database;

  before(async () => {
    server = await createTestDatabase();
    stack.defer(() => server.drop());
    await server.query("CREATE TABLE things (number int PRIMARY KEY, label bytea)");
    database = new Database(await loadDriver(), {
      url: server.url,
      connectionsMax: 1,
      preparedStatements: "auto",
      connectTimeoutMs: 30_000,
      bounds: null,
      unanswered: null,
      incarnations: new Incarnations(),
    });
    stack.defer(() => database.close());
    // From now on, the session has prepared these statements.
    await database.rows(insertSql, [0, null]);
    await database.rows(readSql);
  });

  after(() => stack.disposeAsync());

  test("are of one transaction, and each has its own answer", async () => {
    const bytes = new Uint8Array([0, 255]);
    const [first, second, read] = await database.transaction((transaction) =>
      Promise.all([
        transaction.rows(insertSql, [1, bytes]),
        transaction.rows(insertSql, [2, null]),
        transaction.rows(readSql),
      ]),
    );
    assert.deepEqual(first, second, "one transaction");
    assert.deepEqual(read, [
      [0, null],
      [1, bytes],
      [2, null],
    ]);
  });

  test("are all undone when one of them fails, or when the work does", async () => {
    const insertBoth = (...numbers: readonly number[]) =>
      database.transaction((transaction) =>
        Promise.all(numbers.map((number) => transaction.rows(insertSql, [number, null]))),
      );
    await assert.rejects(insertBoth(3, 0, 4), { code: "23505" });
    const refusing = database.transaction(async (transaction) => {
      await Promise.all([5, 6].map((number) => transaction.rows(insertSql, [number, null])));
      throw new RangeError("refused");
    });
    await assert.rejects(refusing, RangeError);
    const stored = (await database.rows<[number: number]>(readSql)).map(([number]) => number);
    assert.ok(
      [3, 4, 5, 6].every((number) => !stored.includes(number)),
      `${stored.join()} are stored`,
    );
  });

  test("are run again by a session that has lost them", async () => {
    await database.rows("DEALLOCATE ALL");
    const written = await database.transaction((transaction) =>
      Promise.all([transaction.rows(insertSql, [7, null]), transaction.rows(readSql)]),
    );
    assert.equal(
      written[1]?.some(([number]) => number === 7),
      true,
    );
  });
});
