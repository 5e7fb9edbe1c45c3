/** Two tenants on one server: neither can read, guess, list, change or resume anything that belongs to the other. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { startReceiver } from "../peers/receiver.ts";
import type { Receiver } from "../peers/receiver.ts";
import { assertProblem, createClient, itemsOf, textOf } from "./api/client.fixture.ts";
import type { Client } from "./api/client.fixture.ts";
import { eventually } from "./eventually.fixture.ts";
import { PosthornProcess } from "./posthorn-process.fixture.ts";

let posthorn: PosthornProcess;
let admin: Client;
let owner: Client;
let receiver: Receiver;
const attackers: Record<string, Client> = {};
/** IDs of the owner's resources. */
const ids: Record<string, string> = {};

before(async () => {
  posthorn = await PosthornProcess.start();
  admin = createClient({ baseUrl: posthorn.url, key: posthorn.adminKey });
  receiver = await startReceiver();
  receiver.script(() => ({ status: 422 }));
  owner = admin.withKey(await admin.keyFor("manage", "owner"));
  for (const role of ["manage", "publish", "read"])
    attackers[role] = admin.withKey(await admin.keyFor(role, "stranger"));
  await makeOwnersThings();
});
after(async () => {
  await posthorn.remove();
  await receiver.close();
});

async function makeOwnersThings(): Promise<void> {
  const webhook = await owner.post("/v1/webhooks", { url: receiver.url(), events: ["owner.*"] });
  ids["webhook"] = textOf(webhook.body["id"]);
  for (const n of [1, 2, 3]) {
    const event = await owner.post("/v1/events", {
      event_type: "owner.paid",
      data: { canary: "owners-data", n },
      ...(n === 3 && { idempotency_key: "owners-key" }),
    });
    ids["event"] = textOf(event.body["id"]);
  }
  const dead = await eventually("three dead letters", {
    ask: async () => itemsOf((await owner.get("/v1/dlq")).body["data"]),
    holds: (rows) => rows.length === 3,
  });
  ids["delivery"] = textOf(dead[0]?.["id"]);
  ids["event"] = textOf(dead[0]?.["event_id"]);
  const { body } = await owner.get("/v1/problems");
  ids["problem"] = textOf(itemsOf(body["data"])[0]?.["id"]);
  const schema = { type: "object", required: ["n"] };
  assert.equal((await owner.call("PUT", "/v1/event-types/owner.paid", { body: { schema } })).status, 201);
  const started = await owner.post("/v1/dlq/retry-batch", { rate_limit: { requests_per_second: 0.1 } });
  ids["operation"] = textOf(started.body["batch_operation_id"]);
  const key = await owner.post("/v1/api-keys", { name: "second", role: "read" });
  ids["key"] = textOf(key.body["id"]);
  await makeOwnersSource();
}

/** Creates a source with a connection and a rejected request. */
async function makeOwnersSource(): Promise<void> {
  const verification = { type: "github", secrets: ["owners-secret"] };
  const source = await owner.post("/v1/sources", { name: "owners-source", verification });
  ids["source"] = textOf(source.body["source_id"]);
  const ends = { source_id: ids["source"], webhook_id: ids["webhook"] };
  ids["connection"] = textOf((await owner.post("/v1/connections", ends)).body["id"]);
  const { pathname } = new URL(textOf(source.body["url"]));
  await fetch(`${posthorn.url}${pathname}`, { method: "POST", body: "owners-data" });
  const { body } = await owner.get("/v1/requests");
  ids["request"] = textOf(itemsOf(body["data"])[0]?.["id"]);
}

