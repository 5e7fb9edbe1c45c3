import assert from "node:assert/strict";
import { test } from "node:test";
import type { LiveWebhook } from "../../engine/endpoint/endpoint-config.ts";
import { rankingOf, waitingOfRows } from "./webhook-ranking.ts";

const now = Date.UTC(2026, 0, 2);

/** Webhook 0 failed most recently. Webhooks from index `failed` on have never failed. */
function webhooks(count: number, failed = count): readonly LiveWebhook[] {
  return Array.from({ length: count }, (_, index) => {
    const lastFailedAt = index < failed ? now - index : null;
    const health = { lastFailedAt, failingSince: lastFailedAt };
    return { webhook: { id: `w${String(index).padStart(5, "0")}` }, health } as unknown as LiveWebhook;
  });
}

/** Each query takes this many milliseconds. */
function sourcesOf(tookMs: number) {
  let at = 0;
  const asked: (readonly string[])[] = [];
  const note = (ids: readonly string[]) => {
    at += tookMs;
    asked.push(ids);
  };
  return {
    asked,
    clock: { now: () => now, monotonicMs: () => at },
    statistics: {
      failuresOf: async (ids: readonly string[]) => {
        note(ids);
        return new Map(ids.map((id) => [id, { rate: Number(id.at(-1)) / 10, failed: 1, attempts: 10 }]));
      },
    },
    history: {
      waitingOf: async ({ webhookIds }: { readonly webhookIds: readonly string[] }) => {
        note(webhookIds);
        const waiting = (id: string) => ({ total: Number(id.at(-1)), isMore: false, oldestCreatedAt: now });
        return new Map(webhookIds.map((id) => [id, waiting(id)]));
      },
    },
    deliveries: {
      lanesWithWork: async () => ({
        lanes: webhooks(500).map(({ webhook }) => ({
          webhookId: webhook.id,
          ordering: "none" as const,
          eventType: null,
        })),
        next: null,
      }),
    },
  };
}

type Sources = Parameters<typeof rankingOf>[2];

async function ranked(
  sort: "failure_rate" | "backlog",
  of: { readonly count: number; readonly failed?: number; readonly tookMs: number },
) {
  const sources = sourcesOf(of.tookMs);
  const all = webhooks(of.count, of.failed);
  const ranking = await rankingOf(sort, all, sources as unknown as Sources);
  const first = all.toSorted((a, b) => (ranking.placeOf(a) > ranking.placeOf(b) ? -1 : 1))[0];
  return { ...ranking, first: first?.webhook.id, asked: sources.asked.map(({ length }) => length) };
}

test("by failure rate, only webhooks that failed in the last day are queried, in parts", async () => {
  const { first, asked, isComplete, searchedTo } = await ranked("failure_rate", {
    count: 1_000,
    failed: 300,
    tookMs: 1,
  });
  assert.deepEqual(
    { first, asked, isComplete, searchedTo },
    {
      first: "w00299",
      asked: [256, 44],
      isComplete: true,
      searchedTo: null,
    },
  );
});

test("the order by failure rate stops at its time limit, and says how far back it looked", async () => {
  const { asked, isComplete, searchedTo } = await ranked("failure_rate", { count: 2_000, tookMs: 100 });
  assert.deepEqual(
    { asked, isComplete, searchedTo },
    {
      asked: [256, 256],
      isComplete: false,
      searchedTo: now - 511,
    },
  );
});

test("by backlog, webhooks with work are counted, failing ones first, within the time limit", async () => {
  const whole = await ranked("backlog", { count: 700, tookMs: 1 });
  assert.deepEqual([whole.first, whole.isComplete], ["w00499", true]);
  const part = await ranked("backlog", { count: 700, tookMs: 100 });
  assert.deepEqual([part.asked, part.isComplete], [[32, 32], false]);
});

test("rows that could not be counted in time have no number", async () => {
  const { history, clock } = sourcesOf(100);
  const ids = webhooks(100).map(({ webhook }) => webhook.id);
  const counts = await waitingOfRows(ids, { history, clock } as unknown as Sources);
  assert.deepEqual([counts.get("w00063")?.total, counts.get("w00064")], [3, null]);
});

/** Creates three webhooks with the given data and returns their ids in order of creation. */
async function orderOf(
  sort: "failures" | "failure_rate" | "backlog",
  known: Readonly<
    Record<string, { readonly rate?: number; readonly attempts?: number; readonly waiting?: number }>
  >,
) {
  const ids = Object.keys(known);
  const lives = ids.map(
    (id) => ({ webhook: { id }, health: { lastFailedAt: now, failingSince: now } }) as unknown as LiveWebhook,
  );
  const sources = {
    clock: { now: () => now, monotonicMs: () => 0 },
    statistics: {
      failuresOf: async (asked: readonly string[]) =>
        new Map(
          asked.map((id) => {
            const { rate = 0, attempts = 0 } = known[id] ?? {};
            return [id, { rate, failed: rate * attempts, attempts }];
          }),
        ),
    },
    history: {
      waitingOf: async (query: { readonly webhookIds: readonly string[]; readonly countMax: number }) =>
        new Map(
          query.webhookIds.map((id) => {
            const waiting = known[id]?.waiting ?? 0;
            const total = Math.min(waiting, query.countMax);
            return [id, { total, isMore: waiting > query.countMax, oldestCreatedAt: now }];
          }),
        ),
    },
    deliveries: {
      lanesWithWork: async () => ({ lanes: ids.map((webhookId) => ({ webhookId })), next: null }),
    },
  };
  const ranking = await rankingOf(sort, lives, sources as unknown as Sources);
  const order = lives
    .toSorted((a, b) => (ranking.placeOf(a) > ranking.placeOf(b) ? -1 : 1))
    .map(({ webhook }) => webhook.id);
  return { order, waiting: ranking.waiting };
}

test("deep backlogs are ordered by the counts that rows show", async () => {
  const { order, waiting } = await orderOf("backlog", {
    a: { waiting: 8_000 },
    b: { waiting: 1_100 },
    c: { waiting: 2_500 },
    d: { waiting: 12 },
  });
  assert.deepEqual(order, ["a", "c", "b", "d"]);
  assert.deepEqual(
    order.map((id) => waiting?.get(id)?.total),
    [8_000, 2_500, 1_100, 12],
  );
});

test("among backlogs beyond the bound the webhook with the most attempts is first", async () => {
  const { order } = await orderOf("backlog", {
    a: { waiting: 30_000, attempts: 900 },
    b: { waiting: 20_000, attempts: 5_000 },
    c: { waiting: 9_999, attempts: 70_000 },
  });
  assert.deepEqual(order, ["b", "a", "c"]);
});

test("among equal failure rates the webhook with the most failures is first", async () => {
  const known = {
    a: { rate: 1, attempts: 10_000 },
    b: { rate: 1, attempts: 3 },
    c: { rate: 0.5, attempts: 90_000 },
    d: { rate: 0, attempts: 500_000 },
  };
  assert.deepEqual((await orderOf("failure_rate", known)).order, ["a", "b", "c", "d"]);
  assert.deepEqual((await orderOf("failures", known)).order, ["c", "a", "b", "d"]);
});
