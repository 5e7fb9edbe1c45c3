/** Tenants on one deployment: no tenant can read, change or reach anything that belongs to another. */
import assert from "node:assert/strict";
import { assertProblem, textOf } from "../api/client.fixture.ts";
import { fieldOf } from "../tenant-scene.fixture.ts";
import type { Scenarios } from "./scenario.fixture.ts";

export const tenants: Scenarios = {
  "an attacker's key reads nothing of a tenant, and an attacker's event reaches none of its webhooks": async (
    scene,
  ) => {
    const { api, admin, receiver, tenantId } = scene;
    receiver.script(({ path }) => ({ status: path === "/hook" ? 422 : 200 }));
    const webhook = await scene.addWebhook({ events: ["*"] });
    const event = await scene.publish();
    const delivery = textOf((await scene.reaches(event, "exhausted"))["id"]);
    const attackerId = `${tenantId}-stranger`;
    const attacker = admin.withKey(await admin.keyFor("manage", attackerId));
    const asked = [
      ["GET", `/v1/events/${event}`],
      ["GET", `/v1/events/${event}/deliveries`],
      ["POST", `/v1/events/${event}/replay`],
      ["GET", `/v1/webhooks/${webhook}`],
      ["PATCH", `/v1/webhooks/${webhook}`],
      ["DELETE", `/v1/webhooks/${webhook}`],
      ["GET", `/v1/webhooks/${webhook}/health`],
      ["GET", `/v1/webhooks/${webhook}/secret`],
      ["POST", `/v1/webhooks/${webhook}/secret/rotate`],
      ["POST", `/v1/webhooks/${webhook}/disable`],
      ["GET", `/v1/webhooks/${webhook}/deliveries`],
      ["GET", `/v1/deliveries/${delivery}`],
      ["POST", `/v1/webhooks/${webhook}/deliveries/${delivery}/retry`],
    ] as const;
    for (const [method, path] of asked) {
      const options = method === "PATCH" ? { body: { active: false } } : {};
      assertProblem(await attacker.call(method, path, options), { status: 404, code: "not_found" });
    }
    for (const path of ["/v1/events", "/v1/webhooks", "/v1/dlq"])
      assert.deepEqual((await attacker.get(path)).body["data"], [], path);
    const forged = await attacker.post("/v1/events", {
      event_type: "order.paid",
      data: { n: 1 },
      tenant_id: tenantId,
    });
    assertProblem(forged, { status: 400, code: "invalid_request" });

    const own = await attacker.post("/v1/webhooks", { url: receiver.url("/stranger"), events: ["*"] });
    assert.equal(own.status, 201, own.text);
    const theirs = await attacker.post("/v1/events", { event_type: "order.paid", data: { n: 2 } });
    assert.equal(theirs.body["deliveries"], 1, theirs.text);
    await receiver.waitForRequests(2);
    assert.deepEqual(
      receiver.requests.map(({ path }) => path),
      ["/hook", "/stranger"],
    );
    assert.deepEqual(fieldOf(await scene.list("/v1/events"), "id"), [event]);
    assert.equal((await api.get(`/v1/webhooks/${webhook}`)).body["status"], "active");
    const all = await admin.get(`/v1/events?tenant_id=${attackerId}`);
    assert.deepEqual(fieldOf([...(all.body["data"] ?? [])], "id"), [theirs.body["id"]]);
  },

  "two tenants use the same key for different events": async (scene) => {
    const attacker = scene.admin.withKey(await scene.admin.keyFor("publish", `${scene.tenantId}-other`));
    const keyed = { event_type: "order.paid", idempotency_key: "order-1" };
    const mine = await scene.api.post("/v1/events", { ...keyed, data: { n: 1 } });
    const theirs = await attacker.post("/v1/events", { ...keyed, data: { n: 2 } });
    assert.deepEqual([mine.status, theirs.status], [202, 202], theirs.text);
    assert.notEqual(theirs.body["id"], mine.body["id"]);
    assert.equal(theirs.body["duplicate"], false);
  },
};
