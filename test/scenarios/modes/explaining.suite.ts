/** The history of a request, and the reasons why a delivery is waiting. */
import assert from "node:assert/strict";
import { itemsOf, textOf } from "../api/client.fixture.ts";
import type { Json } from "../api/client.fixture.ts";
import { eventually } from "../eventually.fixture.ts";
import type { TenantScene } from "../tenant-scene.fixture.ts";
import { soon } from "./scenario.fixture.ts";
import type { Scenarios } from "./scenario.fixture.ts";

export const explaining: Scenarios = {
  "a failed attempt shows where it was sent, how, and the response, without credentials": async (scene) => {
    const { receiver, api, admin } = scene;
    const answerMs = 1_000;
    receiver.script((_, index) =>
      index > 0
        ? {}
        : {
            status: 503,
            headers: {
              "X-Reason": "full",
              "Set-Cookie": "id=s3cret-cookie",
              Location: "/in?token=s3cret-token",
            },
            delayMs: answerMs,
          },
    );
    const url = `${receiver.url("/hook")}?api_key=s3cret-query&a=1`;
    const webhook = await scene.addWebhook({ url, ...soon });
    const event = await scene.publish();
    const { id } = (await scene.reaches(event, "success")) as unknown as { readonly id: string };
    const path = `/v1/deliveries/${id}`;
    const { text, body } = await api.get(path);
    assert.doesNotMatch(text, /s3cret/);
    const [failed, accepted] = itemsOf(body["attempts"]);
    assert.equal(failed?.["url"], `${receiver.url("/hook")}?api_key=***&a=1`);
    assert.equal(failed["http_version"], "1.1");
    assert.equal(failed["config_revision"], 1);
    assert.equal(failed["metadata_truncated"], false);
    const fields = new Map<unknown, unknown>(
      itemsOf(failed["response_headers"]).map((field) => [field["name"], field["value"]]),
    );
    assert.equal(fields.get("x-reason"), "full");
    assert.equal(fields.get("set-cookie"), "***");
    assert.equal(fields.get("location"), "/in?token=***");
    const timings = failed["timings_ms"] as Json;
    assert.deepEqual(Object.keys(timings), ["dns", "connect", "tls", "wait"]);
    // A busy machine may notice late that the request was written, but not as late as this.
    assert.ok(Number(timings["wait"]) >= answerMs / 2, JSON.stringify(timings));
    assert.equal(failed["peer_address"], null, "which address inside the operator let it go to is not told");
    const [seen] = itemsOf((await admin.get(path)).body["attempts"]);
    assert.equal(seen?.["peer_address"], "127.0.0.1");
    if (!isTracedId(id))
      assert.equal(accepted?.["timings_ms"], null, "one in a hundred accepted ones is kept");
    await changesTheRevision(scene, webhook);
  },

  "the request of an attempt is shown as it was sent, and says what may differ": async (scene) => {
    const { receiver, api } = scene;
    receiver.script((_, index) => (index === 0 ? { status: 503 } : {}));
    const webhook = await scene.addWebhook({
      url: `${receiver.url("/hook")}?a=1&token=s3cret-token`,
      headers: { "X-Plain": "shown" },
      bearer_token: "s3cret-bearer-token",
      ...soon,
    });
    const event = await scene.publish({ data: { big: 1e21, text: "é\u2028" } });
    const { id } = (await scene.reaches(event, "success")) as unknown as { readonly id: string };
    for (const [index, sent] of receiver.requests.entries()) {
      const { status, text, body } = await api.get(`/v1/deliveries/${id}/attempts/${index + 1}/request`);
      assert.equal(status, 200, text);
      assert.doesNotMatch(text, /s3cret/);
      assert.deepEqual([body["method"], body["exact"], body["may_differ"]], ["POST", true, []]);
      assert.equal(body["url"], `${receiver.url("/hook")}?a=1&token=***`);
      assert.deepEqual(Buffer.from(textOf(body["body_base64"]), "base64"), sent.body);
      const made = itemsOf(body["headers"]).map(({ name, value }) => [name, value] as unknown as Pair);
      assertSentAs(made, sent.rawHeaders);
      assert.deepEqual(
        made.filter(([, value]) => value === "***").map(([name]) => name.toLowerCase()),
        ["webhook-signature", "authorization"],
      );
    }
    const reasons = async (): Promise<unknown[]> => {
      const { body } = await api.get(`/v1/deliveries/${id}/attempts/1/request`);
      assert.equal(body["exact"], itemsOf(body["may_differ"]).length === 0);
      return itemsOf(body["may_differ"]).map((each) => each["reason"]);
    };
    await scene.change(webhook, { url: receiver.url("/other") });
    assert.deepEqual(await reasons(), ["configuration_changed"]);
    const { body } = await api.get(`/v1/deliveries/${id}/attempts/1/request`);
    assert.equal(body["url"], `${receiver.url("/hook")}?a=1&token=***`, "where it went then");
    assert.equal((await api.post(`/v1/webhooks/${webhook}/secret/rotate`, {})).status, 200);
    assert.deepEqual(await reasons(), ["configuration_changed", "secret_rotated"]);
    for (const number of ["3", "0", "x"])
      assert.equal((await api.get(`/v1/deliveries/${id}/attempts/${number}/request`)).status, 404);
  },

  "a waiting delivery names everything that holds it, since when, why, and the call that ends it": async (
    scene,
  ) => {
    const { receiver, api } = scene;
    receiver.script((_, index) => (index === 0 ? { status: 500 } : {}));
    const webhook = await scene.addWebhook({ retry_config: { schedule_ms: [600_000] } });
    const event = await scene.publish();
    const { id } = (await scene.reaches(event, "failed")) as unknown as { readonly id: string };
    await scene.change(`${webhook}/circuit-breaker`, { action: "force_open" });
    await scene.change(webhook, { active: false });
    const gatesNow = async (): Promise<readonly Json[]> => {
      const { body } = await api.get(`/v1/deliveries/${id}`);
      assert.deepEqual(body["lane"], { ordering_guarantee: "none", event_type: null });
      assert.equal(itemsOf(body["gates"])[0]?.["gate"], body["waiting_for"]);
      return itemsOf(body["gates"]);
    };
    const namesOf = (gates: readonly Json[]) => gates.map(({ gate }) => gate as unknown);
    const gates = await eventually("all gates are told", {
      ask: gatesNow,
      holds: (now) => namesOf(now).includes("circuit_open"),
    });
    assert.deepEqual(namesOf(gates), ["inactive", "circuit_open", "schedule"]);
    for (const gate of gates) {
      assert.ok(Date.parse(textOf(gate["since"])) <= Date.now(), JSON.stringify(gate));
      assert.match(textOf(gate["cause"]), /^[A-Z].*\.$/);
    }
    assert.equal(gates[0]?.["until"], null);
    assert.ok(Date.parse(textOf(gates[2]?.["until"])) > Date.now() + 300_000);
    for (const [index, left] of [["circuit_open", "schedule"], ["schedule"]].entries()) {
      await follow(scene, gates[index]?.["remedy"] as Json);
      await eventually(`only ${left.join()} is left`, {
        ask: async () => namesOf(await gatesNow()),
        holds: (names) => names.join() === left.join(),
      });
    }
    await follow(scene, gates[2]?.["remedy"] as Json);
    await scene.reaches(event, "success");
    assert.deepEqual(await gatesAfter(scene, id), []);
  },

  "a paused webhook keeps published events, says so, and sends them when the pause ends manually or by time":
    async (scene) => {
      const { receiver, api } = scene;
      const webhook = await scene.addWebhook();
      const path = `/v1/webhooks/${webhook}`;
      const paused = await api.post(`${path}/pause`, { reason: "deploying" });
      assert.equal(paused.status, 200, paused.text);
      const { since } = paused.body["pause"] as Json;
      assert.deepEqual(paused.body["pause"], { since, until: null, reason: "deploying" });
      assert.equal(paused.body["status"], "active");
      const held = await publishedWhilePaused(scene);
      const sentBefore = receiver.requestCount;
      receiver.clear();
      const { id } = (await scene.waitsFor(held, "paused")) as unknown as { readonly id: string };
      const [gate, ...others] = itemsOf((await api.get(`/v1/deliveries/${id}`)).body["gates"]);
      assert.deepEqual([gate?.["gate"], others.length, gate?.["since"]], ["paused", 0, since]);
      assert.equal(gate?.["cause"], "The webhook was paused manually: deploying");
      assert.equal((await scene.list("/v1/deliveries?waiting_for=paused")).length, 1);
      const backlog = (await api.get(`${path}/backlog`)).body;
      const expected = { waiting: { high: 0, normal: 1, low: 0 }, total: 1, more: false };
      const { waiting, total, more } = backlog;
      assert.deepEqual({ waiting, total, more }, expected);
      if (sentBefore === 0) assert.equal(backlog["drain_seconds"], null, "nothing was accepted recently");
      assert.equal((await scene.list("/v1/webhooks?paused=true")).length, 1);
      assert.equal((await scene.list("/v1/webhooks?paused=false")).length, 0);
      assert.equal(receiver.requestCount, 0);
      await follow(scene, gate?.["remedy"] as Json);
      await scene.reaches(held, "success");
      assert.equal((await api.get(path)).body["pause"], null);
      assert.equal((await api.post(`${path}/pause`, {})).status, 200);
      const second = await publishedWhilePaused(scene);
      const until = new Date(Date.now() + 2_000).toISOString();
      assert.equal((await api.post(`${path}/pause`, { until })).status, 200);
      await scene.reaches(second, "success");
      assert.ok(Date.now() >= Date.parse(until), `it came before ${until}`);
      assert.equal((await scene.list("/v1/webhooks?paused=true")).length, 0);
      for (const body of [{ until: "2020-01-01" }, { until: "2999-01-01" }, { reason: "" }, { for: "1h" }])
        assert.equal((await api.post(`${path}/pause`, body)).status, 400, JSON.stringify(body));
    },
};

