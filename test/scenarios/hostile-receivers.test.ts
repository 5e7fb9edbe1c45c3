import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import type { FailureCategory, Outcome } from "../../src/domain/classify.ts";
import { type Behaviour, type HostileReceiver, startHostileReceiver } from "../peers/hostile-receiver.ts";
import { startReceiver } from "../peers/receiver.ts";
import { type EngineWorld, openEngineWorld, type WorldOptions } from "./engine-world.fixture.ts";
import { inThreads } from "./sender-threads.fixture.ts";
import { listDeliveries } from "../listed-deliveries.ts";

interface Hostility {
  readonly name: string;
  readonly behave: Behaviour;
  readonly category: FailureCategory | null;
  readonly outcome: Outcome;
}

const timeoutMs = 1_500;
/** Timeout for receivers whose behaviour does not concern time. Only a stalled machine would reach it. */
const patientMs = 60_000;
const gibibyte = 1024 ** 3;
const megabyte = Buffer.alloc(1024 * 1024, 0x61);

const hostilities: readonly Hostility[] = [
  { name: "hang", behave: () => {}, category: "timeout", outcome: "transient" },
  {
    name: "drip",
    behave: async (connection) => {
      await connection.request();
      await connection.drip("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n".padEnd(10_000, "x"), 50);
    },
    category: "timeout",
    outcome: "transient",
  },
  {
    name: "endless body",
    behave: async (connection) => {
      await connection.request();
      await connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
      await connection.flood(Buffer.from(`4000\r\n${"x".repeat(0x4000)}\r\n`), gibibyte);
    },
    category: null,
    outcome: "accepted",
  },
  {
    name: "1 GB body",
    behave: async (connection) => {
      await connection.request();
      await connection.write(`HTTP/1.1 200 OK\r\nContent-Length: ${gibibyte}\r\n\r\n`);
      await connection.flood(megabyte, gibibyte);
    },
    category: null,
    outcome: "accepted",
  },
  {
    name: "wrong length",
    behave: async (connection) => {
      await connection.request();
      await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort");
      connection.end();
    },
    category: "network",
    outcome: "transient",
  },
  {
    name: "half a status line",
    behave: async (connection) => {
      await connection.request();
      await connection.write("HTTP/1.1 2");
      connection.end();
    },
    category: "network",
    outcome: "transient",
  },
  {
    name: "reset",
    behave: async (connection) => {
      await connection.request();
      connection.reset();
    },
    category: "network",
    outcome: "transient",
  },
  {
    name: "redirect to a private address",
    behave: async (connection) => {
      await connection.request();
      await connection.write(
        "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://169.254.169.254/latest/meta-data/\r\nContent-Length: 0\r\n\r\n",
      );
    },
    category: "redirect",
    outcome: "transient",
  },
  {
    name: "compressed bomb",
    behave: async (connection) => {
      await connection.request();
      const bomb = gzipSync(Buffer.alloc(20 * 1024 * 1024));
      await connection.write(
        `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`,
      );
      await connection.write(bomb);
    },
    category: null,
    outcome: "accepted",
  },
  {
    name: "header flood",
    behave: async (connection) => {
      await connection.request();
      await connection.write("HTTP/1.1 200 OK\r\n");
      await connection.flood(Buffer.from(`X-Flood: ${"y".repeat(8_000)}\r\n`), gibibyte);
    },
    category: "protocol",
    outcome: "transient",
  },
];

test(
  "WDS-17 WDS-27 hostile receivers cost bounded time and memory, get the right category, and affect no other webhook",
  {
    timeout: 600_000,
  },
  () => meetHostility({}),
);

test("WDS-17 hostile receivers get no further with sender threads", { timeout: 600_000 }, () =>
  meetHostility({ transport: () => inThreads(2) }),
);

function timeoutOf({ category }: Pick<Hostility, "category">): number {
  return category === "timeout" ? timeoutMs : patientMs;
}

