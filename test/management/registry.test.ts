import assert from "node:assert/strict";
import { test } from "node:test";
import { PosthornError } from "../../src/domain/errors.ts";
import { apiKeysPerTenantMax } from "../../src/features/tenants/api-key-service.ts";
import type { ApiKeyRole } from "../../src/ports/store/registry.ts";
import { admin, adminKey, openWorld } from "./world.fixture.ts";

const code = (expected: string) => (error: unknown) =>
  error instanceof PosthornError && error.code === expected;
const schema = { type: "object", required: ["id"], properties: { id: { type: "integer" } } };
const fieldsOf = (expected: readonly string[]) => (error: unknown) => {
  assert.ok(error instanceof PosthornError);
  assert.deepEqual(
    error.fields.map(({ field }) => field),
    expected,
  );
  return true;
};

test("TS16-46 WDS-7 a registered schema validates events, from when it is stored until it is deleted", async (t) => {
  const world = await openWorld(t);
  const { eventTypes } = world.services;
  await world.publish({ data: { id: "text" } });
  const put = await eventTypes.put(admin, {
    tenantId: null,
    name: "order.created",
    schema,
    description: "An order",
    examples: [{ id: 1 }],
  });
  assert.equal(put.created, true);
  await assert.rejects(world.publish({ data: { id: "canary" } }), (error: unknown) => {
    assert.ok(error instanceof PosthornError && error.code === "schema_violation");
    assert.deepEqual(error.fields, [{ field: "data.id", message: "must be integer" }]);
    return true;
  });
  await world.publish({ data: { id: 2 } });
  await world.restart();
  await assert.rejects(world.publish({ data: [], eventType: "order.created" }), code("invalid_request"));
  await assert.rejects(world.publish({ data: { id: null } }), code("schema_violation"));
  const { eventTypes: again } = world.services;
  const merged = await again.put(admin, { tenantId: null, name: "order.created", deprecated: true });
  assert.deepEqual(
    [merged.created, merged.eventType.description, merged.eventType.deprecated],
    [false, "An order", true],
  );
  assert.deepEqual(merged.eventType.schema, schema);
  const textual = { properties: { id: { type: "string" } } };
  await again.put(admin, { tenantId: null, name: "order.created", schema: textual, examples: [] });
  await assert.rejects(
    world.publish({ data: { id: 2 } }),
    code("schema_violation"),
    "the new schema counts at once",
  );
  await again.put(admin, { tenantId: null, name: "order.created", schema: null, examples: [] });
  await world.publish({ data: { id: "text" } });
  await again.delete(admin, { tenantId: null, name: "order.created" });
  await assert.rejects(again.get(admin, { tenantId: null, name: "order.created" }), code("not_found"));
  await assert.rejects(again.delete(admin, { tenantId: null, name: "order.created" }), code("not_found"));
});

test("TS16-103 event types are checked: names, schemas, and examples against their schema", async (t) => {
  const world = await openWorld(t);
  const { eventTypes } = world.services;
  for (const name of ["", "a..b", "a b", "*", "posthorn.test", "x".repeat(129)]) {
    await assert.rejects(eventTypes.put(admin, { tenantId: null, name }), fieldsOf(["name"]));
  }
  await assert.rejects(
    eventTypes.put(admin, { tenantId: null, name: "a", schema: { properties: { x: { type: "nope" } } } }),
    fieldsOf(["schema.properties.x.type"]),
  );
  await assert.rejects(
    eventTypes.put(admin, { tenantId: null, name: "a", schema: { $ref: "http://169.254.169.254/" } }),
    fieldsOf(["schema.$ref"]),
  );
  await assert.rejects(
    eventTypes.put(admin, { tenantId: null, name: "a", schema, examples: [{ id: 1 }, { id: "x" }] }),
    fieldsOf(["examples[1].id"]),
  );
  await assert.rejects(
    eventTypes.put(admin, { tenantId: null, name: "a", schema, examples: [{ id: 1 }, 3 as never] }),
    fieldsOf(["examples[1]"]),
  );
  assert.deepEqual(await eventTypes.list(admin, { tenantId: null }), { rows: [], next: null });
});

