/** Limits on the requests that a process has in flight, in total and to a single host. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openPosthorn } from "../../src/app/library.ts";
import { defaultSettings } from "../../src/config/resolve.ts";
import { type Reaction, type Receiver, startReceiver } from "../peers/receiver.ts";
import { type EngineWorld, openEngineWorld } from "./engine-world.fixture.ts";
import { eventually } from "./eventually.fixture.ts";
import { listDeliveries } from "../listed-deliveries.ts";

const { concurrency, webhookConcurrency, hostConcurrency } = defaultSettings();

test("WDS-225 with a host limit (POSTHORN_HOST_CONCURRENCY, 3), four webhooks of one host have three requests at once, in order, and another host is not delayed", async (t) => {
  const { world, receiver: crowded } = await sceneOf(t, 3);
  const other = await startReceiver();
  t.after(() => other.close());
  crowded.script(() => ({ delayMs: 20 }));
  const paths = ["/strict", "/typed", "/a", "/b"];
  const orderings = ["strict", "per_event_type", "none", "none"] as const;
  for (const [index, path] of paths.entries())
    await world.addWebhook({ url: crowded.url(path), events: ["c.*"], ordering: orderings[index] ?? "none" });
  await world.addWebhook({ url: other.url(), events: ["o.*"] });
  const numbers = Array.from({ length: 30 }, (_, n) => n);
  await world.publishMany(
    "default",
    numbers.map((n) => ({ eventType: "c.x", data: { n } })),
  );
  await world.publishMany(
    "default",
    numbers.map((n) => ({ eventType: "o.x", data: { n } })),
  );
  await other.waitForRequests(30);
  assert.ok(crowded.requestCount < 60, `the crowded host had ${crowded.requestCount} of 120 by then`);
  await crowded.waitForRequests(120);
  assert.equal(crowded.concurrencyPeak, 3);
  for (const path of paths) {
    const arrived = numbersAt(crowded, path);
    if (path === "/strict" || path === "/typed") assert.deepEqual(arrived, numbers);
    else assert.deepEqual(new Set(arrived), new Set(numbers));
  }
  await eventually("everything is settled", {
    ask: async () => (await world.store.deliveries.depth()).waiting.normal,
    holds: (waiting) => waiting === 0,
  });
});

test("a hanging webhook leaves slots of its host to one that responds", async (t) => {
  const { world, receiver } = await sceneOf(t, 3);
  receiver.script(({ path }) => (path === "/hangs" ? "hang" : {}));
  await world.addWebhook({ url: receiver.url("/hangs"), events: ["h.*"] });
  await world.addWebhook({ url: receiver.url("/answers"), events: ["a.*"] });
  for (let n = 0; n < 10; n += 1) await world.publish("default", { eventType: "h.x", data: { n } });
  await receiver.waitForRequests(1);
  for (let n = 0; n < 20; n += 1) await world.publish("default", { eventType: "a.x", data: { n } });
  await receiver.waitUntil(() => numbersAt(receiver, "/answers").length === 20);
  assert.ok(numbersAt(receiver, "/hangs").length <= 2);
});

test("a delivery that waits for a slot at its host shows that it waits for capacity, and gets the slot", async (t) => {
  const { world, receiver } = await sceneOf(t, 1);
  const held = Promise.withResolvers<Reaction>();
  receiver.script(({ path }) => (path === "/first" ? held.promise : {}));
  await world.addWebhook({ url: receiver.url("/first"), events: ["f.*"] });
  const second = await world.addWebhook({ url: receiver.url("/second"), events: ["s.*"], tenantId: "other" });
  await world.publish("default", { eventType: "f.x", data: { n: 0 } });
  await receiver.waitForRequests(1);
  await world.publish("other", { eventType: "s.x", data: { n: 0 } });
  const about = { tenantId: "other", webhookIds: [second.id] };
  const { rows } = await listDeliveries(world.store.history, about);
  const view = world.engine.explain(rows[0] ?? assert.fail("no delivery"));
  assert.deepEqual([view.status, view.waitingFor, view.waitingUntil], ["pending", "capacity", null]);
  assert.equal(receiver.requestCount, 1);
  held.resolve({});
  await receiver.waitUntil(() => numbersAt(receiver, "/second").length === 1);
});

test("the library has the limit, and a webhook that moves returns its slot to the old host", async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), "posthorn-host-limit-"));
  const [old, next] = [await startReceiver(), await startReceiver()];
  const posthorn = await openPosthorn({ dataDir, dev: true, hostConcurrency: 1, shutdownGraceMs: 1_000 });
  t.after(async () => {
    await Promise.all([old.close(), next.close()]);
    await posthorn.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
  const held = Promise.withResolvers<Reaction>();
  old.script(({ path }, index) => (path === "/moves" && index === 1 ? held.promise : {}));
  const moves = await posthorn.webhooks.create({ url: old.url("/moves"), events: ["m.x"] });
  await posthorn.webhooks.create({ url: old.url("/stays"), events: ["s.x"] });
  for (let n = 0; n < 2; n += 1) await posthorn.publish({ eventType: "m.x", data: { n } });
  await old.waitForRequests(2);
  await posthorn.publish({ eventType: "s.x", data: { n: 0 } });
  await posthorn.webhooks.update({ id: moves.view.webhook.id, input: { url: next.url("/moved") } });
  await posthorn.publish({ eventType: "m.x", data: { n: 2 } });
  await next.waitForRequests(1);
  assert.equal(old.requestCount, 2, "the host that it left still answers its request");
  held.resolve({});
  await old.waitUntil(() => numbersAt(old, "/stays").length === 1);
  assert.equal(old.concurrencyPeak, 1);
});

test("WDS-225 by default a worker has a hundred active requests, and hosts deviate: they have no limit, because tenants often share one", async (t) => {
  const { world, receiver } = await sceneOf(t, hostConcurrency);
  const webhooks = Array.from({ length: 110 }, (_, n) => n);
  for (const n of webhooks) await world.addWebhook({ url: receiver.url(`/${n}`), events: ["e.*"] });
  await world.publish("default", { eventType: "e.x", data: { n: 0 } });
  await receiver.waitForRequests(110);
  await eventually("all have answered", {
    ask: async () => (await world.store.deliveries.depth()).waiting.normal,
    holds: (waiting) => waiting === 0,
  });
  receiver.script(() => "hang");
  await world.publish("default", { eventType: "e.x", data: { n: 1 } });
  await receiver.waitForRequests(210);
  assert.equal(receiver.concurrencyPeak, 100);
  assert.equal(world.engine.activity().active, 100);
});

async function sceneOf(
  t: { readonly after: (close: () => Promise<void>) => void },
  hostLimit: number | null,
): Promise<{ readonly world: EngineWorld; readonly receiver: Receiver }> {
  const world = await openEngineWorld({
    // Waiting slots are disabled, so a slow machine does not change the result.
    limits: { concurrency, webhookConcurrency, hostConcurrency: hostLimit, waitingRequests: 0 },
  });
  const receiver = await startReceiver();
  t.after(async () => {
    await receiver.close();
    await world.close();
  });
  return { world, receiver };
}

/** The `data.n` values of the requests to a path, in order of arrival. */
function numbersAt(receiver: Receiver, path: string): number[] {
  return receiver.requests
    .filter((request) => request.path === path)
    .map(({ text }) => (JSON.parse(text) as { data: { n: number } }).data.n);
}
