import assert from "node:assert/strict";
import { test } from "node:test";
import { statisticsAfterKills } from "./statistics-kills.fixture.ts";

test("after a worker was killed with signal 9 under load statistics equal a recount of the rows", async (t) => {
  const counts = await statisticsAfterKills(t, { kills: 1, workers: 2 });
  assert.ok(Number(counts["all"]?.["accepted"]) > 10, "there was load");
});
