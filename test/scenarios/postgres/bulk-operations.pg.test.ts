/**
 * One operation and several processes. Any process can slow, pause and resume the operation, and another process can
 * continue it.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startReceiver } from "../../peers/receiver.ts";
import type { Receiver } from "../../peers/receiver.ts";
import { itemsOf, textOf } from "../api/client.fixture.ts";
import { eventually } from "../eventually.fixture.ts";
import { Cluster } from "./cluster.fixture.ts";
import type { ClusterProcess } from "./cluster.fixture.ts";

let cluster: Cluster;
let receiver: Receiver;
let first: ClusterProcess;
let second: ClusterProcess;

before(async () => {
  cluster = await Cluster.open();
  receiver = await startReceiver();
  const started = await cluster.start("api,worker,scheduler", "api,worker,scheduler");
  [first, second] = started as [ClusterProcess, ClusterProcess];
});
after(async () => {
  await cluster.close();
  await receiver.close();
});

test("an operation is paused and resumed through another process than its own, and survives the death of its own", async () => {
  receiver.script(() => ({ status: 422 }));
  const webhook = await cluster.addWebhook(first, { url: receiver.url(), events: ["bulk.*"] });
  // Few enough failures that the circuit stays closed.
  const count = 14;
  const data = Array.from({ length: count }, (_, n) => ({ n }));
  await cluster.publish(first, "bulk.dead", data);
  await eventually("the dead letters", {
    ask: () => cluster.count("SELECT count(*) FROM posthorn.dead_letters"),
    holds: (dead) => dead === count,
  });
  receiver.script(() => ({}));
  const { status, body } = await cluster.call(first, "POST /v1/deliveries/retry-batch", {
    filter: { webhook_id: [webhook], status: ["exhausted"] },
    rate_limit: { requests_per_second: 0.5 },
  });
  assert.equal(status, 202, JSON.stringify(body));
  const path = `/v1/operations/${textOf(body["operation"]?.["id"])}`;
  await receiver.waitForRequests(count + 1);

  const paused = await cluster.call(second, `PATCH ${path}`, { status: "paused" });
  assert.equal(paused.body["status"], "paused");
  // The process that ran the operation stops because of the pause. Everything that it did before is counted.
  const counted = await eventually("it rests, and counts what was queued", {
    ask: async () => ({
      operation: (await cluster.call(second, `GET ${path}`)).body,
      retried: await cluster.count("SELECT count(*) FROM posthorn.deliveries WHERE retried_at IS NOT NULL"),
    }),
    holds: ({ operation, retried }) => Number(operation["queued"]) === retried,
  });
  assert.equal(counted.operation["status"], "paused");
  assert.ok(counted.retried < count, String(counted.retried));

  await cluster.call(second, `PATCH ${path}`, {
    status: "running",
    rate_limit: { requests_per_second: 2 },
  });
  await receiver.waitForRequests(count + counted.retried + 2);
  // A process counts as dead if it last stored progress a minute ago. Simulate that for the killed process.
  await second.end("SIGKILL");
  await cluster.database.query(
    `UPDATE posthorn.operations SET document = jsonb_set(document::jsonb, '{updatedAt}', '0')::text`,
  );
  const done = await eventually("the other process has finished it", {
    ask: async () => (await cluster.call(first, `GET ${path}`)).body,
    holds: (operation) => (operation["status"] as unknown) === "completed",
  });
  assert.ok(Number(done["queued"]) <= count, JSON.stringify(done));
  await receiver.waitForRequests(2 * count);
  const twice = await cluster.count(
    "SELECT count(*) FROM posthorn.deliveries WHERE json_array_length(retries::json) > 1 OR attempt_count > 2",
  );
  assert.equal(twice, 0, "a delivery was retried twice");
  const { body: log } = await cluster.call(
    first,
    `GET /v1/audit-log?target=${path.slice("/v1/operations/".length)}`,
  );
  assert.deepEqual(
    itemsOf(log["data"]).map((row) => textOf(row["action"])),
    ["operation.change", "operation.change", "deliveries.retry"],
  );
});
