/** Requests that fail in each of the usual ways. */
import { type Client, textOf } from "../scenarios/api/client.fixture.ts";

const unknownId = "0198c3f2-7a4e-7c11-9d3e-5b0a6f1e2d3c";
const webhook = { url: "https://example.com/hooks", events: ["shop.*"] };
const event = { event_type: "shop.paid", data: { n: 1 } };

export async function provokeErrors(admin: Client): Promise<void> {
  await refusedCallers(admin);
  await refusedForms(admin);
  await refusedBounds(admin);
  await missingThings(admin);
  await conflicts(admin);
}

/** 401 and 403. */
async function refusedCallers(admin: Client): Promise<void> {
  for (const key of [null, "nonsense"]) {
    await admin.withKey(key).get("/v1/events");
    await admin.withKey(key).post("/v1/events", event);
  }
  await admin.withKey(null).get("/v1/events", { headers: { authorization: "Basic YTpi" } });
  await admin.withKey(null).get("/ui/session");
  await admin.withKey(null).post("/ui/session", { code: "wrong" });
  await admin.withKey(null).post("/portal/session", { code: "wrong" });
  for (const role of ["publish", "read", "manage"]) {
    const client = admin.withKey(await admin.keyFor(role, "frozen"));
    await client.post("/v1/events", event);
    await client.get("/v1/webhooks");
    await client.post("/v1/webhooks", webhook);
    await client.get("/v1/system");
    await client.get("/v1/tenants");
    await client.get("/v1/webhooks?tenant_id=default");
    await client.post("/v1/api-keys", { name: "x", role: "admin" });
    await client.call("PUT", "/v1/tenants/frozen", { body: { webhooks_max: null } });
  }
}

/** Paths, methods, media types and bodies that no route accepts. */
async function refusedForms(admin: Client): Promise<void> {
  await admin.get("/v1/nothing");
  await admin.call("DELETE", "/v1/events");
  await admin.call("HEAD", "/v1/stream");
  const text = { "content-type": "text/plain" };
  await admin.post("/v1/webhooks", undefined, { raw: "url=1", headers: text });
  for (const raw of [
    "",
    "{",
    "[1",
    '{"a":1,"a":2}',
    '{"__proto__":{}}',
    "[]",
    "null",
    '"a"',
    '{"url":"\\ud800"}',
  ])
    await admin.post("/v1/webhooks", undefined, { raw });
  await admin.post("/v1/webhooks", undefined, { raw: "[".repeat(200) });
  await admin.post("/v1/webhooks", { ...webhook, description: "x".repeat(300_000) });
  await admin.post("/v1/events", { ...event, data: "x".repeat(300_000) });
  for (const idempotencyKey of ["'a", "a", '"', '"\u00e9', `"${"a".repeat(256)}"`, '""'])
    await admin.post("/v1/events", event, { headers: { "idempotency-key": idempotencyKey } });
}

/**
 * Query parameters, and checks that are not part of the field definitions. field-bounds.test.ts tests the bounds of
 * fields.
 */