/**
 * A worker may be notified of a pause slightly later than the caller gets the response. It may still send events that
 * were published in between.
 */
async function publishedWhilePaused(scene: TenantScene): Promise<string> {
  for (;;) {
    const event = await scene.publish();
    const isHeld = await eventually("it is held or sent", {
      ask: async () => {
        const { body } = await scene.api.get(`/v1/events/${event}/deliveries`);
        const [found = {}] = itemsOf(body["data"]) as readonly Readonly<Record<string, unknown>>[];
        return found["status"] === "success" ? false : found["waiting_for"] === "paused" || null;
      },
      holds: (answer) => answer !== null,
    });
    if (isHeld === true) return event;
  }
}

/** Performs a remedy that Posthorn suggests. */
async function follow({ api }: TenantScene, { method, path, body }: Json): Promise<void> {
  const answer = await api.call(textOf(method), textOf(path), { body: body as object });
  assert.ok(answer.status < 300, answer.text);
}

async function gatesAfter({ api }: TenantScene, id: string): Promise<readonly Json[]> {
  return itemsOf((await api.get(`/v1/deliveries/${id}`)).body["gates"]);
}

type Pair = readonly [name: string, value: string];

/**
 * Compares names, letter case and order of the header fields, and all values except masked ones. The HTTP connection
 * adds further fields.
 */
function assertSentAs(made: readonly Pair[], rawHeaders: readonly string[]): void {
  const sent = rawHeaders.flatMap((name, at): Pair[] =>
    at % 2 === 0 ? [[name, rawHeaders[at + 1] ?? ""]] : [],
  );
  const added = new Set(["host", "connection", "content-length"]);
  const expected = sent.filter(([name]) => !added.has(name.toLowerCase()));
  assert.deepEqual(
    made.map(([name]) => name),
    expected.map(([name]) => name),
  );
  for (const [at, [name, value]] of made.entries())
    if (value !== "***") assert.equal(value, expected[at]?.[1], name);
}

async function changesTheRevision(scene: TenantScene, webhook: string): Promise<void> {
  assert.equal((await scene.change(webhook, { description: "other" }))["revision"], 2);
  assert.equal((await scene.change(webhook, { description: "other" }))["revision"], 2);
  assert.equal((await scene.change(webhook, { active: false }))["revision"], 2);
}

function isTracedId(id: string): boolean {
  return Number.parseInt(id.slice(-6), 16) % 100 === 0;
}
