import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { assertProblem, itemsOf, textOf } from "./client.fixture.ts";
import type { Client } from "./client.fixture.ts";

const event = { event_type: "shop.paid", data: { n: 1 } };
const minimal = { url: "https://example.com/hooks", events: ["order.*"] };

export function accessSuite(client: () => Client): void {
  test("TS16-77 no route under /v1 responds without a valid key", async () => {
    const headers = [
      "",
      "Bearer",
      "Bearer ",
      "Bearer nonsense",
      "Basic YTpi",
      "bearer  x y",
      "Bearer \u00e9",
      `Bearer ${"x".repeat(4_000)}`,
    ];
    for (const authorization of headers) {
      const reply = await client().withKey(null).get("/v1/events", { headers: { authorization } });
      assertProblem(reply, { status: 401, code: "unauthenticated" });
      assert.match(reply.headers.get("www-authenticate") ?? "", /^Bearer/);
    }
    assertProblem(await client().withKey(null).post("/v1/events", event), {
      status: 401,
      code: "unauthenticated",
    });
  });

  test("the scheme is case-insensitive", async () => {
    const key = await client().keyFor("read");
    const reply = await client()
      .withKey(null)
      .get("/v1/events", { headers: { authorization: `bearer ${key}` } });
    assert.equal(reply.status, 200);
  });

  test("each role can do exactly what it may", async () => {
    const can = async (
      key: string,
      attempt: (as: Client) => Promise<{ readonly status: number }>,
    ): Promise<boolean> => (await attempt(client().withKey(key))).status !== 403;
    const publish = (as: Client) => as.post("/v1/events", event);
    const read = (as: Client) => as.get("/v1/webhooks");
    const manage = (as: Client) => as.post("/v1/webhooks", minimal);
    const administer = (as: Client) => as.get("/v1/tenants");
    const tables = {
      publish: [true, false, false, false],
      read: [false, true, false, false],
      manage: [true, true, true, false],
    };
    for (const [role, expected] of Object.entries(tables)) {
      const key = await client().keyFor(role);
      const actual = [];
      for (const attempt of [publish, read, manage, administer]) actual.push(await can(key, attempt));
      assert.deepEqual(actual, expected, role);
    }
  });

  test("only administrators see the configuration of the process", async () => {
    const { status, body } = await client().get("/v1/system");
    assert.equal(status, 200);
    assert.match(JSON.stringify(body["roles"]), /"api"/);
    assert.match(JSON.stringify(body["worker_pools"]), /"name":"default","workers":\d/);
    assert.ok(Number(body["store"]?.["schema_version"]) > 0, JSON.stringify(body["store"]));
    assert.ok(Number(body["store"]?.["size_bytes"]) > 10_000, JSON.stringify(body["store"]));
    assert.match(JSON.stringify(body["settings"]), /"name":"POSTHORN_ADMIN_KEY","value":"(\*{8}|\(.+?\))"/);
    for (const role of ["read", "publish", "manage"]) {
      const reply = await client()
        .withKey(await client().keyFor(role))
        .get("/v1/system");
      assertProblem(reply, { status: 403, code: "forbidden" });
    }
  });

  test("a key of another tenant sees nothing and changes nothing", async () => {
    const webhook = (await client().post("/v1/webhooks", minimal)).body;
    const receipt = (await client().post("/v1/events", event)).body;
    const attacker = client().withKey(await client().keyFor("manage", "stranger"));
    const unknown = randomUUID();
    for (const [method, path] of [
      ["GET", "/v1/events/{event}"],
      ["GET", "/v1/events/{event}/deliveries"],
      ["POST", "/v1/events/{event}/replay"],
      ["GET", "/v1/webhooks/{webhook}"],
      ["PATCH", "/v1/webhooks/{webhook}"],
      ["DELETE", "/v1/webhooks/{webhook}"],
      ["GET", "/v1/webhooks/{webhook}/secret"],
      ["POST", "/v1/webhooks/{webhook}/secret/rotate"],
      ["POST", "/v1/webhooks/{webhook}/test"],
      ["POST", "/v1/webhooks/{webhook}/verify"],
      ["GET", "/v1/webhooks/{webhook}/health"],
      ["GET", "/v1/webhooks/{webhook}/deliveries"],
      ["GET", "/v1/tenants/{tenant}"],
    ] as const) {
      const options = method === "GET" || method === "DELETE" ? {} : { body: {} };
      const url = ({
        event,
        webhook,
        tenant,
      }: {
        readonly event: string;
        readonly webhook: string;
        readonly tenant: string;
      }) => path.replace("{event}", event).replace("{webhook}", webhook).replace("{tenant}", tenant);
      const foreign = await attacker.call(
        method,
        url({ event: textOf(receipt["id"]), webhook: textOf(webhook["id"]), tenant: "default" }),
        options,
      );
      assertProblem(foreign, { status: 404, code: "not_found" });
      const missing = await attacker.call(
        method,
        url({ event: unknown, webhook: unknown, tenant: "never" }),
        options,
      );
      assert.equal(
        missing.text,
        foreign.text,
        `${method} ${path}: the answer must not tell whether it exists`,
      );
    }
    for (const path of ["/v1/webhooks", "/v1/events", "/v1/dlq"]) {
      assert.deepEqual((await attacker.get(path)).body["data"], []);
      assertProblem(await attacker.get(`${path}?tenant_id=default`), {
        status: 400,
        code: "invalid_request",
      });
    }
    const published = await attacker.post("/v1/events", { ...event, tenant_id: "default" });
    assertProblem(published, { status: 400, code: "invalid_request" });
    assert.equal((await client().get(`/v1/webhooks/${textOf(webhook["id"])}`)).status, 200);
  });

  test("an unknown tenant is named", async () => {
    const reply = await client().post("/v1/events", { ...event, tenant_id: "nobody-here" });
    const problem = assertProblem(reply, { status: 400, code: "invalid_request" });
    assert.equal(itemsOf(problem["errors"])[0]?.["field"], "tenant_id");
  });

  test("a tenant's key cannot extend its own rights", async () => {
    const manager = client().withKey(await client().keyFor("manage", "climber"));
    for (const body of [
      { name: "x", role: "admin" },
      { name: "x", role: "manage", tenant_id: "default" },
      { name: "x", role: "admin", tenant_id: "climber" },
    ]) {
      assertProblem(await manager.post("/v1/api-keys", body), { status: 403, code: "forbidden" });
    }
    assert.equal(
      (await manager.post("/v1/api-keys", { name: "x", role: "read" })).body["tenant_id"],
      "climber",
    );
    for (const body of [{ webhooks_max: null }, { worker_pool: "fast" }]) {
      assertProblem(await manager.call("PUT", "/v1/tenants/climber", { body }), {
        status: 403,
        code: "forbidden",
      });
    }
  });

  test("notification targets are rejected while nothing is sent to them", async () => {
    const body = { notification_targets: [{ kind: "email", address: "ops@example.com" }] };
    const refused = await client().call("PUT", "/v1/tenants/listener", { body });
    const problem = assertProblem(refused, { status: 400, code: "invalid_request" });
    assert.equal(itemsOf(problem["errors"])[0]?.["field"], "notification_targets");
    assertProblem(await client().get("/v1/tenants/listener"), { status: 404, code: "not_found" });
  });

  test("a revoked key is rejected at once, and keys are never shown again", async () => {
    const created = (
      await client().post("/v1/api-keys", { name: "short-lived", role: "read", tenant_id: "default" })
    ).body;
    const key = textOf(created["key"]);
    const as = client().withKey(key);
    assert.equal((await as.get("/v1/events")).status, 200);
    assert.ok(!(await client().get("/v1/api-keys?limit=250")).text.includes(key));
    assert.equal((await client().call("DELETE", `/v1/api-keys/${textOf(created["id"])}`)).status, 204);
    assertProblem(await as.get("/v1/events"), { status: 401, code: "unauthenticated" });
  });

  test("system routes need no key", async () => {
    for (const path of ["/livez", "/healthz", "/readyz", "/metrics", "/openapi.json", "/docs"]) {
      assert.equal((await client().withKey(null).get(path)).status, 200, path);
    }
  });
}
