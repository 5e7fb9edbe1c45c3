import assert from "node:assert/strict";
import { test } from "node:test";
import { startSenderServer } from "./check-sender.ts";

test("a sender that requests permission gets it, and the request does not count as a delivery", async (t) => {
  let arrived = 0;
  const server = await startSenderServer(0, () => void (arrived += 1));
  t.after(() => server.close());
  const headers = { "WebHook-Request-Origin": "sender.example", "WebHook-Request-Rate": "120" };
  const answer = await fetch(server.url, { method: "OPTIONS", headers });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get("webhook-allowed-origin"), "sender.example");
  assert.equal(answer.headers.get("webhook-allowed-rate"), "120");
  assert.equal(answer.headers.get("allow"), "POST");
  assert.deepEqual(server.events, []);
  assert.equal(arrived, 0);

  await fetch(server.url, { method: "POST", headers: { "Idempotency-Key": '"1"' }, body: "{}" });
  assert.equal(server.events.length, 1);
});
