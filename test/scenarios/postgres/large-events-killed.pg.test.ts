import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "../eventually.fixture.ts";
import {
  addTemplate,
  type Call,
  copiesSql,
  everyWebhookHasOne,
  partsAtFirst,
  publish,
  webhookCount,
} from "../large-event.fixture.ts";
import { Cluster, type ClusterProcess } from "./cluster.fixture.ts";

/** The write of the second part never ends, so the process is killed after the first part was committed. */
const hang = `CREATE FUNCTION public.hang() RETURNS trigger LANGUAGE plpgsql
  AS 'BEGIN PERFORM pg_sleep(3600); RETURN OLD; END';
  CREATE TRIGGER hang BEFORE DELETE ON posthorn.fan_out_parts
  FOR EACH ROW WHEN (OLD.part = 1) EXECUTE FUNCTION public.hang()`;
const endSleepers = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event = 'PgSleep'`;

test("WDS-216 PostgreSQL: if a process is killed between two parts of an event, the leader of upkeep writes the rest once", async (t) => {
  const cluster = await Cluster.open();
  t.after(() => cluster.close());
  const callTo =
    (process: ClusterProcess): Call =>
    (method, path, body) =>
      cluster.call(process, `${method} ${path}`, body);
  const partsLeft = () => cluster.count("SELECT count(*) FROM posthorn.fan_out_parts");

  const [first] = await cluster.start("api");
  assert.ok(first !== undefined);
  const template = await addTemplate(callTo(first), "http://127.0.0.1:9/");
  await first.end("SIGTERM");
  const series = `generate_series(1, ${webhookCount - 1}) AS series (n)`;
  await cluster.database.query(copiesSql(template, { table: "posthorn.webhooks", series }));
  await cluster.database.query(hang);

  const [publisher] = await cluster.start("api");
  assert.ok(publisher !== undefined);
  const eventId = await publish(callTo(publisher));
  await eventually("the first part is written", { ask: partsLeft, holds: (parts) => parts < partsAtFirst });
  await publisher.end("SIGKILL");
  assert.equal(await partsLeft(), 1);
  await cluster.database.query(endSleepers);
  await cluster.database.query("DROP TRIGGER hang ON posthorn.fan_out_parts");

  const [leader] = await cluster.start("api,scheduler");
  assert.ok(leader !== undefined);
  await everyWebhookHasOne(callTo(leader), { eventId, partsLeft });
});