const routes: readonly (readonly [method: string, path: string, body?: object])[] = [
  ["GET", "/v1/events/{event}"],
  ["GET", "/v1/events/{event}/deliveries"],
  ["GET", "/v1/events/{event}/matches"],
  ["POST", "/v1/events/{event}/replay", {}],
  ["GET", "/v1/webhooks/{webhook}"],
  ["PATCH", "/v1/webhooks/{webhook}", { active: false }],
  ["PUT", "/v1/webhooks/{webhook}", { url: "https://example.com/mine" }],
  ["DELETE", "/v1/webhooks/{webhook}"],
  ["GET", "/v1/webhooks/{webhook}/health"],
  ["PATCH", "/v1/webhooks/{webhook}/circuit-breaker", { action: "force_open" }],
  ["GET", "/v1/webhooks/{webhook}/secret"],
  ["GET", "/v1/webhooks/{webhook}/public-key"],
  ["POST", "/v1/webhooks/{webhook}/secret/rotate", { mode: "revoke" }],
  ["POST", "/v1/webhooks/{webhook}/test", {}],
  ["POST", "/v1/webhooks/{webhook}/enable", {}],
  ["POST", "/v1/webhooks/{webhook}/disable", {}],
  ["POST", "/v1/webhooks/{webhook}/pause", {}],
  ["GET", "/v1/webhooks/{webhook}/backlog"],
  ["GET", "/v1/webhooks/{webhook}/timeline"],
  ["GET", "/v1/webhooks/{webhook}/revisions"],
  ["POST", "/v1/webhooks/{webhook}/resume", {}],
  ["POST", "/v1/webhooks/{webhook}/recover", { since: "2020-01-01", dry_run: true }],
  ["GET", "/v1/webhooks/{webhook}/deliveries"],
  ["GET", "/v1/deliveries/{delivery}"],
  ["GET", "/v1/deliveries/{delivery}/attempts/1/request"],
  ["POST", "/v1/webhooks/{webhook}/deliveries/{delivery}/retry", {}],
  ["GET", "/v1/dlq/batch-operations/{operation}"],
  ["DELETE", "/v1/dlq/batch-operations/{operation}"],
  ["GET", "/v1/operations/{operation}"],
  ["DELETE", "/v1/operations/{operation}"],
  ["PATCH", "/v1/operations/{operation}", { status: "paused" }],
  ["PATCH", "/v1/dlq/batch-operations/{operation}", { status: "cancelled" }],
  ["GET", "/v1/problems/{problem}"],
  ["PATCH", "/v1/problems/{problem}", { muted: true, note: "mine" }],
  ["DELETE", "/v1/api-keys/{key}"],
  ["GET", "/v1/event-types/owner.paid"],
  ["DELETE", "/v1/event-types/owner.paid"],
  ["GET", "/v1/tenants/owner"],
  ["GET", "/v1/tenants/owner/notifications"],
  ["PUT", "/v1/tenants/owner/notifications", { channels: [] }],
  ["POST", "/v1/tenants/owner/notifications/{webhook}/test", {}],
  ["POST", "/v1/tenants/owner/notifications/{webhook}/secret/rotate", {}],
  ["GET", "/v1/sources/{source}"],
  ["PATCH", "/v1/sources/{source}", { active: false }],
  ["DELETE", "/v1/sources/{source}"],
  ["GET", "/v1/sources/{source}/address"],
  ["POST", "/v1/sources/{source}/address/rotate", {}],
  ["POST", "/v1/sources/{source}/acknowledge", { version: "x" }],
  ["GET", "/v1/connections/{connection}"],
  ["PATCH", "/v1/connections/{connection}", { paused: true }],
  ["DELETE", "/v1/connections/{connection}"],
  ["GET", "/v1/requests/{request}"],
  ["POST", "/v1/requests/{request}/replay", {}],
  ["PUT", "/v1/requests/{request}/bookmark", { name: "mine" }],
  ["POST", "/v1/filters/evaluate", { filter: {}, request_id: "{request}" }],
  ["POST", "/v1/filters/evaluate", { filter: {}, source_id: "{source}" }],
];

test("sources, connections and requests of another tenant are in no list, and cannot be combined with one's own", async () => {
  const attacker = attackerOf("manage");
  for (const path of ["sources", "connections", "requests"]) {
    const queries = ["", `?source_id=${ids["source"]}`, `?tenant_id=owner`, `?webhook_id=${ids["webhook"]}`];
    for (const query of queries) {
      const { status, text } = await attacker.get(`/v1/${path}${query}`);
      const shown = Object.values(ids).filter((id) => text.includes(id));
      assert.deepEqual(status === 200 ? shown : [], [], `${path}${query}: ${text}`);
      assert.ok(!text.includes("owners-"), text);
    }
  }
  const mine = await attacker.post("/v1/webhooks", { url: receiver.url("/mine"), events: ["never.*"] });
  const verification = { type: "github", secrets: ["a long random string"] };
  const source = await attacker.post("/v1/sources", { name: "mine", verification });
  for (const ends of [
    { source_id: ids["source"], webhook_id: textOf(mine.body["id"]) },
    { source_id: textOf(source.body["source_id"]), webhook_id: ids["webhook"] },
  ]) {
    const joined = await attacker.post("/v1/connections", ends);
    assertProblem(joined, { status: 400, code: "invalid_request" });
  }
  const none = await attacker.get(`/v1/connections?source_id=${textOf(source.body["source_id"])}`);
  assert.equal(itemsOf(none.body["data"]).length, 0);
  for (const made of [`webhooks/${textOf(mine.body["id"])}`, `sources/${textOf(source.body["source_id"])}`])
    assert.equal((await attacker.call("DELETE", `/v1/${made}`)).status, 204);
});

