/**
 * Rights of a portal session: calls every route with and without its capability, and with ids of other tenants'
 * resources.
 */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { portalCapabilities, type PortalCapability } from "../../src/domain/scope.ts";
import { type OpenStreams, streamsOfSessionMax } from "../../src/features/live/event-streams.ts";
import type { ApiOptions } from "../../src/http/context.ts";
import { createRoutes } from "../../src/http/route-table.ts";
import { agreeable } from "../scenarios/api/agreeable-transport.fixture.ts";
import { assertProblem, type Client, itemsOf, textOf } from "../scenarios/api/client.fixture.ts";
import { openStream, type StreamedEvent } from "../scenarios/api/event-stream.fixture.ts";
import { openServer, type RunningServer } from "../scenarios/api/running-server.fixture.ts";
import { eventually } from "../scenarios/eventually.fixture.ts";
import { allRights, type Right, rolesByAccess } from "./rights.fixture.ts";

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly capability: PortalCapability | "any" | null;
  readonly isPublic: boolean;
}

/** Resources of one webhook. */
interface Things {
  readonly tenant: string;
  /** A notification channel of the tenant, with a separate secret. */
  readonly channel: string;
  readonly webhook: string;
  readonly event: string;
  readonly delivery: string;
  readonly operation: string;
}

const origin = "https://app.example.com";
const asStream = { isStream: true, headers: { accept: "text/event-stream" } };

