import assert from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { textOf } from "./api/client.fixture.ts";
import { openServer } from "./api/running-server.fixture.ts";
import { patientClient } from "./patient-client.fixture.ts";

/** A receiver that counts its connections, and can withhold responses. */
async function startReceiver(t: TestContext, answer: RequestListener) {
  const open = new Set<Socket>();
  const counts = { opened: 0, openMax: 0 };
  const server = createServer(answer);
  server.on("connection", (socket) => {
    open.add(socket);
    counts.opened += 1;
    counts.openMax = Math.max(counts.openMax, open.size);
    socket.on("error", () => undefined);
    socket.once("close", () => open.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { counts, port: (server.address() as AddressInfo).port };
}

async function startServer(t: TestContext) {
  const { baseUrl, adminKey, close } = await openServer({ dev: true }, {});
  t.after(close);
  return { url: baseUrl, admin: patientClient({ baseUrl, key: adminKey }) };
}

test("150 checks at once open few connections, none of them on the event loop, and further callers get a Retry-After", async (t) => {
  const held: (() => void)[] = [];
  let isHolding = true;
  const receiver = await startReceiver(t, (request, response) => {
    request.on("error", () => undefined).resume();
    const refuse = () => void response.writeHead(401, { connection: "close" }).end();
    if (isHolding) held.push(refuse);
    else refuse();
  });
  const { url, admin } = await startServer(t);
  const webhooks: { readonly key: typeof admin; readonly id: string }[] = [];
  for (let tenant = 0; tenant < 15; tenant++) {
    const key = admin.withKey(await admin.keyFor("manage", `tenant-${tenant}`));
    for (let n = 0; n < 10; n++) {
      const made = await key.post("/v1/webhooks", {
        url: `http://127.0.0.1:${receiver.port}/${n}`,
        events: ["a.b"],
      });
      assert.equal(made.status, 201, made.text);
      webhooks.push({ key, id: textOf(made.body["id"]) });
    }
  }
  const fromHere: number[] = [];
  const seen = (message: unknown): void => {
    const { socket } = message as { readonly socket: Socket };
    socket.once("connect", () => fromHere.push(socket.remotePort ?? 0));
  };
  subscribe("net.client.socket", seen);
  t.after(() => unsubscribe("net.client.socket", seen));
  const order: string[] = [];
  const checks = webhooks.map(async ({ key, id }) => {
    const reply = await key.call("POST", `/v1/webhooks/${id}/check`);
    order.push(String(reply.status));
    return reply;
  });
  // Until the receiver responds for the first time, all checks except the running one are refused.
  while (order.length < 149 || held.length < 1) await new Promise(setImmediate);
  assert.ok(order.every((status) => status === "429"));
  assert.equal((await fetch(`${url}/livez`)).status, 200);
  assert.equal(order.length, 149);
  assert.equal(receiver.counts.openMax, 1);
  isHolding = false;
  for (const refuse of held) refuse();
  const refused = (await Promise.all(checks)).filter(({ status }) => status === 429);
  assert.equal(refused.length, 149);
  for (const { headers, text } of refused) {
    assert.ok(Number(headers.get("retry-after")) >= 1);
    assert.match(text, /Try again when one has ended|within a minute/);
  }
  const [webhook] = webhooks;
  assert.ok(webhook !== undefined);
  const checked = await webhook.key.call("POST", `/v1/webhooks/${webhook.id}/check`);
  assert.equal(checked.status, 200, checked.text);
  assert.ok((checked.body["findings"] as unknown as unknown[]).length > 20, checked.text);
  // One rule sends two requests concurrently, so two connections are the maximum.
  assert.ok(receiver.counts.openMax <= 2, String(receiver.counts.openMax));
  assert.ok(receiver.counts.opened < 150, String(receiver.counts.opened));
  assert.ok(!fromHere.includes(receiver.port), "a check ran on the event loop");
});

test("a check sends a bounded number of bytes to a receiver that reads everything", async (t) => {
  let bytes = 0;
  const receiver = await startReceiver(t, (request, response) => {
    request.on("data", (chunk: Buffer) => (bytes += chunk.length));
    request.on("error", () => undefined);
    request.on("end", () => void response.writeHead(401, { connection: "close" }).end());
  });
  const { admin } = await startServer(t);
  const made = await admin.post("/v1/webhooks", {
    url: `http://127.0.0.1:${receiver.port}/`,
    events: ["a.b"],
  });
  const path = `/v1/webhooks/${textOf(made.body["id"])}/check`;
  const checked = await admin.call("POST", path);
  assert.equal(checked.status, 200, checked.text);
  assert.match(checked.text, /read all of 16 MiB/);
  assert.ok(bytes < 24 * 1024 * 1024, String(bytes));
});

test("a check of a receiver whose name has no address says so", async (t) => {
  const { admin } = await startServer(t);
  const unresolved = await admin.post("/v1/webhooks", {
    url: "https://posthorn-check.invalid/",
    events: ["a.b"],
  });
  const nameless = await admin.call("POST", `/v1/webhooks/${textOf(unresolved.body["id"])}/check`);
  assert.equal(nameless.status, 409, nameless.text);
  assert.match(nameless.text, /no server responds at the URL/);
});
