/** Sends a captured message again, with every unsigned part changed. */
import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { prepareSigner } from "../../src/domain/signing/standard-webhooks.ts";
import { prepareXWebhookSigner } from "../../src/domain/signing/x-webhook.ts";
import { parseSecret } from "../../src/domain/signing/signing-key.ts";
import { expressHandler } from "../../src/receiver/frameworks/express.ts";
import { senders } from "../../src/receiver/providers/senders.fixture.ts";
import { createReceiver } from "../../src/receiver/receiver.ts";
import { createMemoryDeduplicationStore } from "../../src/receiver/stores/memory.ts";
import { providers, standardWebhooks, xWebhook } from "../../src/receiver/verifiers.ts";
import { endpointWith } from "./endpoint.fixture.ts";
import { importExpress, listen } from "./frameworks.fixture.ts";
import { nowMs } from "./messages.fixture.ts";

const secret = `whsec_${Buffer.alloc(32, 5).toString("base64")}`;
const nowSeconds = nowMs / 1_000;
const body = '{"order":1}';

function standardHeaders(
  timestampSeconds: number,
  { messageId = "msg-1", text = body }: { readonly messageId?: string; readonly text?: string } = {},
): Record<string, string> {
  const key = parseSecret(secret);
  assert.ok(key.kind !== "invalid");
  const sign = prepareSigner([key]);
  return {
    "content-type": "application/json",
    "webhook-id": messageId,
    "webhook-timestamp": String(timestampSeconds),
    "webhook-signature": sign({ messageId, timestampSeconds, body: Buffer.from(text) }),
  };
}

test("EDS-11.5-1 notations of a path that routers treat as equal are the same endpoint", async () => {
  const { seen, send } = endpointWith({ verifier: standardWebhooks({ keys: secret }) });
  const headers = { ...standardHeaders(nowSeconds), "idempotency-key": undefined };
  const urls = [
    "/hooks/in",
    "/hooks/in/",
    "/HOOKS/In",
    "//hooks//in",
    "/hooks/./in",
    "/hooks/%69n",
    "/hooks/in?x=1",
    "http://other.example/hooks/in",
    "/hooks/%49N",
    "/a/../hooks/in",
    "/hooks/in#x",
  ];
  for (const url of urls) assert.equal((await send({ url, body, headers })).status, 204, url);
  assert.equal(seen.runs, 1);
});

test("EDS-9.4-8 different paths stay different endpoints, even with an encoded slash and broken escapes", async () => {
  const { seen, send } = endpointWith();
  for (const url of ["/hooks/a", "/hooks/b", "/hooks", "/hooks/a%2Fb", "/hooks/a/b", "/hooks/%zz", "/"]) {
    await send({ url });
  }
  assert.equal(seen.runs, 7);
});

test("EDS-11.5-1 an endpoint with its own name is the same whatever the path", async () => {
  const { seen, send } = endpointWith({ endpoint: "orders" });
  for (const url of ["/hooks", "/anything", "/hooks/x"]) await send({ url });
  assert.equal(seen.runs, 1);
});

test("EDS-11.5-1 x-webhook: a new Idempotency-Key with the same signature runs nothing again", async () => {
  const { seen, send } = endpointWith({ verifier: xWebhook({ secrets: secret }) });
  const signature = prepareXWebhookSigner([secret])(nowSeconds, Buffer.from(body));
  for (const key of ['"first"', '"forged-1"', '"forged-2"']) {
    const headers = { "x-webhook-signature": signature, "idempotency-key": key };
    assert.equal((await send({ body, headers })).status, 204);
  }
  assert.equal(seen.runs, 1);
});

/** Messages without an ID, so that only the signed content identifies a replay. */
const idless: Readonly<Record<string, string>> = {
  discord: '{"version":1,"type":1,"event":{"type":"APPLICATION_AUTHORIZED"}}',
  sendgrid: '[{"sg_event_id":"e","event":"open"}]',
  slack: "command=%2Fdeploy&text=now",
  zoom: '{"event":"meeting.started"}',
};