async function meetHostility(options: WorldOptions): Promise<void> {
  const world = await openEngineWorld(options);
  const healthy = await startReceiver();
  const peers: HostileReceiver[] = [];
  const webhooks = new Map<string, string>();
  for (const [index, hostility] of hostilities.entries()) {
    const peer = await startHostileReceiver({ behave: hostility.behave });
    peers.push(peer);
    const retry = {
      schedule: null,
      ageMsMax: null,
      timeoutGrowthFactor: null,
      timeoutMs: timeoutOf(hostility),
    };
    const webhook = await world.addWebhook({ url: `${peer.origin}/hook`, events: [`bad.n${index}`], retry });
    webhooks.set(hostility.name, webhook.id);
  }
  await world.addWebhook({ url: healthy.url(), events: ["good.*"] });

  const memoryBefore = process.memoryUsage().rss;
  const startedAt = performance.now();
  await world.publishMany(
    "default",
    hostilities.map((_, index) => ({ eventType: `bad.n${index}`, data: { index } })),
  );
  for (let n = 0; n < 200; n += 1) await world.publish("default", { eventType: "good.a", data: { n } });
  await healthy.waitForRequests(200);
  const healthyMs = performance.now() - startedAt;
  assert.ok(healthyMs < 200_000, `200 healthy deliveries one after the other took ${healthyMs} ms`);

  for (const hostility of hostilities) {
    const attempt = await firstAttempt(world, webhooks.get(hostility.name) ?? "");
    assert.equal(
      attempt.category,
      hostility.category,
      `category of "${hostility.name}": ${attempt.errorMessage}`,
    );
    assert.equal(attempt.outcome, hostility.outcome, `outcome of "${hostility.name}"`);
    assert.ok(
      attempt.durationMs <= timeoutOf(hostility) + 50_000,
      `"${hostility.name}" took ${attempt.durationMs} ms`,
    );
    assert.ok((attempt.responseSample?.length ?? 0) <= 1_024, `sample of "${hostility.name}"`);
  }
  for (const [index, peer] of peers.entries()) {
    assert.ok(
      peer.bytesWritten < 32 * 1024 * 1024,
      `"${hostilities[index]?.name}" could write ${peer.bytesWritten} bytes`,
    );
  }
  const grownBytes = process.memoryUsage().rss - memoryBefore;
  assert.ok(grownBytes < 200 * 1024 * 1024, `memory grew by ${grownBytes} bytes`);

  await world.close();
  await healthy.close();
  await Promise.all(peers.map((peer) => peer.close()));
}

/** Waits until the first attempt of a webhook's only delivery is settled. */
async function firstAttempt(world: EngineWorld, webhookId: string) {
  const deadline = performance.now() + 100_000;
  for (;;) {
    const page = await listDeliveries(world.store.history, { webhookIds: [webhookId] }, { limit: 1 });
    const delivery = page.rows[0];
    const [attempt] = delivery === undefined ? [] : await world.store.history.listAttempts(delivery.id);
    if (attempt !== undefined) return attempt;
    assert.ok(performance.now() < deadline, `no attempt of ${webhookId} in time`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test("WDS-27 a hanging webhook does not slow the others, even when its backlog grows", {
  timeout: 600_000,
}, async () => {
  const world = await openEngineWorld({ limits: { concurrency: 20 } });
  const healthy = await startReceiver({ record: false });
  const hanging = await Promise.all(
    Array.from({ length: 30 }, () => startHostileReceiver({ behave: () => {} })),
  );
  for (const [index, peer] of hanging.entries()) {
    await world.addWebhook({ url: `${peer.origin}/hook`, events: [`hang.n${index}`] });
  }
  await world.addWebhook({ url: healthy.url(), events: ["good.*"] });
  await world.publish("default", { eventType: "good.a", data: { n: -1 } });
  await healthy.waitForRequests(1);
  // More hanging webhooks than slots. They use their share and no more.
  await world.publishMany(
    "default",
    Array.from({ length: 3_000 }, (_, n) => ({ eventType: `hang.n${n % hanging.length}`, data: { n } })),
  );
  const startedAt = performance.now();
  await world.publishMany(
    "default",
    Array.from({ length: 2_000 }, (_, n) => ({ eventType: "good.a", data: { n } })),
  );
  await healthy.waitForRequests(2_001);
  const tookMs = performance.now() - startedAt;
  assert.ok(tookMs < 200_000, `2,000 healthy deliveries took ${tookMs} ms beside 30 hanging webhooks`);
  assert.ok(world.engine.activity().active <= 20);
  await world.engine.stop(10);
  await world.close();
  await healthy.close();
  await Promise.all(hanging.map((peer) => peer.close()));
});
