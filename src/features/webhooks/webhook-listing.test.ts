import assert from "node:assert/strict";
import { test } from "node:test";
import { createCircuit } from "../../domain/circuit-breaker.ts";
import type { LiveWebhook } from "../../engine/endpoint/endpoint-config.ts";
import { KeptRankings } from "./webhook-ranking.ts";
import { listedWebhooks } from "./webhook-listing.ts";

const now = Date.UTC(2026, 0, 2);

/** Webhooks of two tenants. The last webhook of each tenant failed most recently. */
function sourcesOf(count: number) {
  const webhooks = Array.from({ length: 2 * count }, (_, index) => {
    const [id, url] = [`w${String(index).padStart(5, "0")}`, `https://receiver.example/${index % count}`];
    const webhook = { id, url, tenantId: index < count ? "oak" : "elm", description: "", status: "active" };
    return {
      webhook,
      policy: { circuitBreaker: { windowSizeMs: 60_000 } },
      circuit: createCircuit(0),
      health: { lastFailedAt: index, failingSince: index },
    } as unknown as LiveWebhook;
  });
  const clock = { now: () => now, monotonicMs: () => 0 };
  const asked: number[] = [];
  const access = {
    webhooks: () => webhooks,
    webhook: (id: string) => webhooks.find(({ webhook }) => webhook.id === id),
    refresh: async (ids: readonly string[], part: unknown) => {
      assert.equal(part, "states", "not what is configured");
      asked.push(ids.length);
    },
  };
  return { asked, sources: { access, clock, rankings: new KeptRankings(clock as never) } };
}

async function listed(
  { sources }: ReturnType<typeof sourcesOf>,
  more: { readonly tenantId?: string; readonly text?: string } = {},
) {
  const query = {
    sort: "last_failure",
    limit: 1,
    offset: 0,
    after: null,
    webhookIds: null,
    ...more,
  } as const;
  const { found, rankedAt } = await listedWebhooks(query, sources as never);
  return [found[0]?.webhook.id, rankedAt];
}

test("many webhooks are queried once, and the order of each tenant's is cached", async () => {
  const scene = sourcesOf(1_500);
  assert.deepEqual(await listed(scene), ["w02999", now]);
  assert.deepEqual(scene.asked, [1_000, 1_000, 1_000]);
  assert.deepEqual(await listed(scene), ["w02999", now]);
  assert.equal(scene.asked.length, 3, "the second question asks for nothing");
  assert.deepEqual(await listed(scene, { tenantId: "oak" }), ["w01499", now]);
  assert.deepEqual(scene.asked.slice(3), [1_000, 500], "of one tenant");
});

test("few webhooks, or few after a filter, are queried each time", async () => {
  const few = sourcesOf(250);
  for (let times = 1; times < 3; times += 1) {
    assert.deepEqual(await listed(few), ["w00499", null]);
    assert.equal(few.asked.length, times);
  }
  const many = sourcesOf(1_000);
  assert.deepEqual(await listed(many, { text: "/777" }), ["w01777", null]);
  assert.deepEqual(many.asked, [2]);
});
