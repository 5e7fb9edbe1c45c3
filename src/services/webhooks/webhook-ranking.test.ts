import assert from "node:assert/strict";
import { test } from "node:test";
import type { LiveWebhook } from "../../engine/endpoint/live-webhook.ts";
import { rankingOf, waitingOfRows } from "./webhook-ranking.ts";

const now = Date.UTC(2026, 0, 2);

/** Number 0 failed last, and none of those after number `failed`. */
function webhooks(count: number, failed = count): readonly LiveWebhook[] {
  return Array.from({ length: count }, (_, index) => {
    const lastFailedAt = index < failed ? now - index : null;
    const health = { lastFailedAt, failingSince: lastFailedAt };
    return { webhook: { id: `w${String(index).padStart(5, "0")}` }, health } as unknown as LiveWebhook;
  });
}

/** A question takes so many milliseconds. */
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
      failureRates: async (ids: readonly string[]) => {
        note(ids);
        return new Map(ids.map((id) => [id, Number(id.at(-1)) / 10]));
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

test("by failure rate only those are asked for that failed in the last day, in parts", async () => {
  const { first, asked, isComplete, searchedTo } = await ranked("failure_rate", {
    ...{ count: 1_000, failed: 300, tookMs: 1 },
  });
  assert.deepEqual(
    { first, asked, isComplete, searchedTo },
    {
      ...{ first: "w00299", asked: [256, 44], isComplete: true, searchedTo: null },
    },
  );
});

test("the order by failure rate ends with its time, and says how far back it has looked", async () => {
  const { asked, isComplete, searchedTo } = await ranked("failure_rate", { count: 2_000, tookMs: 100 });
  assert.deepEqual(
    { asked, isComplete, searchedTo },
    {
      ...{ asked: [256, 256], isComplete: false, searchedTo: now - 511 },
    },
  );
});

test("by backlog those are counted that have work, failing ones first, within its time", async () => {
  const whole = await ranked("backlog", { count: 700, tookMs: 1 });
  assert.deepEqual([whole.first, whole.isComplete], ["w00499", true]);
  const part = await ranked("backlog", { count: 700, tookMs: 100 });
  assert.deepEqual([part.asked, part.isComplete], [[32, 32], false]);
});

test("rows that there was no time to count have no number", async () => {
  const { history, clock } = sourcesOf(100);
  const ids = webhooks(100).map(({ webhook }) => webhook.id);
  const counts = await waitingOfRows(ids, { history, clock } as unknown as Sources);
  assert.deepEqual([counts.get("w00063")?.total, counts.get("w00064")], [3, null]);
});
