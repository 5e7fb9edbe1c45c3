/**
 * Each alert that a document requires: its cause occurs, it fires, it is announced once, and it ends together with its
 * cause.
 */
import assert from "node:assert/strict";
import { suite, test, type TestContext } from "node:test";
import { noResponseFields } from "../../src/ports/transport.ts";
import { alertsOf, calm, channelFor, look, minute, stateOf, subjectsTold } from "./alert-scene.fixture.ts";
import { admin, openWorld, type World } from "./world.fixture.ts";

async function publishMany(world: World, count: number): Promise<void> {
  const events = Array.from({ length: count }, (_, number) => ({
    eventType: "order.created",
    data: { number },
  }));
  for (let at = 0; at < count; at += 1_000)
    await world.engine.publisher.publishMany(admin, events.slice(at, at + 1_000));
}

suite("alerts", () => {
  test("WDS-236 an opened circuit fires a warning, which ends when it closes", async (t) => {
    const world = await openWorld(t);
    await channelFor(world, null);
    const { webhook } = await world.createWebhook();
    await world.services.webhooks.circuit(admin, { id: webhook.id, action: "force_open" });
    await look(world);
    const [opened] = await alertsOf(world, "circuit-opened");
    assert.deepEqual([opened?.alert.state, opened?.alert.severity], ["firing", "warning"]);
    assert.equal(opened?.alert.webhookId, webhook.id);
    await world.services.webhooks.circuit(admin, { id: webhook.id, action: "reset" });
    await calm(world);
    assert.equal(await stateOf(world, "circuit-opened"), "resolved");
    assert.deepEqual(await subjectsTold(world), ["Alert: Circuit opened"], "one message in five minutes");
    await calm(world, 5);
    assert.deepEqual(await subjectsTold(world), ["Alert: Circuit opened", "Resolved: Circuit opened"]);
  });

  test("WDS-237 a circuit that is open for an hour is critical", async (t) => {
    const world = await openWorld(t);
    const { webhook } = await world.createWebhook();
    const command = { id: webhook.id, action: "force_open", durationSeconds: 7_200 } as const;
    await world.services.webhooks.circuit(admin, command);
    await look(world);
    assert.equal(await stateOf(world, "circuit-open-long"), "pending");
    world.skipTime(59 * minute);
    await look(world);
    assert.equal(await stateOf(world, "circuit-open-long"), "pending");
    world.skipTime(minute);
    await look(world);
    const [long] = await alertsOf(world, "circuit-open-long");
    assert.deepEqual([long?.alert.state, long?.alert.severity], ["firing", "critical"]);
    await world.services.webhooks.circuit(admin, { id: webhook.id, action: "reset" });
    await calm(world);
    assert.equal(await stateOf(world, "circuit-open-long"), "resolved");
  });

  test("WDS-238 more than a thousand dead letters of a tenant fire a warning", async (t) => {
    const world = await openWorld(t);
    world.statuses.set("/hook", 400);
    const { webhook } = await world.createWebhook({
      profile: "x-webhook",
      rateLimit: { requestsPerMinute: 1_000_000, burst: 10_000 },
      circuitBreaker: { enabled: false },
    });
    await publishMany(world, 1_001);
    await world.until(
      async () => (await world.store.deliveries.depth()).deadLetters.get("default") === 1_001,
    );
    await look(world);
    const [many] = await alertsOf(world, "dead-letters");
    assert.deepEqual(
      [many?.alert.state, many?.alert.tenantId, many?.alert.value],
      ["firing", "default", 1_001],
    );
    const left = async () => (await world.store.deliveries.depth()).deadLetters.get("default") ?? 0;
    await world.services.deadLetters.discardBatch(admin, { filter: { webhookIds: [webhook.id] } });
    await world.until(async () => (await left()) <= 1_000);
    await calm(world);
    assert.equal(await stateOf(world, "dead-letters"), "resolved");
  });

  test("WDS-33 WDS-239 a webhook with fewer than nine in ten successful attempts fires a warning", async (t) => {
    const world = await openWorld(t);
    world.statuses.set("/hook", 503);
    const { webhook } = await world.createWebhook({ circuitBreaker: { enabled: false } });
    await publishMany(world, 49);
    await world.until(() => world.requests.length === 49);
    await look(world);
    assert.equal(await stateOf(world, "success-rate"), null, "too few to say anything");
    await publishMany(world, 1);
    await world.until(() => world.requests.length === 50);
    await look(world);
    const [low] = await alertsOf(world, "success-rate");
    assert.deepEqual([low?.alert.state, low?.alert.webhookId, low?.alert.value], ["firing", webhook.id, 0]);
    await calm(world, 7);
    assert.equal(await stateOf(world, "success-rate"), "resolved", "the window has passed");
  });

  test("WDS-239 eight in nine accepted is too few, and twelve in thirteen is enough", async (t) => {
    const world = await openWorld(t);
    const circuitBreaker = { enabled: false };
    const below = await world.createWebhook({ circuitBreaker, events: ["below.*"] });
    const above = await world.createWebhook({
      circuitBreaker,
      events: ["above.*"],
      url: "https://example.com/above",
    });
    const publish = async (eventType: string, count: number) => {
      const before = world.requests.length;
      for (let n = 0; n < count; n += 1) await world.publish({ eventType });
      await world.until(() => world.requests.length === before + count);
    };
    await publish("below.made", 48);
    await publish("above.made", 48);
    world.statuses.set("/hook", 422).set("/above", 422);
    await publish("below.made", 6);
    await publish("above.made", 4);
    await look(world);
    const alerts = await alertsOf(world, "success-rate");
    assert.deepEqual(
      alerts.map(({ alert }) => [alert.webhookId, alert.state]),
      [[below.webhook.id, "firing"]],
      `${above.webhook.id} is above nine in ten`,
    );
  });

  test("WDS-240 WDS-241 requests that use all slots for ten minutes fire, and so do deliveries that wait for one", async (t) => {
    const world = await openWorld(t, {
      limits: { concurrency: 4, waitingRequests: 0, webhookConcurrency: 4 },
    });
    await channelFor(world, null);
    const held: (() => void)[] = [];
    const hang = () => new Promise<object>((resolve) => void held.push(() => resolve({})));
    const made = [1, 2, 3, 4].map(() => world.createWebhook({ events: ["order.*"] }));
    const webhooks = await Promise.all(made);
    await world.publish();
    await world.until(() =>
      webhooks.every(({ webhook }) => (world.engine.webhook(webhook.id)?.health.lastAcceptedAt ?? 0) > 0),
    );
    // The receivers have responded quickly so far, so their requests may use all slots.
    world.answers.set("/hook", hang);
    await world.publish();
    await world.until(() => held.length === 4);
    await world.createWebhook({ url: "https://example.com/other", events: ["other.*"] });
    await world.publish({ eventType: "other.made" });
    for (let passed = 0; passed <= 11; passed += 1) {
      await world.sample();
      await look(world);
      const expected = passed < 10 ? "pending" : "firing";
      if (passed > 0 && passed < 11)
        assert.equal(await stateOf(world, "workers-busy"), expected, `${passed} min`);
      world.skipTime(minute);
    }
    const [[busy], [late]] = [
      await alertsOf(world, "workers-busy"),
      await alertsOf(world, "deliveries-late"),
    ];
    assert.deepEqual([busy?.alert.value, busy?.alert.severity], [1, "warning"]);
    assert.deepEqual([late?.alert.state, late?.alert.severity], ["firing", "critical"]);
    assert.ok((late?.alert.value ?? 0) >= 9 * 60, `due for ${late?.alert.value} s`);
    world.answers.delete("/hook");
    for (const answer of held) answer();
    await world.until(() => world.requests.some(({ path }) => path === "/other"));
    for (let passed = 0; passed < 4; passed += 1) {
      world.skipTime(minute);
      await world.sample();
      await look(world);
    }
    assert.equal(await stateOf(world, "workers-busy"), "resolved");
    assert.equal(await stateOf(world, "deliveries-late"), "resolved");
  });

  test("WDS-241 more than 10,000 waiting deliveries are critical", async (t) => {
    const world = await openWorld(t);
    const { webhook } = await world.createWebhook();
    await world.services.webhooks.pause(admin, { id: webhook.id });
    await publishMany(world, 10_001);
    await look(world);
    const [deep] = await alertsOf(world, "queue-deep");
    assert.deepEqual(
      [deep?.alert.state, deep?.alert.severity, deep?.alert.value],
      ["firing", "critical", 10_001],
    );
    await world.services.webhooks.delete(admin, webhook.id);
    await world.until(async () => {
      await world.engine.upkeepRound();
      return (await world.store.deliveries.depth()).waiting.normal === 0;
    });
    await calm(world);
    assert.equal(await stateOf(world, "queue-deep"), "resolved");
  });

  test("WDS-215 a name that cannot be resolved is reported to the owner of the webhook", async (t) => {
    const world = await openWorld(t);
    await channelFor(world, "default");
    await channelFor(world, null);
    let fails = true;
    world.answers.set("/hook", () =>
      fails
        ? {
            observation: { kind: "failure", category: "dns", requestSent: false },
            fields: noResponseFields,
            errorMessage: "no such name",
          }
        : {},
    );
    const { webhook } = await world.createWebhook({ circuitBreaker: { enabled: false } });
    await publishMany(world, 3);
    await world.until(() => world.requests.length === 3);
    await look(world);
    const [failing] = await alertsOf(world, "dns-failing");
    assert.deepEqual([failing?.alert.state, failing?.alert.webhookId], ["firing", webhook.id]);
    assert.deepEqual(await subjectsTold(world, "default"), ["Alert: A name cannot be resolved"]);
    assert.deepEqual(await subjectsTold(world), [], "the operator has other rules");
    fails = false;
    await calm(world, 12);
    assert.equal(await stateOf(world, "dns-failing"), "resolved");
    assert.deepEqual(await subjectsTold(world, "default"), [
      "Alert: A name cannot be resolved",
      "Resolved: A name cannot be resolved",
    ]);
  });

  test("a restart repeats nothing, and continues where it stopped", async (t) => {
    const { world } = await firingWorld(t);
    await world.restart();
    world.skipTime(10 * minute);
    await look(world);
    assert.deepEqual(await subjectsTold(world), ["Alert: Circuit opened"]);
    const [{ alert } = { alert: null }] = await alertsOf(world, "circuit-opened");
    assert.equal((await alertsOf(world, "circuit-opened")).length, 1);
    assert.ok(alert?.state === "firing" && alert.lastHeldAt - alert.since >= 10 * minute);
  });

  test("a muted alert is not announced until the mute is over, and is announced then", async (t) => {
    const world = await openWorld(t);
    await channelFor(world, null);
    const { alerts } = world.services;
    const now = Date.now();
    const input = { mutedUntil: now + 20 * minute, muteReason: "planned" };
    await alerts.putRule(admin, { tenantId: null, name: "circuit-opened", input });
    const { webhook } = await world.createWebhook();
    const command = { id: webhook.id, action: "force_open", durationSeconds: 7_200 } as const;
    await world.services.webhooks.circuit(admin, command);
    await look(world);
    const [muted] = await alertsOf(world, "circuit-opened");
    assert.deepEqual([muted?.alert.state, muted?.muteReason], ["firing", "planned"]);
    assert.deepEqual(await subjectsTold(world), []);
    world.skipTime(21 * minute);
    await look(world);
    assert.deepEqual(await subjectsTold(world), ["Alert: Circuit opened"]);
  });

  test("without statistics, a preview is refused, and a backlog is measured by its attempts", async (t) => {
    const world = await openWorld(t, { countsStatistics: false });
    const { alerts, webhooks } = world.services;
    const rule = { metric: "attempts", threshold: 1 } as const;
    await assert.rejects(alerts.preview(admin, null, rule), /statistics are disabled/);
    const { webhook } = await world.createWebhook();
    await world.publish();
    await world.until(async () => (await webhooks.backlog(admin, webhook.id)).perSecond > 0);
  });

  test("a custom rule fires by its metric, its preview says how often, and its alerts end with the rule", async (t) => {
    const world = await openWorld(t);
    const { alerts } = world.services;
    const { webhook } = await world.createWebhook();
    const input = { metric: "attempts", threshold: 2, webhookId: webhook.id } as const;
    const rule = { tenantId: "default", name: "busy-hook", input };
    const { created } = await alerts.putRule(admin, rule);
    assert.equal(created, true);
    await publishMany(world, 3);
    await world.until(() => world.requests.length === 3);
    await look(world);
    assert.equal(await stateOf(world, "busy-hook"), "firing");
    world.skipTime(10 * minute);
    const preview = await alerts.preview(admin, rule.tenantId, rule.input);
    assert.equal(preview.fired, 1);
    assert.ok(
      preview.points.length > 500 && preview.points.some(({ isFiring, value }) => isFiring && value === 3),
    );
    await alerts.deleteRule(admin, rule);
    await look(world);
    assert.equal(await stateOf(world, "busy-hook"), "resolved");
  });

  test("a tenant sees and changes only its own rules and alerts", async (t) => {
    const { world, alertId } = await firingWorld(t);
    const { alerts } = world.services;
    await world.services.tenants.put(admin, { id: "other", input: {} });
    const [own, other] = [{ tenantId: "default" }, { tenantId: "other" }];
    assert.equal((await alerts.get(own, alertId)).alert.id, alertId);
    const until = Date.now() + minute;
    await assert.rejects(alerts.mute(other, alertId, { until }), /alert/);
    await assert.rejects(
      alerts.putRule(other, { tenantId: null, name: "x", input: { metric: "waiting", threshold: 1 } }),
    );
    const input = { metric: "attempts", threshold: 1 } as const;
    await alerts.putRule(other, { tenantId: null, name: "mine", input });
    const names = async (scope: typeof own) => (await alerts.rules(scope, null)).map(({ name }) => name);
    assert.ok((await names(other)).includes("mine") && !(await names(own)).includes("mine"));
    assert.ok(!(await names(own)).includes("queue-away"), "the installation is the operator's");
  });
});

async function firingWorld(t: TestContext): Promise<{ readonly world: World; readonly alertId: string }> {
  const world = await openWorld(t);
  await channelFor(world, null);
  const { webhook } = await world.createWebhook();
  const command = { id: webhook.id, action: "force_open", durationSeconds: 7_200 } as const;
  await world.services.webhooks.circuit(admin, command);
  await look(world);
  const [firing] = await alertsOf(world, "circuit-opened");
  assert.equal(firing?.alert.state, "firing");
  return { world, alertId: firing.alert.id };
}