test("existing and missing ids of another tenant are indistinguishable for any role", async () => {
  const before = await everything();
  for (const [role, attacker] of Object.entries(attackers)) {
    for (const [method, path, body] of routes) {
      const call = (target: string, idOf: (name: string) => string) =>
        attacker.call(method, filled(target, idOf), bodyWith(body, idOf));
      const foreign = await call(path, (name) => ids[name] ?? "");
      const missing = await call(path.replace("owner", "never"), () => randomUUID());
      assert.ok(
        [403, 404].includes(foreign.status),
        `${role} ${method} ${path}: ${foreign.status} ${foreign.text}`,
      );
      assert.equal(foreign.text, missing.text, `${role} ${method} ${path}`);
    }
  }
  assert.equal(await everything(), before, "nothing of the owner has changed");
});

test("an attacker's own webhook does not open the owner's delivery", async () => {
  const attacker = attackerOf("manage");
  const mine = await attacker.post("/v1/webhooks", { url: receiver.url("/mine"), events: ["never.*"] });
  const webhook = textOf(mine.body["id"]);
  const retry = await attacker.post(`/v1/webhooks/${webhook}/deliveries/${ids["delivery"]}/retry`);
  assertProblem(retry, { status: 404, code: "not_found" });
  const replay = await attacker.post(`/v1/events/${ids["event"]}/replay`, { webhook_ids: [webhook] });
  assertProblem(replay, { status: 404, code: "not_found" });
  const other = await owner.post(`/v1/events/${ids["event"]}/replay`, { webhook_ids: [webhook] });
  assert.ok([400, 404].includes(other.status), `nor the owner's event the stranger's webhook: ${other.text}`);
  assert.equal((await attacker.call("DELETE", `/v1/webhooks/${webhook}`)).status, 204);
});

test("a stream of another tenant's topics is not opened", async () => {
  const headers = { accept: "text/event-stream" };
  for (const topic of ["delivery:{delivery}", "deliveries:webhook={webhook}", "operation:{operation}"]) {
    const path = `/v1/stream?topics=${filled(topic, (name) => ids[name] ?? "")}`;
    const own = await owner.get(path, { headers, isStream: true });
    assert.equal(own.status, 200, own.text);
    for (const [role, attacker] of Object.entries(attackers)) {
      const { status } = await attacker.get(path, { headers, isStream: true });
      assert.equal(status, role === "publish" ? 403 : 404, `${role} ${topic}`);
    }
  }
});

test("a search finds nothing of another tenant, whatever its filters", async () => {
  const asked = [
    "",
    `webhook_id=${ids["webhook"]}`,
    `event_id=${ids["event"]}`,
    "idempotency_key=owners-key",
    "status=exhausted",
    "status=success&status=exhausted&http_status=4xx",
    "event_type=owner.*",
    "error=e",
    "order=next_attempt",
    "order=oldest&include=last_attempt,webhook",
  ];
  const aboutEvents = [
    "",
    "idempotency_key=owners-key",
    "event_type=owner.*",
    "unmatched=false",
    "data_contains=canary",
  ];
  for (const [path, queries] of Object.entries({ "/v1/deliveries": asked, "/v1/events": aboutEvents })) {
    for (const query of queries) {
      const own = await owner.get(`${path}?${query}`);
      assert.equal(own.status, 200, own.text);
      for (const [role, attacker] of Object.entries(attackers)) {
        const { status, text, body } = await attacker.get(`${path}?${query}`);
        const needsMore = role === "read" && query.startsWith("data_contains");
        if (role === "publish" || needsMore) assert.equal(status, 403, text);
        else assert.deepEqual([status, body["data"]], [200, []], `${role} ${query}: ${text}`);
      }
    }
    assert.ok(itemsOf((await owner.get(`${path}?idempotency_key=owners-key`)).body["data"]).length > 0);
    assertProblem(await attackerOf("read").get(`${path}?tenant_id=owner`), {
      status: 400,
      code: "invalid_request",
    });
  }
});

