/** Numbers beyond the precision of a double keep their digits wherever a document is stored or shown. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { startReceiver, type Receiver } from "../peers/receiver.ts";
import { GatewayScene } from "../scenarios/gateway/gateway-scene.fixture.ts";
import { textOf } from "../scenarios/api/client.fixture.ts";

suite("numbers in documents", () => {
  const scene = new GatewayScene();
  let receiver: Receiver;
  before(async () => {
    await scene.start();
    receiver = await startReceiver();
  });
  after(async () => {
    await receiver.close();
    await scene.stop();
  });

  const exact = '{"id":9007199254740993,"rate":0.12345678901234567890,"plain":[1,"9007199254740993"]}';
  const shows = (text: string, what: string) => assert.ok(text.includes(exact), `${what}: ${text}`);

  test("metadata of webhooks: created, listed, revisions, audit, changed and replaced", async () => {
    const url = receiver.url("/hook");
    const raw = `{"url":${JSON.stringify(url)},"events":["*"],"metadata":${exact}}`;
    const created = await scene.admin.call("POST", "/v1/webhooks", { raw });
    assert.equal(created.status, 201, created.text);
    shows(created.text, "created");
    const path = `/v1/webhooks/${textOf(created.body["id"])}`;
    shows((await scene.admin.get(path)).text, "read");
    shows((await scene.admin.get("/v1/webhooks")).text, "listed");
    const changed = await scene.admin.call("PATCH", path, { body: { description: "changed" } });
    shows(changed.text, "after another change");
    const other = exact.replace("740993,", "740995,");
    const again = await scene.admin.call("PATCH", path, { raw: `{"metadata":${other}}` });
    assert.ok(again.text.includes(other), again.text);
    const audit = await scene.admin.get("/v1/audit-log?limit=10");
    shows(audit.text, "audit, before");
    assert.ok(audit.text.includes(other), `audit, after: ${audit.text}`);
    const revisions = await scene.admin.get(`${path}/revisions`);
    shows(revisions.text, "revisions, before");
    assert.ok(revisions.text.includes(other), `revisions, after: ${revisions.text}`);
  });

  test("examples and schemas of event types; an example is validated by its schema", async () => {
    const schema = '{"type":"object","properties":{"id":{"type":"integer","minimum":9007199254740993}}}';
    const path = "/v1/event-types/order.created";
    const put = await scene.admin.call("PUT", path, { raw: `{"schema":${schema},"examples":[${exact}]}` });
    assert.ok(put.status < 300, put.text);
    for (const { text } of [put, await scene.admin.get(path), await scene.admin.get("/v1/event-types")]) {
      shows(text, "event type");
      assert.ok(text.includes(schema), text);
    }
    const refused = await scene.admin.call("PUT", path, {
      raw: `{"schema":${schema},"examples":[{"id":"x"}]}`,
    });
    assert.equal(refused.status, 400);
  });

  test("data of a test event, given and from the example", async () => {
    const created = await scene.admin.post("/v1/webhooks", { url: receiver.url("/test"), events: ["*"] });
    const path = `/v1/webhooks/${textOf(created.body["id"])}/test`;
    receiver.clear();
    const given = await scene.admin.call("POST", path, { raw: `{"data":${exact}}` });
    assert.equal(given.status, 202, given.text);
    const example = await scene.admin.call("POST", path, { raw: '{"event_type":"order.created"}' });
    assert.equal(example.status, 202, example.text);
    const got = await receiver.waitForRequests(2);
    for (const { text } of got) shows(text, "delivered");
  });
});