test("a catalogue is limited in bytes, may always shrink, and is listed about a megabyte at a time", async (t) => {
  const world = await openWorld(t);
  const { eventTypes } = world.services;
  const examples = [{ text: "x".repeat(250_000) }];
  const put = (name: string, more = {}) => eventTypes.put(admin, { tenantId: null, name, examples, ...more });
  let registered = 0;
  for (; registered < 100; registered += 1) {
    const refusal = await put(`type${registered}`).then(
      () => null,
      (error: unknown) => error,
    );
    if (refusal === null) continue;
    assert.ok(refusal instanceof PosthornError && refusal.code === "limit_reached");
    assert.match(refusal.message, /the limit of 4194304 bytes/);
    break;
  }
  assert.equal(registered, 16);
  await put("rest", { examples: [{ text: "x".repeat(190_000) }] });
  await assert.rejects(put("type0", { description: "x".repeat(2_000) }), code("limit_reached"));
  await put("type0", { examples: [] });
  await put("type0", { description: "x".repeat(2_000), examples: [] });
  const first = await eventTypes.list(admin, { tenantId: null, limit: 100 });
  assert.ok(first.rows.length >= 4 && first.rows.length <= 6, `${first.rows.length} in a page`);
  const names = first.rows.map(({ name }) => name);
  for (let { next } = first; next !== null; ) {
    const page = await eventTypes.list(admin, { tenantId: null, limit: 100, after: next });
    names.push(...page.rows.map(({ name }) => name));
    next = page.next;
  }
  assert.equal(new Set(names).size, registered + 1);
  assert.equal(names.length, registered + 1);
});

test("all events of one request share one budget for schema validation, and the next request has its own", async (t) => {
  const world = await openWorld(t);
  const { eventTypes } = world.services;
  const costly = { items: { allOf: Array.from({ length: 10 }, () => ({ items: { type: "integer" } })) } };
  await eventTypes.put(admin, {
    tenantId: null,
    name: "order.created",
    schema: { type: "object", properties: costly },
  });
  const data = { items: Array.from({ length: 20_000 }, (_, index) => index % 10) };
  const event = { eventType: "order.created", data };
  for (let request = 0; request < 2; request += 1) {
    const entries = await world.engine.publisher.publishMany(
      admin,
      Array.from({ length: 12 }, () => event),
    );
    const firstRefused = entries.findIndex(({ kind }) => kind === "refused");
    assert.ok(firstRefused > 1, `the ${firstRefused}. was refused`);
    for (const entry of entries.slice(firstRefused)) {
      assert.ok(entry.kind === "refused");
      assert.match(entry.error.fields[0]?.message ?? "", /together with the events before it/);
    }
  }
  await world.publish(event);
});

test("event types and their schemas belong to one tenant", async (t) => {
  const world = await openWorld(t);
  const { eventTypes, tenants } = world.services;
  await tenants.put(admin, { id: "acme", input: {} });
  await eventTypes.put({ tenantId: "acme" }, { tenantId: null, name: "order.created", schema });
  await world.publish({ data: { id: "text" } });
  await assert.rejects(world.publish({ tenantId: "acme", data: { id: "text" } }), code("schema_violation"));
  const other = { tenantId: "default" };
  await assert.rejects(eventTypes.get(other, { tenantId: null, name: "order.created" }), code("not_found"));
  await assert.rejects(
    eventTypes.get(other, { tenantId: "acme", name: "order.created" }),
    code("invalid_request"),
  );
  await assert.rejects(
    eventTypes.delete(other, { tenantId: null, name: "order.created" }),
    code("not_found"),
  );
  assert.equal((await eventTypes.list(other, { tenantId: null })).rows.length, 0);
  assert.equal((await eventTypes.list(admin, { tenantId: null })).rows.length, 1);
});