test("a listing of webhooks shows only the owner's, whatever its filters", async () => {
  const at = encodeURIComponent(receiver.url());
  for (const query of [
    `q=${at}`,
    "status=active&status=disabled",
    "circuit=closed&circuit=open",
    "failing=true",
  ]) {
    const own = await owner.get(`/v1/webhooks?${query}`);
    assert.equal(itemsOf(own.body["data"])[0]?.["id"], ids["webhook"], own.text);
    for (const role of ["manage", "read"])
      assert.deepEqual((await attackerOf(role).get(`/v1/webhooks?${query}`)).body["data"], [], query);
    assert.equal((await attackerOf("publish").get(`/v1/webhooks?${query}`)).status, 403);
  }
  const none = await owner.get("/v1/webhooks?failing=false");
  assert.deepEqual([none.status, none.body["data"]], [200, []]);
  assertProblem(await owner.get("/v1/webhooks?circuit=ajar"), { status: 400, code: "invalid_request" });
});

test("problems of another tenant are in no list", async () => {
  for (const query of ["", `webhook_id=${ids["webhook"]}`, "state=open&state=muted"]) {
    const own = await owner.get(`/v1/problems?${query}`);
    assert.equal(itemsOf(own.body["data"])[0]?.["id"], ids["problem"], own.text);
    for (const role of ["manage", "read"])
      assert.deepEqual((await attackerOf(role).get(`/v1/problems?${query}`)).body["data"], [], query);
    assert.equal((await attackerOf("publish").get(`/v1/problems?${query}`)).status, 403);
  }
  assertProblem(await attackerOf("read").get("/v1/problems?tenant_id=owner"), {
    status: 400,
    code: "invalid_request",
  });
  const note = { body: { note: "x" } };
  const reader = admin.withKey(await admin.keyFor("read", "owner"));
  assert.equal((await reader.call("PATCH", `/v1/problems/${ids["problem"]}`, note)).status, 403);
});

test("a search by any value of another tenant finds nothing, and a key is bound to its tenant", async () => {
  const at = receiver.url();
  for (const text of [
    ids["webhook"],
    ids["event"],
    ids["delivery"],
    ids["operation"],
    ids["source"],
    ids["connection"],
    "owners-key",
    "Owners-Sou",
    at,
    at.slice(7),
  ]) {
    const path = `/v1/search?q=${encodeURIComponent(text ?? "")}`;
    const own = await owner.get(path);
    assert.equal(itemsOf(own.body["data"]).length, 1, `${text}: ${own.text}`);
    const missing = await attackerOf("read").get(`/v1/search?q=${randomUUID()}`);
    for (const role of ["manage", "read"])
      assert.equal((await attackerOf(role).get(path)).text, missing.text, `${role} ${text}`);
    assert.equal((await attackerOf("publish").get(path)).status, 403);
  }
  assert.equal(itemsOf((await owner.get("/v1/operations")).body["data"])[0]?.["id"], ids["operation"]);
  assert.deepEqual((await attackerOf("read").get("/v1/operations")).body["data"], []);
  assert.equal((await attackerOf("publish").get("/v1/operations")).status, 403);
  const { body } = await attackerOf("publish").get("/v1/me");
  assert.deepEqual(
    [body["role"], body["tenant_id"], body["capabilities"]],
    ["publish", "stranger", ["publish"]],
  );
  const capabilities = ["read", "publish", "manage", "admin"];
  assert.deepEqual((await admin.get("/v1/me")).body["capabilities"], capabilities);
});

test("lists, offsets, filters, cursors and batch retries end at the tenant", async () => {
  const attacker = attackerOf("manage");
  for (const path of ["/v1/events", "/v1/webhooks", "/v1/dlq", "/v1/event-types"]) {
    for (const query of ["limit=250", "offset=1", "from=2020-01-01"]) {
      if (query.startsWith("from") && !["/v1/events", "/v1/dlq"].includes(path)) continue;
      assert.deepEqual((await attacker.get(`${path}?${query}`)).body["data"], [], `${path}?${query}`);
    }
    assertProblem(await attacker.get(`${path}?tenant_id=owner`), { status: 400, code: "invalid_request" });
  }
  assert.deepEqual((await attacker.get(`/v1/dlq?webhook_id=${ids["webhook"]}`)).body["data"], []);
  const cursor = textOf((await owner.get("/v1/events?limit=1")).body["next_cursor"]);
  assert.equal((await owner.get(`/v1/events?limit=1&cursor=${cursor}`)).status, 200);
  for (const path of ["/v1/events", "/v1/dlq", "/v1/webhooks", "/v1/deliveries"]) {
    const stolen = await attacker.get(`${path}?limit=1&cursor=${cursor}`);
    assertProblem(stolen, { status: 400, code: "invalid_cursor" });
  }
  const flipped = `${cursor.startsWith("A") ? "B" : "A"}${cursor.slice(1)}`;
  assertProblem(await owner.get(`/v1/events?limit=1&cursor=${flipped}`), {
    status: 400,
    code: "invalid_cursor",
  });
  const filter = { webhook_ids: [ids["webhook"]] };
  const batch = await attacker.post("/v1/dlq/retry-batch", { filter });
  if (batch.status === 202) assert.equal(batch.body["count"], 0, batch.text);
  else assert.ok([400, 404].includes(batch.status), batch.text);
});

