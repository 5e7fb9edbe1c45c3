import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { suite, test } from "node:test";
import { Connection } from "../sqlite/driver/connection.ts";
import { SqliteSql } from "../sqlite/driver/sql.ts";
import { batch, type Call, rowsOf, sql, toSqlite } from "./statement.ts";

function open() {
  const db = new DatabaseSync(":memory:");
  db.exec(
    `CREATE TABLE t (id TEXT PRIMARY KEY, n INTEGER, done INTEGER NOT NULL DEFAULT 0) STRICT;
     CREATE INDEX t_open ON t (n) WHERE done = 0;
     CREATE INDEX t_done ON t (n) WHERE done = 1;
     INSERT INTO t VALUES ('a', 1, 0), ('B', 2, 1), ('b', NULL, 0);`,
  );
  return { db, sql: new SqliteSql(new Connection(db)) };
}

function rows(call: Call) {
  return open().sql.read(call);
}

const insert = sql(
  "INSERT INTO posthorn.t (id, n) SELECT id, n FROM unnest($1::text[], $2::bigint[]) AS g (id, n) WHERE true",
);

suite("SQL of PostgreSQL in SQLite", () => {
  test("a table of the schema", async () => {
    assert.deepEqual(await rows(sql("SELECT count(*) FROM posthorn.t")()), [[3]]);
  });

  test("any value of a list", async () => {
    const any = sql("SELECT id FROM posthorn.t WHERE id = ANY ($1::text[]) ORDER BY id");
    assert.deepEqual(await rows(any(["b", "a", "c"])), [["a"], ["b"]]);
    assert.deepEqual(await rows(any([])), []);
    const none = sql("SELECT id FROM posthorn.t WHERE NOT id = ANY ($1::text[]) ORDER BY id");
    assert.deepEqual(await rows(none(["b", "a"])), [["B"]]);
  });

  test("rows as parameters keep their types, nulls and order", async () => {
    const given = sql(
      `SELECT $1, g.text, typeof(g.text), g.n, typeof(g.n)
       FROM unnest($2::text[], $3::bigint[])
         AS g (text, n)`,
    );
    const texts = ["1", null, "ä\"'\\", "\ud800"];
    const numbers = [2 ** 53 - 1, null, -1, 0];
    const pairs = texts.map((text, at) => [text, numbers[at] ?? null]);
    const [call] = batch(given, pairs, "first");
    assert.ok(call !== undefined);
    assert.deepEqual(await rows(call), [
      ["first", "1", "text", 2 ** 53 - 1, "integer"],
      ["first", null, "null", null, "null"],
      ["first", "ä\"'\\", "text", -1, "integer"],
      ["first", "\uFFFD", "text", 0, "integer"],
    ]);
    assert.deepEqual(batch(given, [], "first"), []);
  });

  test("types of parameters and results", async () => {
    const typed = sql("SELECT count(*)::int, $1::text FROM posthorn.t WHERE $2::bigint IS NULL OR n > $2");
    assert.deepEqual(await rows(typed("x", null)), [[3, "x"]]);
    assert.deepEqual(await rows(typed("x", 1)), [[1, "x"]]);
  });

  test("more than nine parameters", async () => {
    const ten = sql("SELECT $10, $1, $2, $3, $4, $5, $6, $7, $8, $9");
    assert.deepEqual(await rows(ten(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)), [[10, 1, 2, 3, 4, 5, 6, 7, 8, 9]]);
  });

  test("locks", async () => {
    for (const lock of ["FOR UPDATE", "FOR NO KEY UPDATE", "FOR UPDATE SKIP LOCKED"]) {
      const locking = sql(
        `SELECT id FROM posthorn.t WHERE id IN (SELECT id FROM posthorn.t LIMIT 1 ${lock})`,
      );
      assert.equal((await rows(locking())).length, 1, lock);
    }
  });

  test("the position of a text, in this case", async () => {
    const positions = sql("SELECT id FROM posthorn.t WHERE strpos('xbx', id) > 0");
    assert.deepEqual(await rows(positions()), [["b"]]);
  });

  test("the order of bytes", async () => {
    const ordered = sql('SELECT id FROM posthorn.t WHERE id COLLATE "C" > $1 ORDER BY id COLLATE "C"');
    assert.deepEqual(await rows(ordered("")), [["B"], ["a"], ["b"]]);
  });

  test("truth is the number that partial indexes name", async () => {
    const { db } = open();
    for (const [truth, index] of [
      ["true", "t_done"],
      ["false", "t_open"],
    ]) {
      const text = toSqlite(`SELECT n FROM posthorn.t WHERE done = ${truth} ORDER BY n`);
      const [plan] = db.prepare(`EXPLAIN QUERY PLAN ${text}`).all();
      assert.match(String(plan?.["detail"]), new RegExp(`\\b${index}\\b`));
    }
    assert.deepEqual(await rows(sql("SELECT id FROM posthorn.t WHERE done = $1")(true)), [["B"]]);
  });
});

suite("transactions in SQLite", () => {
  test("a body reads what it wrote, and its result is returned", async () => {
    const { sql: store } = open();
    const count = sql<readonly [count: number]>("SELECT count(*) FROM posthorn.t");
    const counted = await store.transaction(function* () {
      yield batch(insert, [
        ["c", 3],
        ["d", null],
      ]);
      const [row] = yield* rowsOf(count());
      return row?.[0];
    });
    assert.equal(counted, 5);
  });

  test("a body that throws leaves nothing", async () => {
    const { sql: store } = open();
    const failing = store.transaction(function* () {
      yield batch(insert, [["c", 3]]);
      throw new Error("no");
    });
    await assert.rejects(failing, /no/);
    await assert.rejects(store.run([...batch(insert, [["d", 1]]), ...batch(insert, [["a", 1]])]));
    assert.deepEqual(await store.read(sql("SELECT count(*) FROM posthorn.t")()), [[3]]);
  });
});
