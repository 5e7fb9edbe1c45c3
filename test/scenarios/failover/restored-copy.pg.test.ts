import assert from "node:assert/strict";
import { test } from "node:test";
import { createClient, itemsOf, textOf } from "../api/client.fixture.ts";
import { eventually } from "../eventually.fixture.ts";
import { Deployment } from "../outages/deployment.fixture.ts";
import { OutageReceiver } from "../outages/receiver.fixture.ts";
import { adminKey } from "../outages/webhooks.fixture.ts";

const count = 40;

test("after a restore that lost commits no tenant's events reach another tenant's webhook", async (t) => {
  const stack = new AsyncDisposableStack();
  t.after(() => stack.disposeAsync());
  const receiver = await OutageReceiver.start({
    seed: "copy",
    flaky: { webhooks: [], share: 0 },
    answerDelayMs: 0,
  });
  stack.defer(() => receiver.close());
  const deployment = new Deployment({ apis: 1, schedulers: 1, workers: 1 });
  stack.defer(() => deployment.close());
  await deployment.start();
  const { server } = deployment.postgres;
  const [api] = deployment.apis;
  const client = createClient({ baseUrl: api?.url ?? "", key: adminKey });
  for (const tenant of ["amber", "birch"]) {
    const made = await client.call("PUT", `/v1/tenants/${tenant}`, { body: {} });
    assert.ok(made.status === 201 || made.status === 200, made.text);
    const webhook = { url: receiver.url(tenant), tenant_id: tenant, events: ["*"] };
    const { status, text } = await client.post("/v1/webhooks", {
      ...webhook,
      ordering_guarantee: "per_event_type",
    });
    assert.equal(status, 201, text);
  }
  const publish = async (tenant: string): Promise<readonly string[]> => {
    const events = Array.from({ length: count }, (_, index) => ({
      event_type: `${tenant}.type_${index}`,
      tenant_id: tenant,
      data: { tenant },
    }));
    const answer = await eventually(`events of ${tenant} are accepted`, {
      ask: () => client.post("/v1/events/batch", { events }),
      holds: ({ status }) => status === 202,
    });
    return itemsOf(answer.body["results"]).map(({ id }) => textOf(id));
  };
  const arrivedAt = (webhook: string): readonly string[] =>
    (receiver.arrivals.get(webhook) ?? []).map(({ eventId }) => eventId);
  const allOf = (tenant: string, ids: readonly string[]): Promise<unknown> =>
    eventually(`all events of ${tenant} arrive`, {
      ask: async () => ids.filter((id) => !receiver.accepted.has(id)).length,
      holds: (missing) => missing === 0,
    });

  await server.stop();
  const copy = server.copyFolder();
  await server.start();
  const lost = await publish("amber");
  await allOf("amber", lost);
  await server.stop("immediate");
  server.replaceFolder(copy);
  await server.start();
  const kept = await publish("birch");
  await allOf("birch", kept);

  assert.deepEqual(
    arrivedAt("amber").filter((id) => kept.includes(id)),
    [],
    "events of birch at the webhook of amber",
  );
  assert.deepEqual(
    kept.filter((id) => !arrivedAt("birch").includes(id)),
    [],
    "events of birch that did not reach its webhook",
  );
  await eventually("nothing waits any more", {
    ask: () => server.query("SELECT count(*)::int AS waiting FROM posthorn.queue"),
    holds: ([row]) => row?.["waiting"] === 0,
  });
  const [row] = await server.query(
    "SELECT count(*)::int AS done FROM posthorn.deliveries WHERE completed_at IS NOT NULL",
  );
  assert.equal(row?.["done"], count);
});
