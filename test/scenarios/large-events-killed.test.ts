import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { startReceiver } from "../peers/receiver.ts";
import { itemsOf, type Json } from "./api/client.fixture.ts";
import { eventually } from "./eventually.fixture.ts";
import {
  addTemplate,
  copiesSql,
  everyWebhookHasOne,
  partsAtFirst,
  publish,
  webhookCount,
} from "./large-event.fixture.ts";
import { PosthornProcess } from "./posthorn-process.fixture.ts";

const series = `(WITH RECURSIVE series (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < ${webhookCount - 1})
  SELECT n FROM series)`;
/** The write of the second part never ends, so the process is killed after the first part was committed. */
const hang = `CREATE VIEW endless AS WITH RECURSIVE series (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series)
  SELECT n FROM series;
  CREATE TRIGGER hang BEFORE DELETE ON fan_out_parts WHEN OLD.part = 1 BEGIN SELECT count(*) FROM endless; END;`;

test("WDS-216 SQLite: if a process is killed between two parts of an event, each delivery is still written once", async (t) => {
  const receiver = await startReceiver();
  t.after(() => receiver.close());
  const posthorn = await PosthornProcess.start();
  t.after(() => posthorn.remove());
  const call = posthorn.call.bind(posthorn);
  const inFile = <Result>(work: (file: DatabaseSync) => Result): Result => {
    const file = new DatabaseSync(join(posthorn.dataDir, "posthorn.db"));
    try {
      return work(file);
    } finally {
      file.close();
    }
  };
  const partsLeft = async () =>
    inFile((file) => Number(file.prepare("SELECT count(*) AS count FROM fan_out_parts").get()?.["count"]));

  const template = await addTemplate(call, receiver.url("/hook"));
  await posthorn.stop();
  inFile((file) => file.exec(`${copiesSql(template, { table: "webhooks", series })}; ${hang}`));
  await posthorn.start();
  const eventId = await publish(call);
  await eventually("the first part is written", {
    ask: partsLeft,
    holds: (parts) => parts < partsAtFirst,
  });
  await posthorn.kill();
  assert.equal(await partsLeft(), 1);
  inFile((file) => file.exec("DROP TRIGGER hang; DROP VIEW endless"));

  await posthorn.start();
  await everyWebhookHasOne(call, { eventId, partsLeft });
  await eventually("all of them are delivered", {
    ask: async () => {
      const waiting = `/v1/deliveries?event_id=${eventId}&status=pending&status=failed&limit=1`;
      return itemsOf(((await call("GET", waiting)).body as Json)["data"]).length;
    },
    holds: (count) => count === 0,
  });
});