test("`default` exists from the start; ids and limits of tenants are validated; tenants cannot raise their limits", async (t) => {
  const world = await openWorld(t);
  const { tenants } = world.services;
  assert.deepEqual(
    (await tenants.list(admin)).map(({ id }) => id),
    ["default"],
  );
  for (const id of ["", "Upper", "-a", "a b", "a/b", "x".repeat(64), "é"]) {
    await assert.rejects(tenants.put(admin, { id, input: {} }), fieldsOf(["id"]));
  }
  const rateLimit = { requestsPerMinute: 60, burst: 5 };
  const { tenant, created } = await tenants.put(admin, { id: "acme", input: { name: "Acme", rateLimit } });
  assert.deepEqual([created, tenant.name, tenant.rateLimit], [true, "Acme", rateLimit]);
  assert.equal(tenant.workerPool, "default");
  const merged = await tenants.put(admin, { id: "acme", input: { webhooksMax: 5, workerPool: "large" } });
  assert.deepEqual(
    [merged.created, merged.tenant.rateLimit, merged.tenant.webhooksMax, merged.tenant.workerPool],
    [false, rateLimit, 5, "large"],
  );
  for (const workerPool of ["", "Large", "-large", "a b", "x".repeat(64), 1 as unknown as string]) {
    await assert.rejects(
      tenants.put(admin, { id: "acme", input: { workerPool } }),
      fieldsOf(["worker_pool"]),
    );
  }
  await assert.rejects(
    tenants.put(admin, {
      id: "acme",
      input: {
        name: "",
        rateLimit: { requestsPerMinute: 0, burst: 0.5 },
        webhooksMax: -1,
      },
    }),
    fieldsOf(["name", "rate_limit.requests_per_minute", "rate_limit.burst", "webhooks_max"]),
  );
  const acme = { tenantId: "acme" };
  assert.deepEqual(
    (await tenants.list(acme)).map(({ id }) => id),
    ["acme"],
  );
  await assert.rejects(tenants.get(acme, "default"), code("not_found"));
  await assert.rejects(tenants.put(acme, { id: "default", input: { name: "x" } }), code("not_found"));
  await assert.rejects(tenants.put(acme, { id: "acme", input: { rateLimit: null } }), code("forbidden"));
  await assert.rejects(tenants.put(acme, { id: "acme", input: { webhooksMax: null } }), code("forbidden"));
  await assert.rejects(tenants.put(acme, { id: "acme", input: { workerPool: "fast" } }), code("forbidden"));
  assert.equal((await tenants.put(acme, { id: "acme", input: { name: "New" } })).tenant.name, "New");
  await world.restart();
  const reread = await world.services.tenants.get(admin, "acme");
  assert.deepEqual([reread.webhooksMax, reread.workerPool], [5, "large"]);
});

test("a key authenticates its holder until it is revoked or expires, and survives a restart", async (t) => {
  const world = await openWorld(t);
  await world.services.tenants.put(admin, { id: "acme", input: {} });
  const { apiKeys } = world.services;
  const made = await apiKeys.create(admin, {
    name: "ci",
    role: "publish",
    tenantId: "acme",
    expiresAt: null,
  });
  assert.match(made.key, /^phk_[A-Za-z0-9_-]{43}$/);
  assert.equal(made.apiKey.hint, made.key.slice(-4));
  assert.ok(!JSON.stringify(made.apiKey).includes(made.key));
  const principal = { keyId: made.apiKey.id, role: "publish", tenantId: "acme" };
  assert.deepEqual(apiKeys.authenticate(made.key), principal);
  for (const wrong of [
    "",
    "phk_",
    `${made.key}x`,
    made.key.slice(0, -1),
    made.apiKey.hash,
    "x".repeat(100_000),
  ]) {
    assert.equal(apiKeys.authenticate(wrong), null);
  }
  assert.deepEqual(apiKeys.authenticate(adminKey), { keyId: "admin", role: "admin", tenantId: null });
  await world.restart();
  const { apiKeys: again } = world.services;
  assert.deepEqual(again.authenticate(made.key), principal);
  await again.revoke(admin, made.apiKey.id);
  assert.equal(again.authenticate(made.key), null);
  await assert.rejects(again.revoke(admin, made.apiKey.id), code("not_found"));
  const expiring = await again.create(admin, {
    name: "soon",
    role: "read",
    tenantId: null,
    expiresAt: Date.now() + 60_000,
  });
  assert.equal(again.authenticate(expiring.key)?.tenantId, "default");
  world.skipTime(60_001);
  assert.equal(again.authenticate(expiring.key), null);
});

