import assert from "node:assert/strict";
import { test } from "node:test";
import { type FieldError, PosthornError } from "../../src/domain/errors.ts";
import type { WebhookInput } from "../../src/features/services.ts";
import { admin, openWorld, type World } from "./world.fixture.ts";

async function problemsOf(work: Promise<unknown>): Promise<readonly FieldError[]> {
  const error = await work.then(
    () => assert.fail("it was accepted"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof PosthornError, String(error));
  return error.fields;
}

const code = (expected: string) => (error: unknown) =>
  error instanceof PosthornError && error.code === expected;

async function attempted(world: World, webhookId: string, count = 1) {
  return world.until(async () => {
    const page = await world.services.deliveries.listOfWebhook(admin, {
      webhookId,
      statuses: ["success"],
      page: { limit: 50, after: null, offset: 0 },
    });
    return page.rows.length >= count && page.rows;
  });
}

test("TS16-115 a webhook has the defaults of its profile, a secret that is shown once, and receives its subscribed types", async (t) => {
  const world = await openWorld(t);
  const { view, secret } = await world.services.webhooks.create(admin, {
    url: "https://example.com/a?b=c",
    events: ["order.*"],
  });
  assert.match(secret ?? "", /^whsec_/);
  assert.equal(view.webhook.tenantId, "default");
  assert.equal(view.webhook.status, "active");
  assert.equal(view.policy.attemptsMax, 10);
  assert.equal(view.secretHint, `whsec_…${secret?.slice(-4)}`);
  assert.equal(view.hasBearerToken, false);
  await world.publish({ eventType: "user.created" });
  const eventId = await world.publish({ eventType: "order.created" });
  const [delivery] = await attempted(world, view.webhook.id);
  assert.equal(delivery?.delivery.eventId, eventId);
  assert.equal(world.requests.length, 1);
  assert.deepEqual(await world.services.webhooks.get(admin, view.webhook.id), {
    ...view,
    lastSuccessAt: (await world.services.webhooks.get(admin, view.webhook.id)).lastSuccessAt,
  });
});

test("TS16-37 TS16-116 WDS-1 WDS-2 all invalid fields are reported together, by path, and nothing changes", async (t) => {
  const world = await openWorld(t);
  const bad = {
    url: "http://169.254.169.254/latest/meta-data/",
    events: ["order.created", "order.created", "no spaces", 7],
    description: "x".repeat(1_025),
    ownerId: "",
    active: "yes",
    profile: "nope",
    schemes: ["v1", "v9"],
    secret: "whsec_c2hvcnQ=",
    bearerToken: "with space\r\nX: y",
    retry: {
      scheduleMs: [1, -1, "x"],
      maxAttempts: 3,
      maxAgeMs: 1,
      timeoutMs: 10_000_000,
      timeoutGrowthFactor: 9,
    },
    timeoutMs: 0,
    circuitBreaker: {
      enabled: "no",
      errorThresholdPercentage: 0,
      minimumThroughput: 1.5,
      windowSizeMs: 1,
      sleepWindowMs: -1,
      halfOpenMaxCalls: 0,
    },
    rateLimit: { requestsPerMinute: 0, burst: -1 },
    ordering: "chaos",
    headers: { "Webhook-Id": "x", "X-Fine": "ok", "X-Bad": "a\r\nb" },
    metadata: [],
  } as unknown as WebhookInput;
  const problems = await problemsOf(world.services.webhooks.create(admin, bad));
  assert.deepEqual([...new Set(problems.map((problem) => problem.field))].toSorted(), [
    "active",
    "bearer_token",
    "circuit_breaker_config.enabled",
    "circuit_breaker_config.error_threshold_percentage",
    "circuit_breaker_config.half_open_max_calls",
    "circuit_breaker_config.minimum_throughput",
    "circuit_breaker_config.sleep_window_ms",
    "circuit_breaker_config.window_size_ms",
    "description",
    "events[1]",
    "events[2]",
    "events[3]",
    "headers.Webhook-Id",
    "headers.X-Bad",
    "metadata",
    "ordering_guarantee",
    "owner_id",
    "profile",
    "rate_limit.burst",
    "rate_limit.requests_per_minute",
    "retry_config.max_age_ms",
    "retry_config.schedule_ms[1]",
    "retry_config.schedule_ms[2]",
    "retry_config.timeout_growth_factor",
    "retry_config.timeout_ms",
    "secret",
    "signing.schemes[1]",
    "timeout_ms",
    "url",
  ]);
  assert.deepEqual([...world.engine.webhooks()], []);
  assert.deepEqual(
    (await problemsOf(world.services.webhooks.create(admin, {}))).map(({ field }) => field),
    ["url", "events"],
  );
  assert.deepEqual(
    (await problemsOf(world.services.webhooks.create(admin, { url: "https://e.example", events: [] }))).map(
      ({ field }) => field,
    ),
    ["events"],
  );
});

test("an update merges: absent fields stay, null resets to the profile", async (t) => {
  const world = await openWorld(t);
  const { webhook } = await world.createWebhook({
    retry: { maxAttempts: 3, baseDelayMs: 10 },
    circuitBreaker: { minimumThroughput: 5 },
    headers: { "X-A": "1" },
    metadata: { team: "a" },
    timeoutMs: 5_000,
  });
  const first = await world.services.webhooks.update(admin, {
    id: webhook.id,
    input: { retry: { maxDelayMs: 50 }, circuitBreaker: { sleepWindowMs: 1_000 }, description: "new" },
  });
  assert.deepEqual(first.webhook.retry.schedule, {
    kind: "exponential",
    attemptsMax: 3,
    baseDelayMs: 10,
    multiplier: 2,
    delayMsMax: 50,
    jitter: { from: 0.75, to: 1.25 },
  });
  assert.equal(first.webhook.retry.timeoutMs, 5_000);
  assert.deepEqual(first.webhook.circuitBreaker, { minimumThroughput: 5, sleepWindowMs: 1_000 });
  assert.deepEqual(first.webhook.headers, { "X-A": "1" });
  assert.equal(first.policy.circuitBreaker.windowSizeMs, 60_000);
  const second = await world.services.webhooks.update(admin, {
    id: webhook.id,
    input: { retry: null, circuitBreaker: null, retryless: 1 } as WebhookInput,
  });
  assert.deepEqual(second.webhook.retry, {
    schedule: null,
    ageMsMax: null,
    timeoutMs: null,
    timeoutGrowthFactor: null,
  });
  assert.deepEqual(second.webhook.circuitBreaker, {});
  const list = await world.services.webhooks.update(admin, {
    id: webhook.id,
    input: { retry: { scheduleMs: [10, 20] } },
  });
  assert.equal(list.policy.attemptsMax, 3);
  await world.restart();
  const restarted = await world.services.webhooks.get(admin, webhook.id);
  assert.deepEqual(restarted.webhook, list.webhook);
});

test("a rejected update changes nothing; the tenant and the secret cannot be changed this way", async (t) => {
  const world = await openWorld(t);
  const before = await world.createWebhook();
  const { id } = before.webhook;
  const fields = await problemsOf(
    world.services.webhooks.update(admin, {
      id,
      input: { description: "x", url: "https://10.0.0.1/", tenantId: "other", secret: "whsec_x" },
    }),
  );
  assert.deepEqual(
    fields.map(({ field }) => field),
    ["tenant_id", "secret", "url"],
  );
  assert.deepEqual(await world.services.webhooks.get(admin, id), before);
});

test("concurrent updates of one webhook all take effect", async (t) => {
  const world = await openWorld(t);
  const { webhook } = await world.createWebhook();
  const { webhooks } = world.services;
  await Promise.all([
    webhooks.update(admin, { id: webhook.id, input: { description: "a" } }),
    webhooks.update(admin, { id: webhook.id, input: { ownerId: "b" } }),
    webhooks.rotateSecret(admin, {
      id: webhook.id,
      mode: "graceful",
      overlapSeconds: 60,
      secret: null,
      force: false,
    }),
    webhooks.update(admin, { id: webhook.id, input: { bearerToken: "token" } }),
    webhooks.disable(admin, webhook.id),
  ]);
  const view = await webhooks.get(admin, webhook.id);
  assert.deepEqual(
    [view.webhook.description, view.webhook.ownerId, view.hasBearerToken, view.webhook.status],
    ["a", "b", true, "disabled"],
  );
  assert.notEqual((await webhooks.secret(admin, webhook.id)).previous, null);
});

test("other tenants' webhooks do not exist", async (t) => {
  const world = await openWorld(t);
  await world.services.tenants.put(admin, { id: "acme", input: {} });
  const { webhook } = await world.createWebhook({ tenantId: "acme" });
  const { webhooks, deliveries } = world.services;
  const other = { tenantId: "default" };
  const { id } = webhook;
  const absent = code("not_found");
  for (const work of [
    () => webhooks.get(other, id),
    () => webhooks.update(other, { id, input: {} }),
    () => webhooks.delete(other, id),
    () => webhooks.enable(other, id),
    () => webhooks.health(other, id),
    () => webhooks.secret(other, id),
    () => webhooks.publicKey(other, id),
    () => webhooks.test(other, { id, eventType: null }),
    () => webhooks.circuit(other, { id, action: "reset", durationSeconds: 1 }),
    () => webhooks.rotateSecret(other, { id, mode: "revoke", overlapSeconds: 1, secret: null, force: false }),
    () =>
      webhooks.recover(other, {
        id,
        since: 0,
        until: null,
        states: null,
        requestsPerSecond: null,
        dryRun: true,
      }),
    () =>
      deliveries.listOfWebhook(other, {
        webhookId: id,
        page: { limit: 1, after: null, offset: 0 },
      }),
  ]) {
    await assert.rejects(work(), absent);
  }
  assert.equal((await webhooks.list(other, listQuery)).views.length, 0);
  assert.equal((await webhooks.list({ tenantId: "acme" }, listQuery)).views.length, 1);
  await assert.rejects(
    webhooks.create(other, { tenantId: "acme", url: "https://e.example", events: ["*"] }),
    code("invalid_request"),
  );
  await assert.rejects(
    webhooks.create(admin, { tenantId: "ghost", url: "https://e.example", events: ["*"] }),
    /tenant_id does not exist/,
  );
  await assert.rejects(world.publish({ tenantId: "ghost" }), code("invalid_request"));
});

const listQuery = { active: null, eventType: null, tenantId: null, limit: 50, offset: 0, after: null };

test("listings filter and page, newest first", async (t) => {
  const world = await openWorld(t);
  const made = [];
  for (const events of [["order.*"], ["user.created"], ["*"]])
    made.unshift((await world.createWebhook({ events })).webhook.id);
  const { webhooks } = world.services;
  await webhooks.disable(admin, made[1] ?? "");
  const ids = async (query: object) =>
    (await webhooks.list(admin, { ...listQuery, ...query })).views.map((view) => view.webhook.id);
  assert.deepEqual(await ids({}), made);
  assert.deepEqual(await ids({ eventType: "order.created" }), [made[0], made[2]]);
  assert.deepEqual(await ids({ eventType: "posthorn.test" }), []);
  assert.deepEqual(await ids({ active: false }), [made[1]]);
  const page = await webhooks.list(admin, { ...listQuery, limit: 2 });
  assert.equal(page.next, made[1]);
  assert.deepEqual(await ids({ after: page.next }), [made[2]]);
  assert.equal((await webhooks.list(admin, { ...listQuery, after: page.next })).next, null);
  assert.deepEqual(await ids({ offset: 1, limit: 1 }), [made[1]]);
  assert.deepEqual(await ids({ statuses: ["disabled", "suspended"] }), [made[1]]);
  assert.deepEqual(await ids({ statuses: ["active", "disabled"] }), made);
  assert.deepEqual(await ids({ statuses: [], circuits: [] }), made);
  await assert.rejects(ids({ statuses: ["asleep"] }), code("invalid_request"));
});

test("listings find webhooks by text, circuit and whether they fail, page after page", async (t) => {
  const world = await openWorld(t);
  const { webhooks } = world.services;
  const made: string[] = [];
  for (const [path, description] of [
    ["/orders", "Billing, north"],
    ["/Broken", "Billing, south"],
    ["/broken", "Shipping"],
  ] as const) {
    const { webhook } = await world.createWebhook({ url: `https://hooks.example${path}`, description });
    made.push(webhook.id);
  }
  const [fine = "", broken = "", forced = ""] = made;
  const ids = async (query: object) =>
    (await webhooks.list(admin, { ...listQuery, ...query })).views.map((view) => view.webhook.id);
  assert.deepEqual(await ids({ text: "BROKEN" }), [forced, broken]);
  assert.deepEqual(await ids({ text: "billing" }), [broken, fine]);
  assert.deepEqual(await ids({ text: "https://hooks.example/o" }), [fine]);
  assert.deepEqual(await ids({ text: "100%" }), []);
  assert.deepEqual(await ids({ failing: true }), [], "nothing failed yet");
  world.statuses.set("/Broken", 500);
  await world.publish();
  const failing = async () => (await ids({ failing: true })).length > 0 && world.requests.length >= 3;
  await world.until(failing);
  assert.deepEqual(await ids({ failing: true }), [broken]);
  assert.deepEqual(await ids({ failing: false }), [forced, fine]);
  const byFailure = { ...listQuery, sort: "last_failure", limit: 1 } as const;
  assert.deepEqual(await ids({ sort: "last_failure" }), [broken, forced, fine], "what failed comes first");
  const top = await webhooks.list(admin, byFailure);
  assert.ok((top.views[0]?.lastFailedAt ?? 0) > 0);
  const middle = await webhooks.list(admin, { ...byFailure, after: top.next });
  assert.deepEqual([middle.views[0]?.webhook.id, middle.views[0]?.lastFailedAt], [forced, null]);
  const end = await webhooks.list(admin, { ...byFailure, after: middle.next });
  assert.deepEqual([end.views[0]?.webhook.id, end.next], [fine, null]);
  assert.deepEqual(await ids({ sort: "last_failure", failing: false, offset: 1 }), [fine]);
  await webhooks.circuit(admin, { id: forced, action: "force_open", durationSeconds: 60 });
  assert.deepEqual(await ids({ circuits: ["open"] }), [forced]);
  assert.deepEqual(await ids({ circuits: ["closed"], failing: true, text: "south" }), [broken]);
  assert.deepEqual(await ids({ circuits: ["open", "closed", "half_open"] }), [forced, broken, fine]);
  const first = await webhooks.list(admin, { ...listQuery, circuits: ["closed"], limit: 1 });
  assert.equal(first.next, broken);
  const second = await webhooks.list(admin, {
    ...listQuery,
    circuits: ["closed"],
    limit: 1,
    after: first.next,
  });
  assert.deepEqual([second.views[0]?.webhook.id, second.next], [fine, null]);
  await webhooks.enable(admin, broken);
});

test("WDS-5 the limit of webhooks is enforced, even for concurrent creations", async (t) => {
  const world = await openWorld(t, { webhooksPerTenantMax: 3 });
  const results = await Promise.allSettled(Array.from({ length: 6 }, () => world.createWebhook()));
  assert.equal(results.filter((result) => result.status === "fulfilled").length, 3);
  for (const result of results)
    if (result.status === "rejected") assert.ok(code("limit_reached")(result.reason));
  await world.services.tenants.put(admin, { id: "default", input: { webhooksMax: 4 } });
  await world.createWebhook();
  await assert.rejects(world.createWebhook(), code("limit_reached"));
});

test("WDS-45 a disabled webhook records skipped events; enabling sends none of them; recover does, oldest first, once", async (t) => {
  const world = await openWorld(t);
  const { webhook } = await world.createWebhook();
  const { webhooks } = world.services;
  const disabled = await webhooks.disable(admin, webhook.id);
  assert.deepEqual([disabled.webhook.status, disabled.webhook.statusReason], ["disabled", "owner"]);
  const skipped = [];
  for (let count = 0; count < 5; count += 1) skipped.push(await world.publish());
  const recover = {
    id: webhook.id,
    since: 0,
    until: null,
    states: null,
    requestsPerSecond: 200,
    dryRun: true,
  };
  assert.deepEqual(await webhooks.recover(admin, recover), { operation: null, count: 5, openCircuits: [] });
  await assert.rejects(webhooks.recover(admin, { ...recover, dryRun: false }), /enable it first/);
  const enabled = await webhooks.enable(admin, webhook.id);
  assert.deepEqual([enabled.webhook.status, enabled.webhook.statusReason], ["active", null]);
  const later = await world.publish();
  await attempted(world, webhook.id);
  assert.equal(world.requests.length, 1, "only what was published after enabling");
  const { operation } = await webhooks.recover(admin, { ...recover, dryRun: false });
  await attempted(world, webhook.id, 6);
  const sent = world.requests.map(
    ({ headers }) => headers[headers.findIndex((name) => name.toLowerCase() === "webhook-id") + 1],
  );
  assert.deepEqual(sent, [later, ...skipped]);
  const done = await world.until(async () => {
    const now = await world.services.deadLetters.operation(admin, operation?.id ?? "");
    return now.status === "completed" && now;
  });
  assert.deepEqual([done.total, done.queued, done.failed], [5, 5, 0]);
  assert.equal((await webhooks.recover(admin, recover)).count, 0, "what was recovered is not counted again");
});

test("a deleted webhook is gone, receives nothing, and its secret is free again", async (t) => {
  const world = await openWorld(t);
  const { webhooks } = world.services;
  const { view, secret } = await webhooks.create(admin, { url: "https://example.com/", events: ["*"] });
  await webhooks.delete(admin, view.webhook.id);
  await assert.rejects(webhooks.get(admin, view.webhook.id), code("not_found"));
  await assert.rejects(webhooks.delete(admin, view.webhook.id), code("not_found"));
  await world.publish();
  const again = await webhooks.create(admin, {
    url: "https://example.com/",
    events: ["*"],
    secret: secret ?? "",
  });
  assert.equal(again.secret, secret);
  assert.equal(world.requests.length, 0);
  await world.restart();
  await assert.rejects(webhooks.get(admin, view.webhook.id), code("not_found"));
});

test("the circuit is opened, closed and reset manually, within limits, and survives a restart", async (t) => {
  const world = await openWorld(t);
  const { webhook } = await world.createWebhook();
  const { id } = webhook;
  for (const durationSeconds of [0, 0.5, 604_801, Number.NaN]) {
    await assert.rejects(
      world.services.webhooks.circuit(admin, { id, action: "force_open", durationSeconds }),
      code("invalid_request"),
    );
  }
  const opened = await world.services.webhooks.circuit(admin, {
    id,
    action: "force_open",
    durationSeconds: 3_600,
  });
  assert.equal(opened.state, "open");
  assert.equal((await world.services.webhooks.get(admin, id)).forcedOpenUntil, opened.forcedOpenUntil);
  await world.publish();
  const blocked = await world.until(async () => {
    const page = { limit: 10, after: null, offset: 0 };
    const { rows } = await world.services.deliveries.listOfWebhook(admin, {
      webhookId: id,
      statuses: ["circuit_blocked"],
      page,
    });
    const pending = await world.services.deliveries.listOfWebhook(admin, {
      webhookId: id,
      statuses: ["pending"],
      page,
    });
    assert.deepEqual(pending.rows, []);
    return rows[0];
  });
  assert.equal(blocked.waitingFor, "circuit_open");
  await world.engine.circuitChanged(id);
  await world.restart();
  assert.equal((await world.services.webhooks.health(admin, id)).circuit.state, "open");
  const closed = await world.services.webhooks.circuit(admin, { id, action: "reset", durationSeconds: 1 });
  assert.equal(closed.state, "closed");
  await attempted(world, id);
  const health = await world.services.webhooks.health(admin, id);
  assert.deepEqual([health.stats.total, health.stats.accepted, health.status], [1, 1, "active"]);
});

test("a test event is sent only to this webhook, with the example of its type", async (t) => {
  const world = await openWorld(t);
  const { webhook } = await world.createWebhook({ url: "https://example.com/one", events: ["user.*"] });
  await world.createWebhook({ url: "https://example.com/two", events: ["*"] });
  await world.services.eventTypes.put(admin, {
    tenantId: null,
    name: "order.created",
    examples: [{ example: 1 }],
  });
  const { webhooks } = world.services;
  const sent = await webhooks.test(admin, { id: webhook.id, eventType: "order.created" });
  await webhooks.test(admin, { id: webhook.id, eventType: null });
  await attempted(world, webhook.id, 2);
  assert.deepEqual(
    world.requests.map(({ path }) => path),
    ["/one", "/one"],
  );
  assert.deepEqual(JSON.parse(Buffer.from(world.requests[0]?.body ?? []).toString()).data, { example: 1 });
  assert.equal(
    (await world.services.deliveries.get(admin, sent.deliveryId)).view.delivery.eventId,
    sent.eventId,
  );
  await assert.rejects(
    webhooks.test(admin, { id: webhook.id, eventType: "no type" }),
    code("invalid_request"),
  );
  await webhooks.disable(admin, webhook.id);
  await assert.rejects(webhooks.test(admin, { id: webhook.id, eventType: null }), code("conflict"));
});

test("a change is never dated before the previous one, which a clock that is ahead may have dated", async (t) => {
  const world = await openWorld(t);
  const { webhooks, tenants } = world.services;
  const { view } = await webhooks.create(admin, { url: "https://example.com/", events: ["*"] });
  const { id, updatedAt } = view.webhook;
  const { tenant } = await tenants.put(admin, { id: "acme", input: {} });
  world.skipTime(-3_600_000);
  // The clock was set back. If these changes got earlier dates than the stored version, other processes would ignore
  // them.
  const changed = [
    await webhooks.update(admin, { id, input: { description: "other" } }),
    await webhooks.disable(admin, id),
    await webhooks.enable(admin, id),
  ];
  assert.deepEqual(
    changed.map(({ webhook }) => webhook.updatedAt),
    [updatedAt, updatedAt, updatedAt],
  );
  const renamed = await tenants.put(admin, { id: "acme", input: { name: "Other" } });
  assert.equal(renamed.tenant.updatedAt, tenant.updatedAt);
});

test("TS16-49 TS16-113 a subscriber chooses between full data and identifiers only", async (t) => {
  const world = await openWorld(t);
  for (const [path, payloadFormat] of [
    ["/full", null],
    ["/thin", "standard-thin"],
  ] as const)
    await world.createWebhook({
      url: `https://example.com${path}`,
      events: ["order.*"],
      profile: "standard",
      payloadFormat,
    });
  const data = { id: 7, customer_id: "c1", lines: [{ sku: "a" }], total: 19.9 };
  await world.publish({ data });
  await world.until(() => world.requests.length === 2);
  const bodyAt = (at: string): Readonly<Record<string, unknown>> => {
    const request = world.requests.find(({ path }) => path === at);
    return JSON.parse(Buffer.from(request?.body ?? []).toString()) as Readonly<Record<string, unknown>>;
  };
  assert.deepEqual(bodyAt("/full")["data"], data);
  assert.deepEqual(bodyAt("/thin")["data"], { id: 7, customer_id: "c1" });
  const thin = [...world.engine.webhooks()].find(({ webhook: { url } }) => url.endsWith("/thin"));
  const id = thin?.webhook.id ?? "";
  await world.services.webhooks.update(admin, { id, input: { payloadFormat: null } });
  await world.publish({ data });
  await world.until(() => world.requests.length === 4);
  assert.deepEqual(
    world.requests.filter(({ path }) => path === "/thin").map(({ body }) => body.byteLength > 100),
    [false, true],
  );
});