async function refusedBounds(admin: Client): Promise<void> {
  const queries = [
    "limit=0",
    "limit=251",
    "limit=x",
    "cursor=x",
    "nonsense=1",
    "limit=1&limit=2",
    "tenant_id=unknown",
    "status=nope",
    "since=yesterday",
    "until=2026-13-01",
    "webhook_id=x",
    "q=",
  ];
  for (const list of [
    "events",
    "webhooks",
    "deliveries",
    "dlq",
    "audit-log",
    "problems",
    "tenants",
    "requests",
  ])
    for (const query of queries) await admin.get(`/v1/${list}?${query}`);
  for (const statistics of ["deliveries", "events", "gauges"])
    for (const query of ["step=7m", "group_by=nope", "since=2026-01-02&until=2026-01-01"])
      await admin.get(`/v1/stats/${statistics}?${query}`);
  for (const url of [
    "not a url",
    "http://example.com/",
    "https://u:p@example.com/",
    "https://example.com/#x",
  ])
    await admin.post("/v1/webhooks", { ...webhook, url });
  for (const url of [
    "https://127.0.0.1/",
    "https://[fe80::1]/",
    "https://169.254.169.254/",
    "https://localhost/",
  ])
    await admin.post("/v1/webhooks", { ...webhook, url });
  await admin.post("/v1/webhooks", {});
  await admin.post("/v1/webhooks", { ...webhook, urll: "x", retry_config: { max_atempts: 3 } });
  await admin.post("/v1/webhooks", { ...webhook, secret: "short" });
  await admin.post("/v1/webhooks", {
    ...webhook,
    headers: { "Webhook-Signature": "x", "X-A": "a\r\nX-B: b" },
  });
  await admin.post("/v1/events", { ...event, event_type: "no type" });
  await admin.post("/v1/events/batch", { events: [] });
  await admin.post("/v1/events/batch", { events: [{}, { ...event, tenant_id: "unknown" }] });
  await admin.call("PUT", "/v1/event-types/frozen.typed", { body: { schema: { type: "nope" } } });
  await admin.call("PUT", "/v1/event-types/frozen.typed", {
    body: { schema: { type: "object", required: ["id"] }, validation: "enforce" },
  });
  await admin.post("/v1/events", { event_type: "frozen.typed", data: { n: 1 } });
}

/** 404, for every kind of resource. */
async function missingThings(admin: Client): Promise<void> {
  for (const id of [unknownId, "not-an-id"]) {
    for (const kind of [
      "events",
      "webhooks",
      "deliveries",
      "problems",
      "operations",
      "sources",
      "connections",
    ])
      await admin.get(`/v1/${kind}/${id}`);
    await admin.call("PATCH", `/v1/webhooks/${id}`, { body: {} });
    await admin.call("DELETE", `/v1/webhooks/${id}`);
    await admin.call("DELETE", `/v1/api-keys/${id}`);
    await admin.post(`/v1/events/${id}/replay`);
    await admin.post(`/v1/webhooks/${id}/deliveries/${id}/retry`);
  }
  for (const path of ["tenants/unknown", "event-types/unknown", "profiles/unknown", "source-types/unknown"])
    await admin.get(`/v1/${path}`);
}

/** 409 and 422: reused keys, states that do not allow the call, and limits. */
async function conflicts(admin: Client): Promise<void> {
  const headers = { "idempotency-key": '"frozen"' };
  await admin.post("/v1/webhooks", webhook, { headers });
  await admin.post("/v1/webhooks", webhook, { headers });
  await admin.post("/v1/webhooks", { ...webhook, description: "other" }, { headers });
  await admin.post("/v1/events", { ...event, idempotency_key: "frozen" });
  await admin.post("/v1/events", { ...event, idempotency_key: "frozen" });
  await admin.post("/v1/events", { ...event, idempotency_key: "frozen", data: { n: 2 } });
  const { body } = await admin.post("/v1/webhooks", { ...webhook, secret: `whsec_${"A".repeat(43)}=` });
  const path = `/v1/webhooks/${textOf(body["id"])}`;
  await admin.post(`${path}/secret/rotate`, { overlap_seconds: 3_600 });
  await admin.post(`${path}/secret/rotate`, { overlap_seconds: 3_600 });
  await admin.post(`${path}/secret/rotate`, { secret: `whsec_${"A".repeat(43)}=`, force: true });
  await admin.post(`${path}/enable`);
  await admin.post(`${path}/disable`);
  await admin.post(`${path}/pause`);
  await admin.post(`${path}/resume`);
  await admin.post(`${path}/test`, {});
  await admin.call("PATCH", `${path}/circuit-breaker`, { body: { action: "force_close" } });
  const limited = { webhooks_max: 0 };
  await admin.call("PUT", "/v1/tenants/limited", { body: limited });
  await admin.post("/v1/webhooks", { ...webhook, tenant_id: "limited" });
  await admin.call("DELETE", path);
  await admin.get(path);
}