for (const [name, body] of Object.entries(idless)) {
  test(`EDS-11.5-1 ${name}: a replay within the tolerance runs nothing again, with or without an invented key`, async () => {
    const sender = senders.find((other) => other.name === name) ?? assert.fail();
    const { seen, send } = endpointWith({
      verifier: sender.verifier(providers, [0]),
      contentTypes: "any",
    });
    const message = (timestampSeconds: number) => {
      const { headers } = sender.message({ body, timestampSeconds, key: 0 });
      return Object.fromEntries(headers as Headers);
    };
    const captured = { ...message(nowSeconds), "idempotency-key": undefined };
    for (const key of [undefined, '"first"', '"forged-1"', "forged 2 \u0000"])
      assert.equal((await send({ body, headers: { ...captured, "idempotency-key": key } })).status, 204);
    assert.equal(seen.runs, 1);
    await send({ body, headers: { ...message(nowSeconds + 1), "idempotency-key": undefined } });
    assert.equal(seen.runs, 2, "what was signed a second later is another message");
  });
}

test("EDS-11.5-1 github: an unsigned key is ignored, and without an id nothing runs", async () => {
  const sender = senders.find(({ name }) => name === "github") ?? assert.fail();
  const { seen, send } = endpointWith({ verifier: sender.verifier(providers, [0]) });
  const { headers } = sender.message({ body: sender.body, timestampSeconds: nowSeconds, key: 0 });
  const signed = Object.fromEntries(headers as Headers);
  for (const key of ['"invented-1"', '"invented-2"']) {
    const answer = await send({ body: sender.body, headers: { ...signed, "idempotency-key": key } });
    assert.equal(answer.status, 400);
  }
  assert.equal(seen.runs, 0);
});

test("EDS-11.5-1 a captured message cannot be stored under the key of a future one", async () => {
  const { seen, send } = endpointWith({ verifier: standardWebhooks({ keys: secret }) });
  const first = { ...standardHeaders(nowSeconds), "idempotency-key": '"msg-2"' };
  assert.equal((await send({ body, headers: first })).status, 204);
  const text = '{"order":2}';
  const second = standardHeaders(nowSeconds, { messageId: "msg-2", text });
  assert.equal(
    (await send({ body: text, headers: { ...second, "idempotency-key": '"msg-2"' } })).status,
    204,
  );
  assert.equal(seen.runs, 2);
});

test("EDS-11.5-1 behind Express a captured message runs once, in any notation of its path", async (t) => {
  let runs = 0;
  const receiver = createReceiver({
    verifier: standardWebhooks({ keys: secret }),
    deduplication: { store: createMemoryDeduplicationStore() },
    handler: () => {
      runs += 1;
    },
  });
  const app = (await importExpress("express"))();
  app.all("/webhooks/posthorn", expressHandler(receiver));
  const server = await listen(app);
  t.after(() => server.close());
  const headers = standardHeaders(Math.floor(Date.now() / 1_000));
  for (const path of [
    "/webhooks/posthorn",
    "/webhooks/posthorn/",
    "/Webhooks/Posthorn",
    "/WEBHOOKS/posthorn/?a",
  ]) {
    const { status } = await fetch(server.url + path, { method: "POST", headers, body });
    assert.equal(status, 204, path);
  }
  assert.equal(runs, 1);
});

test("a response after another one was sent is dropped and crashes nothing", async (t) => {
  const receiver = createReceiver({
    verifier: standardWebhooks({ keys: secret }),
    deduplication: { store: createMemoryDeduplicationStore() },
    handler: () => new Promise((resolve) => setTimeout(resolve, 60)),
  });
  const answered: Promise<unknown>[] = [];
  const app = (await importExpress("express"))();
  app.use((_request: unknown, response: ServerResponse, next: () => void) => {
    // Sends a response like a timeout middleware.
    setTimeout(() => response.writeHead(503).end(), 20);
    answered.push(new Promise((resolve) => setTimeout(resolve, 150)));
    next();
  });
  app.all("/webhooks", expressHandler(receiver));
  const server = await listen(app);
  t.after(() => server.close());
  const headers = standardHeaders(Math.floor(Date.now() / 1_000));
  const { status } = await fetch(`${server.url}/webhooks`, { method: "POST", headers, body });
  assert.equal(status, 503);
  await Promise.all(answered);
});

test("a store that fails between two claims leaves no claim behind", async () => {
  const store = createMemoryDeduplicationStore();
  let claims = 0;
  const failsOnce = {
    ...store,
    claim: async (request: Parameters<typeof store.claim>[0]) => {
      claims += 1;
      if (claims === 2) throw new Error("connection lost");
      return store.claim(request);
    },
  };
  const { seen, send } = endpointWith({ deduplication: { store: failsOnce } });
  const headers = { "x-id": "msg-1" };
  assert.equal((await send({ headers })).status, 503);
  assert.equal((await send({ headers })).status, 204, "the sender's next attempt is not told to wait");
  assert.equal(seen.runs, 1);
});
