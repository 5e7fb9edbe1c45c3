import assert from "node:assert/strict";
import { test } from "node:test";
import { GatheredStatements } from "./database.ts";

/** A session that records the messages it receives, one line per round trip. */
function sessionThat({ gathers, failsAt = "" }: { readonly gathers: boolean; readonly failsAt?: string }) {
  const sent: string[] = [];
  const run = (sql: string) => {
    if (sql === failsAt) throw new Error(`${sql} failed`);
    return [[sql]];
  };
  const statements = new GatheredStatements({
    begin: async () => {
      sent.push("BEGIN");
    },
    run: async ({ sql }) => {
      sent.push(sql);
      return run(sql);
    },
    together: async (asked, begun) => {
      if (!gathers) return null;
      sent.push([...(begun ? [] : ["BEGIN"]), ...asked.map(({ sql }) => sql)].join("; "));
      return asked.map(({ sql }) => run(sql));
    },
  });
  return { sent, rows: (sql: string) => statements.rows({ sql, values: [] }), statements };
}

test("statements requested at once are one round trip, with BEGIN in the first", async () => {
  const { sent, rows } = sessionThat({ gathers: true });
  assert.deepEqual(await Promise.all([rows("a"), rows("b")]), [[["a"]], [["b"]]]);
  assert.deepEqual(await rows("c"), [["c"]]);
  assert.deepEqual(sent, ["BEGIN; a; b", "c"]);
});

test("a session that does not keep them gets one after another", async () => {
  const { sent, rows } = sessionThat({ gathers: false });
  assert.deepEqual(await Promise.all([rows("a"), rows("b")]), [[["a"]], [["b"]]]);
  assert.deepEqual(sent, ["BEGIN", "a", "b"]);
});

for (const gathers of [true, false])
  test(`after a failed statement nothing is sent${gathers ? "" : ", also one after another"}`, async () => {
    const { sent, rows } = sessionThat({ gathers, failsAt: "b" });
    const goesOn = rows("a").then(() => rows("late"));
    const results = await Promise.allSettled([goesOn, rows("b"), rows("c")]);
    const isLaterRefused = results.slice(1).every(({ status }) => status === "rejected");
    assert.ok(isLaterRefused && results[0]?.status === "rejected");
    assert.deepEqual(sent, gathers ? ["BEGIN; a; b; c"] : ["BEGIN", "a", "b"]);
  });

test("nothing is sent once the transaction is over", async () => {
  const { sent, rows, statements } = sessionThat({ gathers: true });
  await rows("a");
  statements.end(new Error("it is over"));
  await assert.rejects(rows("b"), /it is over/);
  assert.deepEqual(sent, ["BEGIN; a"]);
});
