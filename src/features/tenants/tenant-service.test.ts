import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../engine/manual-clock.fixture.ts";
import type { SecretBox } from "../../ports/secret-box.ts";
import type { StoredSecret, WebhookStore } from "../../ports/store/webhooks.ts";
import type { FeatureContext } from "../services.ts";
import { TenantKeys } from "./tenant-service.ts";

function scene() {
  const stored = new Map<string, readonly StoredSecret[]>();
  const applied: string[] = [];
  let failuresLeft = 0;
  const store = {
    async tenantKeys(tenantId: string) {
      await Promise.resolve();
      if (failuresLeft-- > 0) throw new Error("the store is away");
      return stored.get(tenantId) ?? [];
    },
    async saveTenantKeys(tenantId: string, keys: readonly StoredSecret[]) {
      assert.equal(stored.has(tenantId), false, "a key was replaced");
      stored.set(tenantId, keys);
    },
  } as unknown as WebhookStore;
  const secretBox: SecretBox = {
    seal: (plaintext, context) => Buffer.from(`${context} ${plaintext}`),
    open: () => assert.fail(),
    digest: (plaintext) => plaintext,
  };
  let seed = 0;
  const random = { uniform: () => 0, bytes: (count: number) => new Uint8Array(count).fill(++seed) };
  const access = {
    applyTenantKeys: (tenantId: string) => void applied.push(tenantId),
  };
  const clock = new ManualClock();
  const context = { access, store: { webhooks: store }, secretBox, clock, random };
  const keys = new TenantKeys(context as unknown as FeatureContext);
  return { keys, stored, applied, failNext: (count: number) => void (failuresLeft = count) };
}

test("webhooks that need the key at the same time share one, and it enters service", async () => {
  const { keys, stored, applied } = scene();
  const [first, second] = await Promise.all([keys.ensure("acme"), keys.ensure("acme")]);
  assert.deepEqual(first, second);
  assert.equal(stored.get("acme")?.length, 1);
  assert.deepEqual(applied, ["acme"]);
  assert.notDeepEqual((await keys.ensure("other"))[0]?.digest, first?.[0]?.digest);
  assert.match(Buffer.from(stored.get("acme")?.[0]?.ciphertext ?? []).toString(), /^acme whsk_/);
});

test("a failure of the store is not remembered", async () => {
  const { keys, failNext } = scene();
  failNext(1);
  await assert.rejects(keys.ensure("acme"), /away/);
  assert.equal((await keys.ensure("acme")).length, 1);
});
