import assert from "node:assert/strict";
import { test } from "node:test";
import { startLocalReceiver, type ReceivedDelivery } from "../../src/cli/receiver/local-receiver.ts";
import { reportIncident } from "../../src/receiver/receiver-options.ts";

const incident = {
  kind: "key_reused" as const,
  detail: "A known key was sent with a different body.",
  messageId: "message-1",
  occurredAt: new Date(0),
};

test("an incident is reported to the sender as JSON, with an API key", async (t) => {
  const reports: ReceivedDelivery[] = [];
  const sender = await startLocalReceiver(0, async (report) => {
    reports.push(report);
    return { status: report.path === "/gone" ? 404 : 202, body: "{}" };
  });
  t.after(() => sender.close());

  const url = `${sender.url}v1/webhooks/w/incidents`;
  assert.deepEqual(await reportIncident({ url, apiKey: "key", incident }), { kind: "reported" });
  const [report] = reports;
  assert.deepEqual([report?.method, report?.path], ["POST", "/v1/webhooks/w/incidents"]);
  assert.equal(report?.headers["authorization"], "Bearer key");
  assert.equal(report?.headers["content-type"], "application/json");
  assert.deepEqual(JSON.parse(new TextDecoder().decode(report?.body)), {
    kind: "key_reused",
    detail: "A known key was sent with a different body.",
    message_id: "message-1",
    occurred_at: "1970-01-01T00:00:00.000Z",
  });
  const refused = await reportIncident({ url: `${sender.url}gone`, incident });
  assert.deepEqual(refused, { kind: "failed", detail: "the sender responded with 404" });
});

test("a report that cannot be sent is returned as a result, not thrown", async () => {
  const result = await reportIncident({ url: "http://127.0.0.1:1/", incident, timeoutMs: 2_000 });
  assert.equal(result.kind, "failed");
  assert.equal((await reportIncident({ url: "no url", incident })).kind, "failed");
});
