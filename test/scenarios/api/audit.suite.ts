import assert from "node:assert/strict";
import { test } from "node:test";
import { assertProblem, itemsOf, textOf } from "./client.fixture.ts";
import type { Client, Json } from "./client.fixture.ts";

const canary = "canary-that-nobody-may-read";
const secret = `whsec_${Buffer.from(canary).toString("base64")}`;

async function rows(client: Client, query = ""): Promise<readonly Json[]> {
  const reply = await client.get(`/v1/audit-log?limit=250&${query}`);
  assert.equal(reply.status, 200, reply.text);
  return itemsOf(reply.body["data"]);
}

export function auditSuite(client: () => Client): void {
  test("the log shows who changed a webhook, and which fields, with its secrets masked", async () => {
    const manager = client().withKey(await client().keyFor("manage", "audited"));
    const created = await manager.post("/v1/webhooks", {
      url: "https://example.com/a",
      events: ["a.*"],
      secret,
      bearer_token: canary,
      headers: { "x-team": "blue" },
    });
    assert.equal(created.status, 201, created.text);
    const id = textOf(created.body["id"]);
    const path = `/v1/webhooks/${id}`;
    const body = { description: "new", active: true, oauth2: null };
    assert.equal((await manager.call("PATCH", path, { body })).status, 200);
    assert.equal((await manager.post(`${path}/disable`)).status, 200);
    assert.equal((await manager.get(`${path}/secret`)).status, 200);
    assert.equal((await manager.post(`${path}/secret/rotate`, { mode: "revoke" })).status, 200);
    assert.equal((await manager.call("DELETE", path)).status, 204);
    const found = await rows(manager, `target=${id}`);
    assert.deepEqual(
      found.map((row) => textOf(row["action"])),
      [
        "webhook.delete",
        "webhook.rotate_secret",
        "webhook.read_secret",
        "webhook.disable",
        "webhook.update",
        "webhook.create",
      ],
    );
    for (const row of found) {
      assert.equal(row["tenant_id"], "audited");
      assert.deepEqual(row["target"], { type: "webhook", id });
      const actor = row["actor"];
      assert.deepEqual(
        [actor?.["kind"], actor?.["role"], typeof actor?.["key_name"]],
        ["api_key", "manage", "string"],
      );
      assert.match(textOf(row["address"]), /127\.0\.0\.1|::1/);
      assert.ok(textOf(row["request_id"]).length > 0);
    }
    const [deleted, , , disabled, updated, made] = found.map((row) => row["changes"]);
    assert.deepEqual(updated, { description: { from: "", to: "new" } });
    assert.deepEqual(disabled, { active: { from: true, to: false } });
    assert.deepEqual(deleted?.["url"], { from: "https://example.com/a", to: null });
    assert.deepEqual(made?.["secret"], { to: "…" });
    assert.deepEqual(made?.["headers"], { to: { "x-team": "blue" } });
    const everything = JSON.stringify(await rows(client()));
    for (const hidden of [canary, secret]) assert.ok(!everything.includes(hidden), hidden);
  });

  test("changes of keys, tenants, event types and bulk actions are logged; rejected calls and counts are not", async () => {
    const own = client().withKey(await client().keyFor("manage", "audited-too"));
    const named = { name: "for ci", role: "read" };
    const key = await own.post("/v1/api-keys", named);
    await own.call("DELETE", `/v1/api-keys/${textOf(key.body["id"])}`);
    await own.call("PUT", "/v1/event-types/audited.type", { body: { description: "x" } });
    await own.call("DELETE", "/v1/event-types/audited.type");
    assert.equal((await own.post("/v1/webhooks", { url: "nonsense", events: ["*"] })).status, 400);
    assert.equal((await own.post("/v1/deliveries/cancel-batch", { filter: {}, dry_run: true })).status, 202);
    const event = await own.post("/v1/events", { event_type: "audited.type", data: {} });
    assert.equal(event.status, 202, event.text);
    const cancelled = await own.post("/v1/deliveries/cancel-batch", { filter: { status: ["pending"] } });
    assert.equal(cancelled.status, 202, cancelled.text);
    // Excludes the entries for the tenant and its key, which an administrator created.
    const found = (await rows(own)).filter((row) => textOf(row["actor"]?.["role"]) !== "admin");
    assert.deepEqual(
      found.map((row) => textOf(row["action"])),
      ["deliveries.cancel", "event_type.delete", "event_type.put", "api_key.revoke", "api_key.create"],
    );
    assert.deepEqual(found[0]?.["target"], {
      type: "operation",
      id: textOf(cancelled.body["batch_operation_id"]),
    });
    assert.deepEqual(found[0]?.["changes"], { filter: { to: { status: ["pending"] } } });
    assert.deepEqual(found[3]?.["changes"]?.["name"], { from: "for ci", to: null });
    assert.ok(!JSON.stringify(found).includes(textOf(key.body["key"])));
    assert.deepEqual((await rows(own, "action=api_key")).slice(0, 2), found.slice(3));
    assert.deepEqual(await rows(own, "target=audited.type&action=event_type.put"), found.slice(2, 3));
    assert.deepEqual(await rows(own, "to=2020-01-01"), []);
    const [tenant] = await rows(client(), "action=tenant.put&target=audited-too");
    assert.equal(tenant?.["actor"]?.["role"], "admin");
    const ofTenant = await rows(client(), "tenant_id=audited-too");
    assert.deepEqual(ofTenant.slice(0, found.length), found);
  });

  test("a repeated call with its Idempotency-Key is logged once", async () => {
    const own = client().withKey(await client().keyFor("manage", "audited-once"));
    const headers = { "idempotency-key": '"audited-once-1"' };
    for (let times = 0; times < 2; times += 1)
      await own.post("/v1/webhooks", { url: "https://example.com/o", events: ["o.*"] }, { headers });
    assert.equal((await rows(own, "action=webhook.create")).length, 1);
  });

  test("only managers and administrators can read the audit log, and each sees only its own tenant", async () => {
    for (const role of ["read", "publish"]) {
      const key = await client().keyFor(role);
      assertProblem(await client().withKey(key).get("/v1/audit-log"), { status: 403, code: "forbidden" });
    }
    const stranger = client().withKey(await client().keyFor("manage", "audit-stranger"));
    const seen = await rows(stranger);
    assert.deepEqual([...new Set(seen.map((row) => textOf(row["tenant_id"])))], ["audit-stranger"]);
    const foreign = await stranger.get("/v1/audit-log?tenant_id=audited");
    assertProblem(foreign, { status: 400, code: "invalid_request" });
    for (const method of ["POST", "PUT", "PATCH", "DELETE"])
      assert.equal((await client().call(method, "/v1/audit-log", { body: {} })).status, 405, method);
    const [first] = await rows(client());
    assert.equal((await client().call("DELETE", `/v1/audit-log/${textOf(first?.["id"])}`)).status, 404);
  });
}
