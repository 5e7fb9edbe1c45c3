import assert from "node:assert/strict";
import { test } from "node:test";
import { startReceiver } from "../../peers/receiver.ts";
import { eventually } from "../eventually.fixture.ts";
import { Cluster } from "../postgres/cluster.fixture.ts";

/** Messages in our queue that other programs may have sent. None of them can be parsed. */
const garbage: readonly Buffer[] = [
  Buffer.alloc(0),
  Buffer.from("garbage"),
  Buffer.from([0, 255, 254, 128]),
  Buffer.from("null"),
  Buffer.from('{"v":2,"lanes":[["a webhook","none"]]}'),
  Buffer.from('{"v":1,"lanes":[]}'),
  Buffer.from('{"v":1,"lanes":[["a webhook","sideways"]]}'),
  Buffer.alloc(2_000_000, "x"),
];
/** A hint for a deleted webhook. The worker can parse it, but does not need to do anything. */
const stale = Buffer.from('{"v":1,"lanes":[["01980000-0000-7000-8000-000000000000","none"]]}');

test("invalid messages in a queue are parked, logged and counted, and deliveries continue", async (t) => {
  const cluster = await Cluster.openDistributed();
  t.after(() => cluster.close());
  const { prefixes } = cluster;
  assert.ok(prefixes !== null);
  const receiver = await startReceiver();
  t.after(() => receiver.close());
  const [api, , worker] = await cluster.start("api", "scheduler", "worker");
  assert.ok(api !== undefined && worker !== undefined);
  for (const name of ["a", "b"])
    await cluster.addWebhook(api, { url: receiver.url(`/${name}`), events: [`${name}.*`] });
  await cluster.publish(api, "a.paid", [{ n: 1 }]);
  await receiver.waitForRequests(1);

  await prefixes.operate(async (channel, names) => {
    for (const body of [...garbage, stale]) channel.sendToQueue(names.workQueue("default", "normal"), body);
    for (const priority of ["high", "low"] as const)
      channel.sendToQueue(names.workQueue("default", priority), Buffer.from("garbage"));
    // The worker also has a private queue, whose messages may be lost.
    channel.publish(names.notifyExchange, String(worker.worker), Buffer.from("garbage"));
    channel.publish(names.notifyExchange, String(worker.worker), stale);
  });
  const parked = garbage.length + 2;
  const [, probesUrl = ""] = /"probesUrl":"([^"]+)"/.exec(worker.output) ?? [];
  const shown = /^posthorn_queue_(?:parked|hints)\b.*$/gm;
  await eventually("the metrics show what is parked, and that nothing waits", {
    ask: async (): Promise<readonly string[]> => {
      const text = await (await fetch(`${probesUrl}/metrics`)).text();
      return text.match(shown) ?? [];
    },
    holds: (lines) =>
      lines.includes(`posthorn_queue_parked ${parked}`) &&
      lines.includes('posthorn_queue_hints{pool="default",priority="normal"} 0'),
  });
  assert.equal(worker.output.match(/"level":"warn"[^\n]*parked an unreadable message/g)?.length, parked);

  // One webhook has an owner, which is notified, and the other has none.
  await cluster.publish(api, "a.paid", [{ n: 2 }]);
  await cluster.publish(api, "b.paid", [{ n: 3 }]);
  await receiver.waitForRequests(3);
  assert.equal((await fetch(`${probesUrl}/readyz`)).status, 200);

  const found = await prefixes.operate(async (channel, names) => {
    const messages: { readonly bytes: number; readonly reason: unknown; readonly queue: unknown }[] = [];
    for (let message; (message = await channel.get(names.parkedQueue, { noAck: true })) !== false; ) {
      const { headers } = message.properties;
      messages.push({
        bytes: message.content.length,
        reason: headers?.["x-posthorn-reason"],
        queue: headers?.["x-posthorn-queue"],
      });
    }
    return messages;
  });
  assert.equal(found.length, parked, "each once");
  const reasons = found.map(({ reason }) => String(reason));
  assert.ok(reasons.includes("not JSON") && reasons.includes("too large"), reasons.join());
  assert.ok(reasons.some((reason) => reason.startsWith("version 2")));
  for (const { bytes, queue } of found) {
    assert.ok(bytes <= 65_536, "a large one is kept as a sample");
    assert.match(String(queue), /\.work\.default\.(high|normal|low)$/);
  }
});
