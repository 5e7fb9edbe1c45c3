import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openPosthorn } from "../../src/app/library.ts";
import { nodeHttpListener } from "../../src/receiver/frameworks/node-http.ts";
import type { MessageHandler } from "../../src/receiver/answers.ts";
import type { VerifiedMessage } from "../../src/receiver/message/message.ts";
import { createReceiver, type Receiver } from "../../src/receiver/receiver.ts";
import { createMemoryDeduplicationStore } from "../../src/receiver/stores/memory.ts";
import { standardWebhooks } from "../../src/receiver/verifiers.ts";
import { eventually } from "../scenarios/eventually.fixture.ts";
import { listen } from "./frameworks.fixture.ts";

test("the kit accepts what Posthorn sends: verified, with its key, once, and again after a 503", async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), "posthorn-to-kit-"));
  const posthorn = await openPosthorn({ dataDir, dev: true });
  // The secret exists only after the webhook is created, but creating the webhook requires the receiver's URL.
  const endpoint = Promise.withResolvers<Receiver>();
  const server = await listen((request, response) => {
    void endpoint.promise.then((receiver) => nodeHttpListener(receiver)(request, response));
  });
  t.after(async () => {
    await posthorn.close();
    await server.close();
    await rm(dataDir, { recursive: true });
  });
  const { secret } = await posthorn.webhooks.create({ url: `${server.url}/hooks`, events: ["order.*"] });

  const handled: VerifiedMessage[] = [];
  const handler: MessageHandler = (received) => {
    handled.push(received);
    return handled.length === 1 ? { status: 503, retryAfterSeconds: 1 } : undefined;
  };
  const receiver = createReceiver({
    verifier: standardWebhooks({ keys: { posthorn: String(secret) } }),
    deduplication: { store: createMemoryDeduplicationStore(), keySyntax: "strict" },
    onError: (error) => assert.fail(String(error)),
    onSecurityIncident: ({ detail }) => assert.fail(detail),
    handler,
  });
  endpoint.resolve(receiver);

  const event = await posthorn.publish({ eventType: "order.completed", data: { orderId: "4711" } });
  await eventually("the delivery", {
    ask: async () => (await posthorn.events.deliveries({ eventId: event.id })).rows[0]?.status,
    holds: (status) => status === "success",
  });
  assert.deepEqual(
    handled.map(({ key, messageId, producer }) => [key, messageId, producer]),
    [
      [event.id, event.id, "posthorn"],
      [event.id, event.id, "posthorn"],
    ],
  );
  assert.deepEqual((handled[1]!.json() as { data: unknown }).data, { orderId: "4711" });
});
