import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { type ReceivedRequest, startReceiver } from "../../peers/receiver.ts";
import { textOf } from "../api/client.fixture.ts";
import { eventually } from "../eventually.fixture.ts";
import { Cluster } from "./cluster.fixture.ts";

/** Much shorter than the polling intervals of half a minute and five minutes. */
const within = 25_000;
/**
 * Much longer than a second, after which processes poll for changes, and much shorter than the time for three reloads.
 */
const unannouncedWithin = 10_000;
/**
 * If a delivery has not arrived by then, it is held, or it is still in flight from a worker that has not received the
 * change.
 */
const heldBackMs = 1_500;

suite("changes by one process reach the others", () => {
  test("WDS-179 WDS-107 a worker follows URL, status, secrets and circuit at once", async (t) => {
    const cluster = await Cluster.open();
    t.after(() => cluster.close());
    const receiver = await startReceiver();
    t.after(() => receiver.close());
    const [api, other] = await cluster.start("api", "api", "worker");
    assert.ok(api !== undefined && other !== undefined);
    const webhook = { url: receiver.url("/old"), events: ["order.*"], signing: { schemes: ["v1"] } };
    const id = await cluster.addWebhook(api, webhook);
    const change = (request: string, body: object) => cluster.call(api, request.replace("ID", id), body);
    /** The path at which the next event arrives; null if the event is held. */
    const nextPath = async (): Promise<string | null> => {
      const before = receiver.requestCount;
      await cluster.publish(api, "order.paid", [{ n: before }]);
      await receiver.waitUntil(() => receiver.requestCount > before, heldBackMs).catch(() => undefined);
      return receiver.requestCount > before ? (receiver.requests.at(-1)?.path ?? null) : null;
    };
    const untilNext = (path: string | null) =>
      eventually(`the next event goes to ${path}`, {
        ask: nextPath,
        holds: (found: string | null) => found === path,
        withinMs: within,
      });

    await untilNext("/old");
    await change("PATCH /v1/webhooks/ID", { url: receiver.url("/new") });
    await untilNext("/new");

    const opened = await change("PATCH /v1/webhooks/ID/circuit-breaker", {
      action: "force_open",
      duration_seconds: 60,
    });
    assert.equal(opened.status, 200);
    await untilNext(null);
    const afterOpen = receiver.requestCount + 1;
    await eventually("another API process shows it too", {
      ask: async () => JSON.stringify((await cluster.call(other, `GET /v1/webhooks/${id}/health`)).body),
      holds: (health) => /"open"/.test(health),
      withinMs: within,
    });
    await change("PATCH /v1/webhooks/ID/circuit-breaker", { action: "reset" });
    await receiver.waitUntil(() => receiver.requestCount >= afterOpen, within);

    await change("POST /v1/webhooks/ID/disable", {});
    await untilNext(null);
    const before = receiver.requestCount;
    const enabled = await cluster.call(other, `POST /v1/webhooks/${id}/enable`, {});
    assert.equal(enabled.status, 200);
    assert.equal(receiver.requestCount, before);
    await untilNext("/new");

    const rotated = await change("POST /v1/webhooks/ID/secret/rotate", { mode: "revoke" });
    assert.equal(rotated.status, 200);
    const secret = await cluster.call(other, `GET /v1/webhooks/${id}/secret`);
    assert.equal(secret.body["secret"], rotated.body["secret"]);
    const { Webhook } = await import("standardwebhooks");
    const isSigned = ({ text, headers }: ReceivedRequest): boolean => {
      try {
        new Webhook(textOf(rotated.body["secret"])).verify(text, headers as Record<string, string>);
        return true;
      } catch {
        return false;
      }
    };
    await eventually("the new secret signs", {
      ask: async () => {
        await untilNext("/new");
        return receiver.requests.at(-1);
      },
      holds: (request) => request !== undefined && isSigned(request),
      withinMs: within,
    });
  });

  test("WDS-35 keys, tenants and event types of one API process apply in the other at once", async (t) => {
    const cluster = await Cluster.open();
    t.after(() => cluster.close());
    const [api, other] = await cluster.start("api", "api");
    assert.ok(api !== undefined && other !== undefined);
    await cluster.call(api, "PUT /v1/tenants/acme", {});
    const schema = { type: "object", required: ["total"] };
    await cluster.call(api, "PUT /v1/event-types/order.paid", { schema });
    const made = await cluster.call(api, "POST /v1/api-keys", {
      name: "k",
      role: "manage",
      tenant_id: "acme",
    });
    assert.equal(made.status, 201);
    const withKey = () =>
      fetch(`${other.url}/v1/webhooks`, {
        headers: { authorization: `Bearer ${textOf(made.body["key"])}` },
      }).then(({ status }) => status);
    await eventually("the key is known", {
      ask: withKey,
      holds: (status) => status === 200,
      withinMs: within,
    });
    await eventually("the tenant and the schema are known", {
      ask: async () => {
        const tenant = await cluster.call(other, "GET /v1/tenants/acme");
        const refused = await cluster.call(other, "POST /v1/events", {
          event_type: "order.paid",
          data: { n: 1 },
        });
        return [tenant.status, refused.status];
      },
      holds: (statuses) => statuses.join() === "200,400",
      withinMs: within,
    });
    await cluster.call(api, `DELETE /v1/api-keys/${textOf(made.body["id"])}`);
    await eventually("the key is gone", {
      ask: withKey,
      holds: (status) => status === 401,
      withinMs: within,
    });
  });

  test("a bulk operation is cancelled through a process that does not run it", async (t) => {
    const cluster = await Cluster.open();
    t.after(() => cluster.close());
    const [api, other] = await cluster.start("api", "api");
    assert.ok(api !== undefined && other !== undefined);
    const id = await cluster.addWebhook(api, { url: "http://127.0.0.1:9/", events: ["order.*"] });
    await cluster.call(api, `POST /v1/webhooks/${id}/disable`, {});
    await cluster.publish(
      api,
      "order.paid",
      Array.from({ length: 100 }, (_, n) => ({ n })),
    );
    assert.equal((await cluster.call(api, `POST /v1/webhooks/${id}/enable`, {})).status, 200);
    const started = await cluster.call(api, `POST /v1/webhooks/${id}/recover`, {
      since: new Date(Date.now() - 60_000).toISOString(),
      rate_limit: { requests_per_second: 5 },
    });
    assert.equal(started.status, 202, JSON.stringify(started.body));
    const path = `/v1/dlq/batch-operations/${textOf(started.body["batch_operation_id"])}`;
    const requeued = () => cluster.count("SELECT count(*) FROM posthorn.queue");
    await eventually("it is under way", { ask: requeued, holds: (count) => count >= 3 });
    assert.ok((await cluster.call(other, `DELETE ${path}`)).status < 300);
    const stoppedAt = await eventually("it stands still", {
      ask: async () => {
        const before = await requeued();
        await new Promise((resolve) => setTimeout(resolve, 1_500));
        return { before, after: await requeued() };
      },
      holds: ({ before, after }) => before === after,
      withinMs: within,
    });
    assert.ok(stoppedAt.after < 100, "it was stopped before its end");
    for (const process of [api, other])
      assert.match(JSON.stringify((await cluster.call(process, `GET ${path}`)).body), /"cancelled"/);
  });

  test("WDS-179 without announcements, other processes use a new webhook or event type after about a second", async (t) => {
    const cluster = await Cluster.open({ POSTHORN_DATABASE_DIRECT_URL: "none" });
    t.after(() => cluster.close());
    const [api, other] = await cluster.start("api", "api");
    assert.ok(api !== undefined && other !== undefined);
    const answer = async (request: string, body: object) => (await cluster.call(other, request, body)).body;
    // Several changes in a row, so that a periodic reload cannot find all of them.
    for (const eventType of ["order.paid", "order.sent", "order.done"]) {
      await cluster.addWebhook(api, { url: "http://127.0.0.1:9/", events: [eventType] });
      await eventually("an event published through the other process gets its delivery", {
        ask: () => answer("POST /v1/events", { event_type: eventType, data: {} }),
        holds: ({ deliveries }) => Number(deliveries) === 1,
        withinMs: unannouncedWithin,
      });
      const schema = { type: "object", required: ["total"] };
      await cluster.call(api, `PUT /v1/event-types/${eventType}`, { schema });
      await eventually("the schema is known", {
        ask: () => cluster.call(other, "POST /v1/events", { event_type: eventType, data: {} }),
        holds: ({ status }) => status === 400,
        withinMs: unannouncedWithin,
      });
    }
  });

  test("without announcements, a worker finds new events by polling", async (t) => {
    const cluster = await Cluster.open({ POSTHORN_DATABASE_DIRECT_URL: "none" });
    t.after(() => cluster.close());
    const receiver = await startReceiver();
    t.after(() => receiver.close());
    const [api] = await cluster.start("api", "worker");
    assert.ok(api !== undefined);
    for (const ordering of ["none", "strict"] as const) {
      const url = receiver.url(`/${ordering}`);
      await cluster.addWebhook(api, { url, events: [`${ordering}.a`], ordering_guarantee: ordering });
      for (let event = 0; event < 3; event += 1) {
        const startedMs = performance.now();
        const before = receiver.requestCount;
        await cluster.publish(api, `${ordering}.a`, [{ event }]);
        await receiver.waitForRequests(before + 1);
        assert.ok(performance.now() - startedMs < 100_000);
      }
    }
  });
});
