import assert from "node:assert/strict";
import { test } from "node:test";
import type { Database, Transaction } from "../driver/database.ts";
import { Sweep, type Visit, windowRows } from "./retention.ts";

/** Returns the results of a sweep's queries, and can lose a transaction while it commits. */
class ScriptedDatabase {
  floor = 0;
  losesNext = false;
  #transactions = 0;

  async transaction<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    this.#transactions += 1;
    let floor = this.floor;
    const number = this.#transactions;
    const result = await work({
      provenBy: () => undefined,
      rows: async (sql: string, values: readonly unknown[] = []) => {
        if (sql.includes("INSERT")) floor = Number(values[1]);
        if (sql.includes("snapshot_xmin")) return [[floor, number]] as never;
        return (sql.includes("snapshot_xmax") ? [[number]] : []) as never;
      },
    });
    if (this.losesNext) {
      this.losesNext = false;
      throw new Error("the connection was lost while it committed");
    }
    this.floor = floor;
    return result;
  }
}

test("a window whose transaction was lost is examined again, before the floor rises over it", async () => {
  const database = new ScriptedDatabase();
  const sweep = new Sweep(database as Partial<Database> as Database, "expire");
  const looked: number[] = [];
  /** Reads two full windows and an empty one. No row is read twice. */
  const step = () =>
    sweep.step(async (_, above): Promise<Visit> => {
      looked.push(above);
      const seen = above < 2 * windowRows ? windowRows : 0;
      const reached = seen === 0 ? null : above + windowRows;
      return { changed: seen, seen, reached, firstLeft: null, anyOld: seen > 0, full: false };
    });
  for (const at of ["first", "second", "third"]) assert.equal((await step()).more, at !== "third");
  assert.deepEqual(looked.splice(0), [0, windowRows, 2 * windowRows]);
  assert.equal(database.floor, 0);

  for (const window of [0, windowRows]) {
    database.losesNext = true;
    await assert.rejects(step, /lost/);
    assert.equal(database.floor, window);
    await step();
    assert.deepEqual(looked.splice(0), [window, window]);
    assert.equal(database.floor, window + windowRows);
  }
});