suite("rights of a portal session", () => {
  let server: RunningServer;
  let admin: Client;
  let operations: readonly Operation[];
  let own: Things;
  let sibling: Things;
  let foreign: Things;

  before(async () => {
    const names = { texts: () => Promise.resolve({ kind: "absent" } as const), close: () => undefined };
    server = await openServer({ portalOrigins: [origin] }, { transport: agreeable, names });
    admin = server.admin;
    for (const id of ["acme", "beta"]) await admin.call("PUT", `/v1/tenants/${id}`, { body: {} });
    await admin.call("PUT", "/v1/event-types/own.made?tenant_id=acme", { body: { description: "x" } });
    own = await thingsOf("acme", "own.made");
    sibling = await thingsOf("acme", "sibling.made");
    foreign = await thingsOf("beta", "foreign.made");
    operations = allRights.map(operationOf);
  });
  after(() => server.close());

  async function thingsOf(tenant: string, type: string): Promise<Things> {
    const webhook = await admin.post("/v1/webhooks", {
      url: `https://example.com/${type}`,
      events: [type],
      tenant_id: tenant,
    });
    const id = textOf(webhook.body["id"]);
    const event = await admin.post("/v1/events", { event_type: type, data: { n: 1 }, tenant_id: tenant });
    const deliveries = await admin.get(`/v1/webhooks/${id}/deliveries`);
    const recovery = await admin.post(`/v1/webhooks/${id}/recover`, { since: "2026-01-01" });
    const channel = await channelOf(tenant);
    return {
      tenant,
      channel,
      webhook: id,
      event: textOf(event.body["id"]),
      delivery: textOf(itemsOf(deliveries.body["data"])[0]?.["id"]),
      operation: textOf(recovery.body["batch_operation_id"]),
    };
  }

  /** One channel for all of a tenant's resources, because channels can be replaced only as a whole list. */
  async function channelOf(tenant: string): Promise<string> {
    const path = `/v1/tenants/${tenant}/notifications`;
    const [known] = itemsOf((await admin.get(path)).body["data"]);
    if (known !== undefined) return textOf(known["id"]);
    const body = { channels: [{ kind: "webhook", url: `https://example.com/told-${tenant}` }] };
    const [made] = itemsOf((await admin.call("PUT", path, { body })).body["data"]);
    return textOf(made?.["id"]);
  }

  async function enter(body: object): Promise<Client> {
    return admin.withKey(await tokenFor(body));
  }

  async function tokenFor(body: object): Promise<string> {
    const made = await admin.post("/v1/portal-sessions", { tenant_id: "acme", ...body });
    assert.equal(made.status, 201, made.text);
    const opened = await admin.withKey(null).post("/portal/session", { code: textOf(made.body["code"]) });
    assert.equal(opened.status, 200, opened.text);
    return textOf(opened.body["token"]);
  }

  /** Opens a new session after some calls, because one session allows a burst of 60 calls. */
  const entering = (body: object): (() => Promise<Client>) => {
    let calls = 0;
    let client = enter(body);
    return () => {
      calls += 1;
      if (calls % 40 === 0) client = enter(body);
      return client;
    };
  };

  const addressOf = (path: string, things: Things): string => {
    const [, , kind = ""] = path.split("/");
    const ids: Readonly<Record<string, string>> = {
      webhooks: things.webhook,
      events: things.event,
      deliveries: things.delivery,
      tenants: things.tenant,
    };
    const id = ids[kind] ?? things.operation;
    return path
      .replace("{delivery_id}", things.delivery)
      .replace("{channel_id}", things.channel)
      .replace("{n}", "1")
      .replace("{name}", path.includes("profiles") ? "standard" : "own.made")
      .replace("{id}", id);
  };
  const call = (client: Client, { method, path }: Operation, things: Things) => {
    if (path === "/v1/stream") return client.get(`${path}?topics=deliveries`, asStream);
    const given = method === "GET" || method === "DELETE" ? {} : { body: {} };
    return client.call(method, addressOf(path, things), given);
  };
  const ofSessions = () => operations.filter(({ capability }) => capability !== null);

  test("every route accepts exactly the role and capability that the list names", () => {
    const dashboard = { sessions: {}, version: "", files: async () => new Map() };
    const options = {
      services: {},
      cursorKey: new Uint8Array(32),
      profiles: [],
      sourceTypes: [],
      dashboard,
      callRates: {},
      limits: { payloadBytesMax: 1, connectionsMax: 1 },
    };
    const routes = createRoutes(options as unknown as ApiOptions, {} as OpenStreams);
    const actual = routes.map(
      ({ method, path, access, capability = null }) => `${method} ${path}: ${access}, ${capability}`,
    );
    const expected = allRights.map(({ route, access, capability }) => `${route}: ${access}, ${capability}`);
    assert.deepEqual(actual.toSorted(byText), expected.toSorted(byText));
  });

  test("a key with an insufficient role gets 403 from each route, and a key with a sufficient role never does", async () => {
    const makeKey = async (role: string): Promise<Client> => {
      const made = await admin.post("/v1/api-keys", { name: role, role, tenant_id: "acme" });
      return admin.withKey(textOf(made.body["key"]));
    };
    for (const role of ["manage", "publish", "read"] as const) {
      const client = await makeKey(role);
      for (const right of allRights) {
        const operation = operationOf(right);
        const { method, path } = operation;
        if (operation.isPublic || right.access === "session") continue;
        const mayCall = (rolesByAccess[right.access] as readonly string[]).includes(role);
        if (mayCall && (method !== "GET" || path === "/v1/stream")) continue;
        const reply = await call(client, operation, own);
        if (mayCall) assert.notEqual(reply.status, 403, `${role} ${right.route}: ${reply.text}`);
        else assertProblem(reply, { status: 403, code: "forbidden" });
      }
    }
  });

  test("each topic of the stream requires the right of its listing", async () => {
    const clientOf = async (role: string): Promise<Client> => {
      const made = await admin.post("/v1/api-keys", { name: `topics ${role}`, role, tenant_id: "acme" });
      return admin.withKey(textOf(made.body["key"]));
    };
    const callers = [
      ["manage", await clientOf("manage")],
      ["read", await clientOf("read")],
      ["publish", await clientOf("publish")],
      ["session", await enter({ capabilities: portalCapabilities })],
      ["viewer", await enter({ capabilities: ["deliveries:read"] })],
    ] as const;
    for (const [topic, mayCall] of [
      ["deliveries", ["manage", "read", "session", "viewer"]],
      [`operation:${own.operation}`, ["manage", "read", "session"]],
      ["problems", ["manage", "read"]],
      ["requests", ["manage", "read"]],
      ["alerts", ["manage"]],
    ] as const) {
      const may: string[] = [];
      for (const [caller, client] of callers) {
        const reply = await client.get(`/v1/stream?topics=${topic}`, asStream);
        if (reply.status === 200) may.push(caller);
        else assertProblem(reply, { status: 403, code: "forbidden" });
      }
      assert.deepEqual(may, mayCall, topic);
    }
  });

  test("a route requires its capability, and a session without it gets 403", async () => {
    const clients = new Map<string, readonly [having: Client, lacking: Client]>();
    for (const capability of portalCapabilities) {
      const others = portalCapabilities.filter((one) => one !== capability);
      clients.set(capability, [
        await enter({ capabilities: [capability] }),
        await enter({ capabilities: others }),
      ]);
    }
    const none = entering({ capabilities: [] });
    const seen = new Set<string>();
    const last = (one: Operation) => (one.method === "DELETE" ? 1 : 0);
    for (const operation of ofSessions().toSorted((a, b) => last(a) - last(b))) {
      const { method, path, capability } = operation;
      if (capability === null) continue;
      seen.add(capability);
      if (capability === "any") {
        assert.equal((await call(await none(), operation, own)).status, 200, path);
        continue;
      }
      const [having, lacking] = clients.get(capability) as readonly [Client, Client];
      const refused = await call(lacking, operation, sibling);
      assertProblem(refused, { status: 403, code: "forbidden" });
      assert.match(refused.text, new RegExp(capability), `${method} ${path} says what is lacking`);
      assertProblem(await call(await none(), operation, sibling), { status: 403, code: "forbidden" });
      if (method === "DELETE") continue;
      const allowed = await call(having, operation, sibling);
      assert.ok(
        ![401, 403, 404].includes(allowed.status),
        `${method} ${path}: ${allowed.status} ${allowed.text}`,
      );
    }
    for (const expected of [
      "endpoints:read",
      "endpoints:write",
      "endpoints:delete",
      "endpoints:recover",
      "secrets:read",
      "secrets:rotate",
      "deliveries:read",
      "deliveries:retry",
      "payloads:read",
      "test:send",
      "notifications:write",
    ])
      assert.ok(seen.has(expected), `no route takes ${expected}`);
  });

  test("routes without a capability accept no session", async () => {
    const all = entering({ capabilities: portalCapabilities });
    for (const operation of operations.filter(
      ({ capability, isPublic }) => capability === null && !isPublic,
    )) {
      const reply = await call(await all(), operation, own);
      assertProblem(reply, { status: 403, code: "forbidden" });
    }
  });

  test("ids of other tenants, and of webhooks outside the session, do not exist", async () => {
    const all = entering({ capabilities: portalCapabilities });
    const limited = entering({ capabilities: portalCapabilities, webhook_ids: [own.webhook] });
    for (const operation of ofSessions().filter(({ path }) => path.includes("{id}"))) {
      for (const [client, things] of [
        [all, foreign],
        [limited, foreign],
        [limited, sibling],
      ] as const) {
        const reply = await call(await client(), operation, things);
        // An empty update is refused before any lookup.
        const isEmpty = /\/recover$|^\/v1\/tenants\/\{id\}\/notifications$/.test(operation.path);
        // Channels belong to the whole tenant, but such a session covers only some webhooks.
        const isOfTenant = operation.path.startsWith("/v1/tenants/") && things === sibling;
        assert.ok(
          reply.status === 404 || (isEmpty && reply.status === 400) || (isOfTenant && reply.status === 403),
          `${operation.method} ${operation.path}: ${reply.status}`,
        );
      }
    }
  });

  test("listings of a session contain only its webhooks", async () => {
    const limited = await enter({ capabilities: portalCapabilities, webhook_ids: [own.webhook] });
    const idsOf = async (path: string, name: string) =>
      itemsOf((await limited.get(path)).body["data"]).map((row) => row[name]);
    assert.deepEqual(await idsOf("/v1/webhooks", "id"), [own.webhook]);
    assert.ok((await idsOf("/v1/deliveries", "webhook_id")).every((id) => id === (own.webhook as never)));
    assertProblem(await limited.get(`/v1/deliveries?webhook_id=${sibling.webhook}`), {
      status: 404,
      code: "not_found",
    });
    assertProblem(await limited.get(`/v1/stats/deliveries?webhook_id=${sibling.webhook}`), {
      status: 404,
      code: "not_found",
    });
    const stats = await limited.get("/v1/stats/deliveries?group_by=webhook");
    const keys = itemsOf(stats.body["series"]).map(({ key }) => key);
    assert.ok(
      keys.every((key) => key === null || key === (own.webhook as never)),
      JSON.stringify(keys),
    );
    const created = await limited.post("/v1/webhooks", { url: "https://example.com/", events: ["*"] });
    assertProblem(created, { status: 403, code: "forbidden" });
  });

  test("a customer can set only customer fields, and other fields are named in the error", async () => {
    const customer = await enter({ capabilities: portalCapabilities });
    const made = await customer.post("/v1/webhooks", { url: "https://example.com/new", events: ["*"] });
    assert.equal(made.status, 201, made.text);
    assert.match(textOf(made.body["secret"]), /^whsec_/, "the secret is shown once");
    assert.equal(made.body["tenant_id"], "acme");
    const path = `/v1/webhooks/${textOf(made.body["id"])}`;
    for (const body of [
      { metadata: {} },
      { owner_id: "x" },
      { tenant_id: "beta" },
      { circuit_breaker_config: {} },
    ])
      assertProblem(await customer.call("PATCH", path, { body }), { status: 400, code: "invalid_request" });
    assert.equal((await customer.call("PATCH", path, { body: { description: "x" } })).status, 200);
    const detail = await customer.get(`/v1/deliveries/${own.delivery}`);
    for (const attempt of itemsOf(detail.body["attempts"])) assert.equal(attempt["error_message"], null);
  });

  test("a code works once, a revoked session is rejected at its next call, and the log names the user", async () => {
    const made = await admin.post("/v1/portal-sessions", { tenant_id: "acme", reference: "user-1" });
    const code = textOf(made.body["code"]);
    assert.match(
      textOf(made.body["url"]),
      new RegExp(`/portal/\\?session=${textOf(made.body["id"])}#c=${code}$`),
    );
    const nobody = admin.withKey(null);
    const opened = await nobody.post("/portal/session", { code });
    const again = await nobody.post("/portal/session", { code });
    assertProblem(again, { status: 401, code: "unauthenticated" });
    const customer = admin.withKey(textOf(opened.body["token"]));
    assert.match(textOf(opened.body["token"]), /^phs_/);
    const me = await customer.get("/v1/me");
    assert.equal(me.body["role"], "session");
    assert.ok(!itemsOf(me.body["capabilities"]).includes("secrets:read" as never));
    assert.equal(
      (await customer.call("PATCH", `/v1/webhooks/${own.webhook}`, { body: { description: "y" } })).status,
      200,
    );
    const log = await admin.get(`/v1/audit-log?actor=user-1`);
    const [entry] = itemsOf(log.body["data"]);
    assert.deepEqual(
      [entry?.["action"], entry?.["actor"]?.["kind"], entry?.["actor"]?.["reference"]],
      ["webhook.update", "portal_session", "user-1"],
    );
    const revoked = await admin.post("/v1/portal-sessions/revoke", {
      tenant_id: "acme",
      reference: "user-1",
    });
    assert.equal(revoked.body["revoked"], 1 as never);
    assertProblem(await customer.get("/v1/webhooks"), { status: 401, code: "unauthenticated" });
    const listed = await admin.get("/v1/portal-sessions?tenant_id=acme");
    const row = itemsOf(listed.body["data"]).find(({ id }) => id === made.body["id"]);
    assert.ok(row?.["ended_at"] !== null && !listed.text.includes(code));
  });

  test("a session streams only its own webhooks, and only while it is valid", async () => {
    const capabilities = ["deliveries:read"];
    const watching = { capabilities, webhook_ids: [own.webhook], reference: "watcher" };
    const key = await tokenFor(watching);
    const stream = await openStream(admin, { key, query: "topics=deliveries" });
    for (const [type, tenant] of [
      ["foreign.made", "beta"],
      ["sibling.made", "acme"],
      ["own.made", "acme"],
    ])
      await admin.post("/v1/events", { event_type: type, data: { n: 2 }, tenant_id: tenant });
    const isOwn = (event: StreamedEvent) => JSON.stringify(event.data).includes("own.made");
    await stream.until("the own delivery", isOwn);
    const rows = stream.events
      .filter(({ name }) => name === "deliveries")
      .flatMap(({ data }) => itemsOf(data["rows"]));
    assert.ok(rows.length > 0 && rows.every((row) => row["webhook_id"] === (own.webhook as never)));
    const watcher = admin.withKey(key);
    for (const topics of ["alerts", "problems", `operation:${own.operation}`])
      assertProblem(await watcher.get(`/v1/stream?topics=${topics}`, asStream), {
        status: 403,
        code: "forbidden",
      });
    for (const topics of [`delivery:${sibling.delivery}`, `deliveries:webhook=${foreign.webhook}`])
      assertProblem(await watcher.get(`/v1/stream?topics=${topics}`, asStream), {
        status: 404,
        code: "not_found",
      });
    const recoverer = await enter({ capabilities: portalCapabilities, webhook_ids: [own.webhook] });
    const foreignWork = await recoverer.get(`/v1/stream?topics=operation:${sibling.operation}`, asStream);
    assertProblem(foreignWork, { status: 404, code: "not_found" });
    await admin.post("/v1/portal-sessions/revoke", { tenant_id: "acme", reference: "watcher" });
    await eventually("the stream ends with its session", {
      ask: async () => stream.hasEnded,
      holds: (hasEnded) => hasEnded,
    });
  });

  test("a session has four streams", async () => {
    const key = await tokenFor({ capabilities: ["deliveries:read"] });
    const streams = [];
    for (let count = 0; count < streamsOfSessionMax; count += 1)
      streams.push(await openStream(admin, { key, query: "topics=deliveries" }));
    const refused = await admin.withKey(key).get("/v1/stream?topics=deliveries", asStream);
    assertProblem(refused, { status: 429, code: "rate_limited" });
    for (const stream of streams) stream.close();
  });

  test("keys of a tenant create only sessions of that tenant", async () => {
    const key = await admin.post("/v1/api-keys", { name: "m", role: "manage", tenant_id: "beta" });
    const beta = admin.withKey(textOf(key.body["key"]));
    assert.equal((await beta.post("/v1/portal-sessions", {})).body["tenant_id"], "beta");
    for (const body of [{ tenant_id: "acme" }, { webhook_ids: [own.webhook] }])
      assertProblem(await beta.post("/v1/portal-sessions", body), { status: 400, code: "invalid_request" });
    const made = await admin.post("/v1/portal-sessions", { tenant_id: "acme", reference: "r" });
    const path = `/v1/portal-sessions/${textOf(made.body["id"])}`;
    assertProblem(await beta.call("DELETE", path), { status: 404, code: "not_found" });
    assert.equal(
      (await beta.post("/v1/portal-sessions/revoke", { reference: "r" })).body["revoked"],
      0 as never,
    );
    assertProblem(await beta.get("/v1/portal-settings"), { status: 403, code: "forbidden" });
    assertProblem(await beta.get("/v1/tenants/acme/portal-settings"), { status: 404, code: "not_found" });
  });

  test("a session has a rate limit, and a few tests a minute", async () => {
    const customer = await enter({ capabilities: portalCapabilities });
    const tests = [];
    for (let index = 0; index < 11; index += 1)
      tests.push(await customer.post(`/v1/webhooks/${own.webhook}/test`));
    assert.deepEqual(
      tests.map(({ status }) => status),
      [...Array.from({ length: 10 }, () => 202), 429],
    );
    const channelTest = await customer.post(`/v1/tenants/acme/notifications/${own.channel}/test`);
    assert.equal(channelTest.status, 429, "tests of channels count too");
    const calls = await Promise.all(Array.from({ length: 90 }, () => customer.get("/v1/me")));
    const refused = calls.find(({ status }) => status === 429);
    assert.ok(refused !== undefined && refused.headers.get("retry-after") !== null);
  });

  test("listed origins may call with a token, and others may not", async () => {
    const preflight = { origin, "access-control-request-method": "POST" };
    const asked = await admin.withKey(null).call("OPTIONS", "/v1/webhooks", { headers: preflight });
    assert.equal(asked.status, 204);
    assert.equal(asked.headers.get("access-control-allow-origin"), origin);
    const other = { ...preflight, origin: "https://evil.example" };
    const refused = await admin.withKey(null).call("OPTIONS", "/v1/webhooks", { headers: other });
    assert.deepEqual([refused.status, refused.headers.get("access-control-allow-origin")], [405, null]);
    const customer = await enter({});
    const read = await customer.get("/v1/webhooks", { headers: { origin } });
    assert.equal(read.headers.get("access-control-allow-origin"), origin);
    assert.equal(read.headers.get("access-control-allow-credentials"), null);
    const byKey = await admin.get("/v1/webhooks", { headers: { origin } });
    assert.equal(byKey.headers.get("access-control-allow-origin"), null, "keys are for servers");
  });
});

function operationOf({ route, access, capability }: Right): Operation {
  const [method = "", path = ""] = route.split(" ");
  const isPublic = access === "public" || access === "session";
  return { method, path, capability: capability as Operation["capability"], isPublic };
}

const byText = (left: string, right: string): number => (left < right ? -1 : 1);
