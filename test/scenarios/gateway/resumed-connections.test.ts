/**
 * A connection is resumed while messages arrive. It must open immediately, messages must stay in order, and other
 * tenants must not wait.
 */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { textOf } from "../api/client.fixture.ts";
import { eventually } from "../eventually.fixture.ts";
import { GatewayScene } from "./gateway-scene.fixture.ts";
import type { Json } from "./scene.fixture.ts";

suite("resumed connections", () => {
  const scene = new GatewayScene();
  before(() => scene.start());
  after(() => scene.stop());

  const patch = async (id: string, body: Json): Promise<Json> => {
    const changed = await scene.admin.call("PATCH", `/v1/connections/${id}`, { body });
    assert.equal(changed.status, 200, changed.text);
    return changed.body;
  };

  test("a steady sender: the connection opens at once, progress is shown, every message arrives once and in order", async () => {
    const source = { mode: "store_and_forward" };
    const webhook = { ordering_guarantee: "strict" };
    const { send, connections } = await scene.source({ source, webhook });
    const [id = ""] = connections;
    await patch(id, { paused: true });
    const heldFirst = 250;
    let sent = 0;
    const sendOne = async (): Promise<void> => {
      sent += 1;
      const answer = await send(`{"n":${sent}}`);
      assert.equal(answer.status, 202, answer.text);
    };
    while (sent < heldFirst) await sendOne();
    const paused = await scene.admin.get(`/v1/connections/${id}`);
    assert.deepEqual([paused.body["held_count"], paused.body["releasing_since"]], [heldFirst, null]);

    const resumed = await patch(id, { paused: false });
    assert.equal(resumed["paused"], false);
    assert.notEqual(resumed["releasing_since"], null);
    // Keeps a message in flight at all times, including when the release ends.
    let isReleasing = true;
    const sending = (async () => {
      while (isReleasing) await sendOne();
      for (let more = 0; more < 20; more += 1) await sendOne();
    })();
    const released = await eventually("the release ends while messages come", {
      ask: async () => (await scene.admin.get(`/v1/connections/${id}`)).body,
      holds: (body) => body["releasing_since"] === null,
    });
    isReleasing = false;
    assert.equal(released["held_count"], 0);
    await sending;
    const got = await scene.receiver.waitForRequests(sent);
    assert.deepEqual(
      got.map(({ text }) => (JSON.parse(text) as Json)["n"]),
      Array.from({ length: sent }, (_, index) => index + 1),
    );
  });

  test("messages still held are in the log as held, and later as stored", async () => {
    const { send, requests, connections } = await scene.source({ source: { mode: "store_and_forward" } });
    const [id = ""] = connections;
    await patch(id, { paused: true });
    await send('{"n":1}');
    const result = async () => {
      const [request] = await requests();
      const forwards = request?.["forwards"] as readonly Json[] | undefined;
      return forwards?.[0]?.["result"];
    };
    assert.equal(await result(), "held");
    await patch(id, { paused: false });
    await scene.receiver.waitForRequests(1);
    await eventually("the log shows it as stored", { ask: result, holds: (one) => one === "stored" });
  });

  test("a webhook that accepts nothing does not prevent the connection from opening, and gets its messages later", async () => {
    const { send, connections } = await scene.source({ source: { mode: "store_and_forward" } });
    const [id = ""] = connections;
    await patch(id, { paused: true });
    await send('{"n":1}');
    const { body } = await scene.admin.get(`/v1/connections/${id}`);
    const webhook = `/v1/webhooks/${textOf(body["webhook_id"])}`;
    assert.equal((await scene.admin.post(`${webhook}/disable`, {})).status, 200);
    const resumed = await patch(id, { paused: false });
    assert.deepEqual([resumed["paused"], resumed["held_count"]], [false, 1]);
    assert.equal((await scene.admin.post(`${webhook}/enable`, {})).status, 200);
    await patch(id, { paused: true });
    await patch(id, { paused: false });
    await scene.receiver.waitForRequests(1);
  });
});