test("a tenant has a limited number of API keys, even if they are created concurrently; expired ones make room", async (t) => {
  const world = await openWorld(t);
  await world.services.tenants.put(admin, { id: "acme", input: {} });
  const { apiKeys } = world.services;
  const acme = { tenantId: "acme" };
  const key = { name: "k", role: "read" as ApiKeyRole, tenantId: null, expiresAt: null };
  const brief = { ...key, expiresAt: Date.now() + 60_000 };
  for (let count = 0; count < 2; count += 1) await apiKeys.create(acme, brief);
  const results = await Promise.allSettled(
    Array.from({ length: apiKeysPerTenantMax + 5 }, () => apiKeys.create(acme, key)),
  );
  const refused = results.filter((result) => result.status === "rejected");
  assert.equal(refused.length, 7);
  for (const { reason } of refused) assert.ok(code("limit_reached")(reason));
  assert.equal((await apiKeys.list(acme)).length, apiKeysPerTenantMax);
  await apiKeys.create(admin, key);
  world.skipTime(60_001);
  for (let count = 0; count < 2; count += 1) await apiKeys.create(acme, key);
  await assert.rejects(apiKeys.create(admin, { ...key, tenantId: "acme" }), code("limit_reached"));
  const own = await apiKeys.list(acme);
  assert.equal(own.length, apiKeysPerTenantMax);
  await apiKeys.revoke(acme, own[0]?.id ?? "");
  await apiKeys.create(acme, key);
});

test("API keys are listed newest first, even after a restart", async (t) => {
  const world = await openWorld(t);
  const key = { role: "read" as ApiKeyRole, tenantId: null, expiresAt: null };
  const names = ["first", "second", "third"];
  for (const name of names) {
    await world.services.apiKeys.create(admin, { ...key, name });
    world.skipTime(1_000);
  }
  const listed = async () => (await world.services.apiKeys.list(admin)).map(({ name }) => name);
  assert.deepEqual(await listed(), names.toReversed());
  await world.restart();
  assert.deepEqual(await listed(), names.toReversed());
});

test("a tenant creates, sees and revokes only its own keys, and never an administrator's", async (t) => {
  const world = await openWorld(t);
  await world.services.tenants.put(admin, { id: "acme", input: {} });
  const { apiKeys } = world.services;
  const acme = { tenantId: "acme" };
  const key = { name: "k", role: "manage" as ApiKeyRole, tenantId: null, expiresAt: null };
  const root = await apiKeys.create(admin, { ...key, role: "admin" });
  assert.equal(apiKeys.authenticate(root.key)?.tenantId, null);
  const own = await apiKeys.create(acme, key);
  assert.equal(own.apiKey.tenantId, "acme");
  await assert.rejects(apiKeys.create(acme, { ...key, role: "admin" }), code("forbidden"));
  await assert.rejects(apiKeys.create(acme, { ...key, tenantId: "default" }), code("invalid_request"));
  await assert.rejects(apiKeys.create(admin, { ...key, tenantId: "ghost" }), code("invalid_request"));
  await assert.rejects(
    apiKeys.create(admin, { name: "", role: "boss" as ApiKeyRole, tenantId: null, expiresAt: 1 }),
    fieldsOf(["name", "role", "expires_at"]),
  );
  await assert.rejects(
    apiKeys.create(admin, { ...key, role: "admin", tenantId: "acme" }),
    fieldsOf(["tenant_id"]),
  );
  assert.deepEqual(
    (await apiKeys.list(acme)).map(({ id }) => id),
    [own.apiKey.id],
  );
  assert.equal((await apiKeys.list(admin)).length, 2);
  await assert.rejects(apiKeys.revoke({ tenantId: "default" }, own.apiKey.id), code("not_found"));
  await assert.rejects(apiKeys.revoke(acme, root.apiKey.id), code("not_found"));
});