test("bulk actions and the audit log contain nothing of another tenant", async () => {
  const attempts = {
    "/v1/deliveries/retry-batch": [{ webhook_id: [ids["webhook"]] }, { event_id: ids["event"] }, {}],
    "/v1/deliveries/cancel-batch": [{ idempotency_key: "owners-key" }, {}],
    "/v1/dlq/discard-batch": [{ webhook_id: [ids["webhook"]] }, {}],
  };
  const before = await everything();
  const dead = itemsOf((await owner.get("/v1/dlq")).body["data"]).length;
  for (const [path, filters] of Object.entries(attempts)) {
    for (const filter of filters) {
      const { status, body, text } = await attackerOf("manage").post(path, { filter });
      assert.deepEqual([status, body["count"], body["excluded"]], [202, 0, {}], text);
      assertProblem(await attackerOf("manage").post(path, { filter: { ...filter, tenant_id: "owner" } }), {
        status: 400,
        code: "invalid_request",
      });
    }
    const named = await attackerOf("manage").post(path, { ids: [ids["delivery"]], dry_run: true });
    assert.deepEqual([named.body["count"], named.body["excluded"]], [0, { not_found: 1 }], named.text);
    await attackerOf("manage").post(path, { ids: [ids["delivery"]] });
    for (const role of ["publish", "read"])
      assert.equal((await attackerOf(role).post(path, { filter: {} })).status, 403);
  }
  assert.equal(await everything(), before, "nothing of the owner has changed");
  assert.ok(itemsOf((await owner.get("/v1/dlq")).body["data"]).length >= dead - 1);
  for (const query of [
    "",
    `target=${ids["webhook"]}`,
    "action=webhook.create",
    `target=${ids["operation"]}`,
  ]) {
    assert.ok(itemsOf((await owner.get(`/v1/audit-log?${query}`)).body["data"]).length > 0, query);
    const { body } = await attackerOf("manage").get(`/v1/audit-log?limit=250&${query}`);
    const tenants = itemsOf(body["data"]).map((row) => textOf(row["tenant_id"]));
    assert.ok(
      tenants.every((tenant) => tenant === "stranger"),
      `${query}: ${tenants.join()}`,
    );
  }
});

test("an attacker's event reaches no other tenant, and equal keys of different tenants are independent", async () => {
  const key = randomUUID();
  const event = { event_type: "owner.paid", data: { n: 7 }, idempotency_key: key };
  const mine = await attackerOf("publish").post("/v1/events", event);
  assert.equal(mine.status, 202, mine.text);
  assert.equal(mine.body["deliveries"], 0);
  const theirs = await owner.post("/v1/events", { ...event, data: { n: 8 } });
  assert.equal(theirs.status, 202, theirs.text);
  assert.notEqual(theirs.body["id"], mine.body["id"]);
  const forged = await attackerOf("publish").post("/v1/events", { ...event, tenant_id: "owner" });
  assertProblem(forged, { status: 400, code: "invalid_request" });
});

function attackerOf(role: string): Client {
  const attacker = attackers[role];
  assert.ok(attacker !== undefined);
  return attacker;
}

/** Replaces IDs in the body in the same way as IDs in the path. */
function bodyWith(body: object | undefined, idOf: (name: string) => string): { readonly body?: unknown } {
  return body === undefined ? {} : { body: JSON.parse(filled(JSON.stringify(body), idOf)) as unknown };
}

function filled(path: string, idOf: (name: string) => string): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => idOf(name));
}

async function everything(): Promise<string> {
  const parts = [];
  // Deliveries are not compared, because the owner's own retries continue and fail.
  for (const path of [
    "/v1/webhooks",
    "/v1/events",
    "/v1/event-types",
    `/v1/webhooks/${ids["webhook"]}/secret`,
    "/v1/sources",
    "/v1/connections",
    "/v1/requests",
    `/v1/sources/${ids["source"]}/address`,
  ])
    parts.push((await owner.get(path)).text.replace(/"last_failure_at":"[^"]+"/, ""));
  parts.push(textOf((await owner.get(`/v1/dlq/batch-operations/${ids["operation"]}`)).body["id"]));
  parts.push(String(itemsOf((await owner.get("/v1/api-keys")).body["data"]).length));
  return parts.join("\n");
}
