import assert from "node:assert/strict";
import { Counts } from "../../../src/domain/statistics/counts.ts";
import { keys } from "../../../src/domain/statistics/facts.ts";
import type { EndCommand } from "../../../src/ports/store/deliveries.ts";
import type { StatisticsQuery } from "../../../src/ports/store/statistics.ts";
import type { Store } from "../../../src/ports/store.ts";
import {
  commit,
  day,
  hour,
  lane,
  minute,
  only,
  publish,
  retryCommand,
  runToEnd,
  start,
} from "./scene.fixture.ts";
import { batch } from "./statistics.suite.ts";
import type { StoreTheme } from "./store.suite.ts";

/** Deliveries that end without an attempt. */
export const statisticsOfEnds: StoreTheme = (check) => {
  check("deliveries ended by the store are counted with their end, once, if requested", async (store) => {
    const event = { tenantId: "oak" };
    const ids = async (webhook: string, count: number): Promise<readonly string[]> => {
      const deliveries = Array.from({ length: count }, () => ({ lane: lane(webhook) }));
      return (await publish(store, { event, deliveries })).deliveries.map(({ id }) => id);
    };
    const end = (command: Pick<EndCommand, "event" | "ids"> & Partial<EndCommand>) =>
      store.deliveries.end({ tenantId: null, now: start + 1, isCounted: true, ...command });
    const byHand = await ids("by-hand", 12);
    await end({ event: "cancel_requested", ids: byHand.slice(0, 1), isCounted: false });
    await Promise.all(byHand.map((id) => end({ event: "cancel_requested", ids: [id, id] })));
    await ids("deleted", 3);
    const cancel = { webhookId: "deleted", now: start + 1, limit: 2, isCounted: true };
    await runToEnd(() => store.upkeep.cancelWebhook(cancel));
    const expired = await ids("too-old", 3);
    const ageMsByWebhook = new Map([["too-old", 0]]);
    const expire = { now: start + minute, limit: 2, ageMsByWebhook, ageMsDefault: day, isCounted: true };
    await runToEnd(() => store.upkeep.expire(expire));
    const discard = { event: "discarded" as const, ids: expired.slice(0, 2), now: start + minute };
    await end(discard);
    await end(discard);

    assert.deepEqual(await endings(store, { level: "subjects", tenantId: "oak", subjects: null }), {
      "by-hand": { cancelled: 11 },
      "deleted": { cancelled: 3 },
      "too-old": { exhausted: 3, discarded: 2 },
    });
    const sums = { cancelled: 14, exhausted: 3, discarded: 2 };
    assert.deepEqual(await endings(store, { level: "tenants", tenantIds: null }), { oak: sums });
    assert.deepEqual(await endings(store, { level: "all" }), { all: sums });
  });

  check("a retry does not undo a counted end: a delivery counts again when it ends again", async (store) => {
    const { deliveries } = await publish(store, { event: { tenantId: "oak" }, deliveries: [{}] });
    const { id } = only(deliveries);
    const cancel = {
      event: "cancel_requested",
      tenantId: null,
      ids: [id],
      now: start,
      isCounted: true,
    } as const;
    await store.deliveries.end(cancel);
    await commit(store, { retries: [retryCommand(id)], statistics: batch({ number: 1 }) });
    assert.deepEqual(await endings(store, { level: "all" }), { all: { cancelled: 1 } });
    await store.deliveries.end(cancel);
    await runToEnd(() => store.statistics.recover(start + day));
    assert.deepEqual(await endings(store, { level: "all" }), { all: { cancelled: 2 } });
  });
};

/** Counts of ended deliveries that the statistics return: by subject, by tenant, or in total. */
async function endings(store: Store, of: StatisticsQuery["of"]): Promise<Record<string, object>> {
  const { rows } = await store.statistics.read({
    kind: "delivery",
    step: "minute",
    from: start,
    to: start + hour,
    limit: 1_000,
    of,
  });
  const sums = new Map<string, Counts>();
  for (const { tenantId, subject, counts } of rows) {
    const name = subject ?? tenantId ?? "all";
    sums.set(name, sums.get(name) ?? new Counts());
    sums.get(name)?.addAll(Counts.unpack(counts));
  }
  const named = ["cancelled", "exhausted", "discarded"] as const;
  return Object.fromEntries(
    [...sums].map(([name, counts]) => [
      name,
      Object.fromEntries(named.map((key) => [key, counts.get(keys[key])]).filter(([, count]) => count !== 0)),
    ]),
  );
}
