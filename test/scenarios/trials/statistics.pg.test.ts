// Twenty kills under load, of a server on SQLite and of three workers on PostgreSQL. The statistics must equal a
// recount of the rows.
import assert from "node:assert/strict";
import { test } from "node:test";
import { startReceiver } from "../../peers/receiver.ts";
import { statisticsAfterKills } from "../postgres/statistics-kills.fixture.ts";
import { PosthornProcess } from "../posthorn-process.fixture.ts";
import { addLoadWebhooks, loadAndKill, sqliteLedger } from "../statistics-kills.fixture.ts";
import { untilEqual } from "../statistics-ledger.fixture.ts";

const kills = Number(process.env["POSTHORN_TEST_KILLS"] ?? 20);

test(`statistics on SQLite equal a recount after ${kills} kills`, async (t) => {
  const receiver = await startReceiver();
  t.after(() => receiver.close());
  const posthorn = await PosthornProcess.start();
  t.after(() => posthorn.remove());
  await addLoadWebhooks({ call: posthorn.call.bind(posthorn) }, receiver);
  for (let kill = 0; kill < kills; kill += 1) {
    await loadAndKill({ posthorn, receiver }, 300 + 100 * (kill % 20));
    await posthorn.start();
  }
  t.diagnostic(JSON.stringify(await untilEqual(sqliteLedger(posthorn))));
});

test(`statistics on PostgreSQL equal a recount after ${kills} kills of one of three workers`, async (t) => {
  const counts = await statisticsAfterKills(t, { kills, workers: 3 });
  t.diagnostic(JSON.stringify(counts));
  assert.ok(Number(counts["all"]?.["accepted"]) > kills, "there was load");
});
