/** Events with too many deliveries for one transaction. */
import assert from "node:assert/strict";
import { fanOutRows } from "../../../src/ports/store/deliveries.ts";
import type { Store } from "../../../src/ports/store.ts";
import {
  claim,
  claimedIds,
  commit,
  day,
  idsOf,
  lane,
  newDelivery,
  newWebhook,
  only,
  publish,
  publishCommand,
  runToEnd,
  start,
} from "./scene.fixture.ts";
import type { StoreTheme } from "./store.suite.ts";
import { listDeliveries } from "../../listed-deliveries.ts";

/** A publish whose remaining deliveries are written in two more parts. */
function largeEvent() {
  const command = publishCommand({
    event: { idempotencyKey: "key-1", fingerprint: "print-1" },
    dedupUntil: start + day,
    deliveries: [{ lane: lane("ordered", "strict"), claim: true }, { lane: lane("first") }],
  });
  const later = Array.from({ length: fanOutRows + 3 }, (_, n) =>
    newDelivery({
      lane: lane(`later-${n % 7}`),
      ...(n === 5 && { state: "skipped", reason: "webhook_disabled" }),
    }),
  );
  return { ...command, later };
}

async function listed(store: Store, eventId: string): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let before: number | null = null; ; ) {
    const { rows } = await listDeliveries(store.history, { eventId }, { limit: 500, before });
    ids.push(...idsOf(rows));
    before = rows.at(-1)?.position ?? null;
    if (rows.length < 500) return ids;
  }
}

const sorted = (ids: readonly string[]): readonly string[] => ids.toSorted();

export const largeEvents: StoreTheme = (check) => {
  check(
    "are accepted with their first rows, and another process writes the rest after a crash",
    async (store, open) => {
      const command = largeEvent();
      const { publishes } = await commit(store, { publishes: [command] });
      assert.equal(only(publishes).kind, "accepted");
      const firstIds = idsOf(command.deliveries);
      assert.deepEqual(sorted(await listed(store, command.event.id)), sorted(firstIds));
      const event = await store.history.getEvent(null, command.event.id);
      assert.equal(
        event?.deliveries,
        firstIds.length + command.later.length,
        "it says how many there will be",
      );

      const part = await store.deliveries.fanOut();
      assert.deepEqual(idsOf(part?.deliveries ?? []), idsOf(command.later.slice(0, fanOutRows)));
      const after = await open.reopen();
      // A newer event may be published between the parts.
      await publish(after, { deliveries: [{ lane: lane("later-0") }, { lane: lane("ordered", "strict") }] });
      assert.deepEqual(
        idsOf((await after.deliveries.fanOut())?.deliveries ?? []),
        idsOf(command.later.slice(fanOutRows)),
      );
      assert.equal(await after.deliveries.fanOut(), null);
      const all = [...firstIds, ...idsOf(command.later)];
      assert.deepEqual(sorted(await listed(after, command.event.id)), sorted(all));
      const skipped = await after.history.getDelivery(null, command.later[5]?.id ?? "");
      assert.deepEqual([skipped?.progress.state, skipped?.progress.reason], ["skipped", "webhook_disabled"]);
      const { waiting } = await after.deliveries.depth();
      assert.equal(waiting.normal, all.length - 1 + 2);
      const claimed = await claim(after, lane("later-3"), { limit: 2 });
      assert.deepEqual(claimedIds(claimed), [command.later[3]?.id, command.later[10]?.id]);
      assert.equal(claimed.deliveries[0]?.eventId, command.event.id);
    },
  );

  check("a repeat of their key is answered with the final counts", async (store) => {
    const command = largeEvent();
    await commit(store, { publishes: [command] });
    const again = publishCommand({
      event: { idempotencyKey: "key-1", fingerprint: "print-1" },
      dedupUntil: start + day,
    });
    const result = only((await commit(store, { publishes: [again] })).publishes);
    assert.ok(result.kind === "duplicate");
    assert.equal(result.original.deliveries, command.deliveries.length + command.later.length);
    assert.equal((await store.deliveries.fanOut())?.deliveries.length, fanOutRows);
    assert.equal((await store.deliveries.fanOut())?.deliveries.length, 3);
    assert.equal(await store.deliveries.fanOut(), null, "the repeat adds nothing");
  });

  check("a rejected commit leaves nothing to write", async (store) => {
    const command = largeEvent();
    const broken = publishCommand({ deliveries: [{ id: "no uuid at all", state: "wrong" as "pending" }] });
    await commit(store, { publishes: [command, broken] }).catch(() => undefined);
    const event = await store.history.getEvent(null, command.event.id);
    assert.equal((await store.deliveries.fanOut()) === null, event === null);
  });

  check("retention and expiry touch neither body nor event while rows are missing", async (store) => {
    const command = largeEvent();
    await commit(store, { publishes: [command] });
    const late = start + 400 * day;
    const expireAll = () =>
      runToEnd(() =>
        store.upkeep.expire({ now: late, limit: 500, ageMsByWebhook: new Map(), ageMsDefault: day }),
      );
    const forgetAll = async (): Promise<void> => {
      await runToEnd(() => store.upkeep.forgetHistory({ createdBefore: late, now: late, limit: 500 }));
      await runToEnd(() => store.upkeep.forgetPayloads(late, 500));
    };
    await expireAll();
    await forgetAll();
    const kept = await store.history.getEvent(null, command.event.id);
    assert.deepEqual(kept?.body, command.event.body);
    while ((await store.deliveries.fanOut()) !== null);
    assert.equal(await expireAll(), command.later.length - 1, "what was written late is found by the sweeps");
    await forgetAll();
    assert.equal(await store.history.getEvent(null, command.event.id), null);
    assert.deepEqual(await listed(store, command.event.id), []);
  });

  check("several callers write each part once", async (store) => {
    const command = largeEvent();
    await commit(store, { publishes: [command] });
    const parts = await Promise.all([1, 2, 3, 4].map(() => store.deliveries.fanOut()));
    const written = parts.flatMap((part) => idsOf(part?.deliveries ?? []));
    assert.deepEqual(sorted(written), sorted(idsOf(command.later)));
    assert.equal((await listed(store, command.event.id)).length, command.deliveries.length + written.length);
  });

  check("rows of a webhook that was deleted in between are cancelled by upkeep", async (store) => {
    const webhook = newWebhook({ id: "gone" });
    await store.webhooks.save(webhook, { secrets: [] });
    const command = { ...publishCommand({ deliveries: [] }), later: [newDelivery({ lane: lane("gone") })] };
    await commit(store, { publishes: [command] });
    await store.webhooks.delete("gone", start);
    await runToEnd(() => store.upkeep.cancelWebhook({ webhookId: "gone", now: start, limit: 10 }));
    assert.deepEqual(await store.webhooks.deletedWithWork(), []);
    await store.deliveries.fanOut();
    assert.deepEqual(await store.webhooks.deletedWithWork(), ["gone"]);
    await runToEnd(() => store.upkeep.cancelWebhook({ webhookId: "gone", now: start, limit: 10 }));
    const row = await store.history.getDelivery(null, command.later[0]?.id ?? "");
    assert.equal(row?.progress.reason, "webhook_deleted");
  });
};
