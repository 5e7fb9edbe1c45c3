import assert from "node:assert/strict";
import type { PublishEntry, PublishKey, RememberedPublish } from "../../../src/ports/shared-state.ts";
import type { OpenSharedState, SharedStateTheme } from "./shared-state.suite.ts";

const key: PublishKey = { tenantId: "tenant-1", idempotencyKey: "order-1" };
const publish: RememberedPublish = {
  fingerprint: "c2hhMjU2",
  id: "01990000-0000-7000-8000-000000000001",
  eventType: "order.created",
  timestamp: 1_800_000_000_123,
  sequenceNumber: 42,
  deliveries: 3,
};

async function entry(
  open: OpenSharedState,
  { livesMs = 60_000, ...rest }: Partial<PublishEntry> & { readonly livesMs?: number } = {},
): Promise<PublishEntry> {
  return { key, publish, until: (await open.now()) + livesMs, ...rest };
}

export const publishes: SharedStateTheme = (check) => {
  check("WDS-36 a stored publish is read everywhere, field by field", async (state, open) => {
    const other = await open.openAnother();
    assert.deepEqual(await state.publishes.recall([key]), [null]);
    await state.publishes.remember([await entry(open)]);
    assert.deepEqual(await other.publishes.recall([key]), [publish]);
    const plain = { ...publish, fingerprint: null, eventType: 'ä "quoted" \u2028 ☃', deliveries: 0 };
    const another = { ...key, idempotencyKey: "order-2" };
    await other.publishes.remember([await entry(open, { key: another, publish: plain })]);
    assert.deepEqual(await state.publishes.recall([another, key]), [plain, publish]);
  });

  check("the keys of different publishers are independent", async (state, open) => {
    const keys: PublishKey[] = [
      { tenantId: "a", idempotencyKey: "b:c" },
      { tenantId: "a:b", idempotencyKey: "c" },
      { tenantId: "a", idempotencyKey: "{b}" },
      { tenantId: "a", idempotencyKey: "b\0c" },
      { tenantId: "a", idempotencyKey: "\ud800" },
      { tenantId: "a", idempotencyKey: "\ud801" },
      { tenantId: "a", idempotencyKey: "\ufffd" },
      { tenantId: "a", idempotencyKey: "x".repeat(2_000) },
      { tenantId: "a", idempotencyKey: `${"x".repeat(1_999)}y` },
    ];
    const entries = await Promise.all(
      keys.map((each, index) => entry(open, { key: each, publish: { ...publish, sequenceNumber: index } })),
    );
    await state.publishes.remember(entries);
    const known = await state.publishes.recall(keys);
    assert.deepEqual(
      known.map((each) => each?.sequenceNumber),
      keys.map((_, index) => index),
    );
    assert.deepEqual(await state.publishes.recall([{ tenantId: "b", idempotencyKey: "c" }]), [null]);
  });

  check("the first publish stored under a key stays", async (state, open) => {
    const other = await open.openAnother();
    const second = { ...publish, id: "second" };
    await state.publishes.remember([await entry(open), await entry(open, { publish: second })]);
    await other.publishes.remember([await entry(open, { publish: second, livesMs: 999_000 })]);
    assert.deepEqual(await state.publishes.recall([key, key]), [publish, publish]);
  });

  check("after many concurrent stores of a key, all read the same publish", async (state, open) => {
    const states = [state, await open.openAnother(), await open.openAnother()];
    const entries = await Promise.all(
      states.map((_, index) => entry(open, { publish: { ...publish, id: `publish-${index}` } })),
    );
    const known = await Promise.all(
      states.map(async (each, index) => {
        await each.publishes.remember(entries.slice(index, index + 1));
        return (await each.publishes.recall([key]))[0]?.id;
      }),
    );
    assert.equal(new Set(known).size, 1);
    assert.ok(known[0]?.startsWith("publish-"));
  });

  check("a publish is stored until its time, then the key is free", async (state, open) => {
    await state.publishes.remember([await entry(open, { livesMs: 200 })]);
    assert.deepEqual(await state.publishes.recall([key]), [publish]);
    await open.pass(220);
    assert.deepEqual(await state.publishes.recall([key]), [null]);
    const later = { ...publish, id: "later" };
    await state.publishes.remember([await entry(open, { publish: later })]);
    assert.deepEqual(await state.publishes.recall([key]), [later]);
  });

  check("an expired publish is not stored", async (state, open) => {
    const until = await open.now();
    for (const gone of [until - 1_000, 0, -5]) {
      await state.publishes.remember([{ key, publish, until: gone }]);
      assert.deepEqual(await state.publishes.recall([key]), [null]);
    }
    await state.publishes.remember([{ key, publish, until: until + 60_000.75 }]);
    assert.deepEqual(await state.publishes.recall([key]), [publish]);
  });

  check("an empty batch is accepted", async (state) => {
    assert.deepEqual(await state.publishes.recall([]), []);
    await state.publishes.remember([]);
  });

  check("after all data is lost the key is free", async (state, open) => {
    await state.publishes.remember([await entry(open)]);
    await open.forget();
    assert.deepEqual(await state.publishes.recall([key]), [null]);
  });
};
