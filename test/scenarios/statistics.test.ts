import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { startReceiver } from "../peers/receiver.ts";
import type { Receiver } from "../peers/receiver.ts";
import { itemsOf, type Json, textOf } from "./api/client.fixture.ts";
import { eventually } from "./eventually.fixture.ts";
import { PosthornProcess } from "./posthorn-process.fixture.ts";
import { addLoadWebhooks, loadAndKill, sqliteLedger } from "./statistics-kills.fixture.ts";
import { untilEqual } from "./statistics-ledger.fixture.ts";
import { TenantScene } from "./tenant-scene.fixture.ts";

suite("statistics of a server", () => {
  let posthorn: PosthornProcess;
  let receiver: Receiver;
  let oak: TenantScene;
  let elm: TenantScene;
  let accepting = "";
  let failing = "";

  before(async () => {
    posthorn = await PosthornProcess.start();
    receiver = await startReceiver();
    const { url: baseUrl, adminKey } = posthorn;
    oak = await TenantScene.open({ baseUrl, adminKey, tenantId: "oak" });
    elm = await TenantScene.open({ baseUrl, adminKey, tenantId: "elm" });
    oak.receiver.script(({ path }) => ({ status: path === "/fails" ? 503 : 200 }));
    accepting = await oak.addWebhook({ events: ["order.paid", "order.sent"] });
    failing = await oak.addWebhook({
      url: oak.receiver.url("/fails"),
      events: ["order.paid"],
      // The tests below count first attempts, so the retry is due only after an hour.
      retry_config: { schedule_ms: [3_600_000] },
    });
    await elm.addWebhook();
    for (const type of ["order.paid", "order.paid", "order.sent", "order.lost"])
      await oak.api.post("/v1/events", { event_type: type, data: {} });
    await elm.publish();
    await untilCounted(oak, 5);
    await untilCounted(elm, 1);
  });

  after(async () => {
    await oak.close();
    await elm.close();
    await receiver.close();
    await posthorn.remove();
  });

  async function untilCounted(scene: TenantScene, attempts: number): Promise<void> {
    await eventually("the attempts are counted", {
      ask: async () => totalsOf(await stats(scene, "")),
      holds: (totals) => Number(totals["attempts"]) === attempts,
    });
  }

  async function stats(scene: Pick<TenantScene, "api">, query: string, what = "deliveries"): Promise<Json> {
    const answer = await scene.api.get(`/v1/stats/${what}?${query}`);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  }

  const totalsOf = (body: Json): Json => (itemsOf(body["series"])[0]?.["totals"] ?? {}) as Json;
  const byKey = (body: Json, measure: string) =>
    Object.fromEntries(
      itemsOf(body["series"]).map((each) => [textOf(each["key"]), (each["totals"] as Json)[measure]]),
    );

  test("a tenant sees the outcomes of its deliveries, with times, and how far they are complete", async () => {
    const body = await stats(oak, "");
    const { duration_ms_p50: p50, duration_ms_p95: _p95, duration_ms_p99: p99, ...counts } = totalsOf(body);
    assert.ok(Number(p50) > 0 && Number(p99) >= Number(p50));
    assert.deepEqual(counts, {
      attempts: 5,
      accepted: 3,
      transient: 2,
      terminal: 0,
      unknown: 0,
      success: 3,
      exhausted: 0,
      cancelled: 0,
      discarded: 0,
      skipped: 0,
      failure_rate: 0.4,
    });
    assert.equal(body["step_seconds"], 300);
    assert.ok(Date.parse(textOf(body["complete_until"])) <= Date.now());
    assert.ok(Number(body["lag_seconds"]) >= 0);
  });

  test("points start with the first that counted something, and the current one is marked as partial", async () => {
    const points = itemsOf(itemsOf((await stats(oak, "step=1m"))["series"])[0]?.["points"]);
    assert.ok(points.length >= 1 && points.length <= 10, `${points.length} points`);
    assert.ok(Number(points[0]?.["attempts"]) > 0);
    assert.equal(points.at(-1)?.["partial"], true);
    assert.ok(points.slice(0, -1).every((point) => point["partial"] === undefined));
    const sum = points.reduce((total, point) => total + Number(point["attempts"]), 0);
    assert.equal(sum, 5);
  });

  test("series by webhook, status class, code and category; the rest beyond the limit is other", async () => {
    assert.deepEqual(byKey(await stats(oak, "group_by=webhook"), "attempts"), {
      [accepting]: 3,
      [failing]: 2,
    });
    assert.deepEqual(byKey(await stats(oak, "group_by=webhook&limit=1"), "attempts"), {
      [accepting]: 3,
      other: 2,
    });
    assert.deepEqual(byKey(await stats(oak, "group_by=status_class"), "attempts"), { "2xx": 3, "5xx": 2 });
    assert.deepEqual(byKey(await stats(oak, "group_by=code"), "attempts"), { 200: 3, 503: 2 });
    assert.deepEqual(byKey(await stats(oak, "group_by=category"), "attempts"), { server_error: 2 });
    const one = await stats(oak, `webhook_id=${failing}&measures=attempts,failure_rate`);
    assert.deepEqual(totalsOf(one), { attempts: 2, failure_rate: 1 });
  });

  test("events count by type, and those without a receiver are unmatched", async () => {
    const events = await stats(oak, "group_by=event_type", "events");
    assert.deepEqual(byKey(events, "published"), { "order.paid": 2, "order.sent": 1, "order.lost": 1 });
    assert.deepEqual(byKey(events, "unmatched")["order.lost"], 1);
    assert.deepEqual(byKey(events, "deliveries")["order.paid"], 4);
    await oak.api.post("/v1/events", { event_type: "order.sent", idempotency_key: "k", data: {} });
    await oak.api.post("/v1/events", { event_type: "order.sent", idempotency_key: "k", data: {} });
    await eventually("the duplicate is counted", {
      ask: async () => totalsOf(await stats(oak, "", "events")),
      holds: ({ published, duplicate }) => Number(published) === 5 && Number(duplicate) === 1,
    });
  });

  test("tenants are isolated: other tenants' numbers, webhooks and types are not found", async () => {
    assert.equal(totalsOf(await stats(elm, ""))["attempts"], 1);
    assert.deepEqual((await stats(elm, `webhook_id=${accepting}`))["series"], []);
    assert.deepEqual(Object.keys(byKey(await stats(elm, "group_by=tenant"), "attempts")), ["elm"]);
    assert.deepEqual(byKey(await stats(elm, "group_by=event_type", "events"), "published"), {
      "order.paid": 1,
    });
    for (const path of ["deliveries", "events"])
      assert.equal((await elm.api.get(`/v1/stats/${path}?tenant_id=oak`)).status, 400);
    const publisher = oak.admin.withKey(await oak.admin.keyFor("publish", "oak"));
    assert.equal((await publisher.get("/v1/stats/deliveries")).status, 403);
  });

  test("an administrator sees the readings of processes, at once; a tenant does not", async () => {
    const admin = { api: oak.admin };
    const point = await eventually("a reading is written", {
      ask: async () => itemsOf((await stats(admin, "step=1m", "gauges"))["points"]).at(-1),
      holds: (last) => last !== undefined,
    });
    assert.equal(point?.["processes"], 1);
    const { request_slots: slots, dead_letters: deadLetters } = point ?? {};
    const { min, mean, max } = slots as Json;
    assert.ok(Number(min) > 0 && min === mean && mean === max);
    assert.deepEqual(deadLetters, { min: 0, mean: 0, max: 0 });
    for (const step of ["1h", "1d"])
      assert.equal(itemsOf((await stats(admin, `step=${step}`, "gauges"))["points"]).length, 1, step);
    assert.equal((await oak.api.get("/v1/stats/gauges")).status, 403);
    assert.equal((await oak.admin.get("/v1/stats/gauges?step=1m&from=2026-01-01")).status, 400);
  });

  test("an administrator sees tenants separately and together", async () => {
    const admin = { api: oak.admin };
    const tenants = byKey(await stats(admin, "group_by=tenant"), "attempts");
    assert.equal(tenants["elm"], 1);
    assert.ok(Number(tenants["oak"]) >= 5);
    const whole = totalsOf(await stats(admin, ""))["attempts"];
    assert.equal(whole, Number(tenants["elm"]) + Number(tenants["oak"]));
    assert.equal(totalsOf(await stats(admin, `webhook_id=${failing}`))["attempts"], 2);
  });

  test("a list of webhooks shows the numbers of each row, only its own", async () => {
    const { body } = await oak.api.get("/v1/webhooks?include=stats");
    const rows = itemsOf(body["data"]);
    const rates = rows.map(({ id, stats: of }) => [textOf(id), (of as Json)["failure_rate"]]);
    assert.deepEqual(Object.fromEntries(rates), { [accepting]: 0, [failing]: 1 });
    const listed = async (query: string): Promise<readonly (readonly [string, unknown])[]> =>
      itemsOf((await oak.api.get(`/v1/webhooks?${query}`)).body["data"]).map(({ id, backlog }) => [
        textOf(id),
        (backlog as Json)["total"],
      ]);
    const waits = { first: [failing, 2], second: [accepting, 0] } as const;
    assert.deepEqual(await listed("sort=failure_rate&include=stats,backlog"), [waits.first, waits.second]);
    assert.deepEqual(await listed("sort=backlog&include=backlog"), [waits.first, waits.second]);
    const page = await oak.api.get("/v1/webhooks?sort=backlog&limit=1");
    assert.deepEqual([page.body["complete"], page.body["searched_to"]], [true, null]);
    const next = `sort=backlog&include=backlog&limit=1&cursor=${textOf(page.body["next_cursor"])}`;
    assert.deepEqual(await listed(next), [waits.second]);
    const bare = itemsOf((await oak.api.get("/v1/webhooks")).body["data"]);
    assert.equal(
      bare.some((row) => "stats" in row),
      false,
    );
    assert.equal((await oak.api.get("/v1/webhooks?include=colour")).status, 400);
    const idle = await elm.addWebhook({ events: ["never"] });
    const shown = itemsOf((await elm.api.get("/v1/webhooks?include=stats")).body["data"]);
    assert.equal(shown.find(({ id: own }) => textOf(own) === idle)?.["stats"], null);
  });

  test("a server in its first hour shows the numbers of many webhooks", async () => {
    const ids = await Promise.all(Array.from({ length: 60 }, () => elm.addWebhook({ events: ["never"] })));
    for (const query of ["limit=100&include=stats", "sort=failure_rate&limit=100"]) {
      const page = await elm.api.get(`/v1/webhooks?${query}`);
      assert.equal(page.status, 200, page.text);
      assert.ok(itemsOf(page.body["data"]).length > ids.length, query);
    }
  });

  test("days follow the time zone, and an impossible chart is rejected with advice", async () => {
    const days = await stats(
      oak,
      "step=1d&from=2026-03-28T23:00:00Z&to=2026-03-30T22:00:00Z&time_zone=Europe/Berlin",
    );
    assert.deepEqual([days["from"], days["to"]], ["2026-03-28T23:00:00.000Z", "2026-03-30T22:00:00.000Z"]);
    for (const query of [
      "step=1m&from=2026-01-01",
      "from=2026-02-01&to=2026-01-01",
      "step=1d&time_zone=Mars/Olympus",
      "step=2h",
      "limit=21",
      "group_by=colour",
      "measures=attempts,colour",
    ])
      assert.equal((await oak.api.get(`/v1/stats/deliveries?${query}`)).status, 400, query);
  });

  test("after kills with signal 9 under load they equal a recount, and so they do after a stop", async (t) => {
    const call = posthorn.call.bind(posthorn);
    await addLoadWebhooks({ call }, receiver);
    for (let kill = 0; kill < 2; kill += 1) {
      await loadAndKill({ posthorn, receiver }, 1_500);
      await posthorn.start();
    }
    const sources = sqliteLedger(posthorn);
    const counts = await untilEqual(sources);
    t.diagnostic(JSON.stringify(counts));
    assert.ok(Number(counts["all"]?.["accepted"]) > 10, "there was load");
    assert.ok(Number(counts["all"]?.["cancelled"]) > 0, "some of it was cancelled");
    await posthorn.stop();
    await posthorn.start();
    await untilEqual(sources);
  });
});
