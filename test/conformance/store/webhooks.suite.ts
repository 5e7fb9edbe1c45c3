import assert from "node:assert/strict";
import type { StoredSecret } from "../../../src/ports/store/webhooks.ts";
import { commit, newWebhook, only, start } from "./scene.fixture.ts";
import type { StoreTheme } from "./store.suite.ts";

function secret(digest: string, fields: Partial<StoredSecret> = {}): StoredSecret {
  return {
    kind: "symmetric",
    ciphertext: Uint8Array.of(0, 1, 254, 255),
    digest,
    createdAt: start,
    expiresAt: null,
    ...fields,
  };
}

export const webhooks: StoreTheme = (check) => {
  check("WDS-3 keeps a webhook as saved, and replaces it", async (store) => {
    const webhook = newWebhook({
      ownerId: "o",
      metadata: { a: [1, null, { b: "ü" }] },
      headers: { "x-a": "1" },
      rateLimit: { requestsPerMinute: 5, burst: 2 },
      retry: {
        schedule: { kind: "list", delaysMs: [1, 2], jitter: { from: 0, to: 1 } },
        ageMsMax: 5,
        timeoutMs: null,
        timeoutGrowthFactor: 1.5,
      },
    });
    await store.webhooks.save(webhook);
    assert.deepEqual(only(await store.webhooks.page(null, 5)), {
      webhook,
      secrets: [],
      runtime: null,
    });
    const changed = { ...webhook, url: "https://example.org/", updatedAt: start + 1, revision: 2 };
    await store.webhooks.save(changed);
    assert.deepEqual(only(await store.webhooks.page(null, 5)).webhook, changed);
  });

  check("pages in order of creation, and replacing does not move a webhook", async (store) => {
    const saved = Array.from({ length: 7 }, () => newWebhook()).toReversed();
    for (const webhook of saved) await store.webhooks.save(webhook);
    await store.webhooks.save({ ...only(saved.slice(0, 1)), description: "changed" });
    const seen: string[] = [];
    for (let after: string | null = null; ; ) {
      const page = await store.webhooks.page(after, 3);
      if (page.length === 0) break;
      seen.push(...page.map(({ webhook }) => webhook.id));
      after = page.at(-1)?.webhook.id ?? null;
    }
    assert.deepEqual(
      seen,
      saved.map(({ id }) => id),
    );
  });

  check("paging continues after a webhook that was deleted in between", async (store) => {
    const [first, second, third] = [newWebhook(), newWebhook(), newWebhook()];
    for (const webhook of [first, second, third]) await store.webhooks.save(webhook);
    await store.webhooks.delete(second.id, start);
    const rest = await store.webhooks.page(second.id, 5);
    assert.deepEqual(
      rest.map(({ webhook }) => webhook.id),
      [third.id],
    );
  });

  check("reads several, with keys and state, and no deleted ones", async (store) => {
    const [first, second, gone] = [newWebhook(), newWebhook(), newWebhook()];
    for (const webhook of [first, gone]) await store.webhooks.save(webhook);
    await store.webhooks.save(second, { secrets: [secret("d")] });
    await store.webhooks.delete(gone.id, start);
    assert.deepEqual(await store.webhooks.some([]), []);
    const found = await store.webhooks.some([second.id, gone.id, newWebhook().id]);
    assert.deepEqual(found, [{ webhook: second, secrets: [secret("d")], runtime: null }]);
    assert.equal((await store.webhooks.some([first.id, second.id])).length, 2);
  });

  check("replaces secrets as a whole and keeps their order", async (store) => {
    const webhook = newWebhook();
    await store.webhooks.save(webhook);
    const secrets = [secret("d2"), secret("d1", { kind: "ed25519", expiresAt: start + 9 })];
    await store.webhooks.save(webhook, { secrets: [secret("old")] });
    await store.webhooks.save(webhook, { secrets });
    await store.webhooks.save(webhook);
    assert.deepEqual(only(await store.webhooks.page(null, 5)).secrets, secrets);
    assert.equal(await store.webhooks.hasSecrets(), true);
    assert.equal(await store.webhooks.findBySecretDigest("old"), null);
    assert.deepEqual(await store.webhooks.findBySecretDigest("d1"), {
      webhookId: webhook.id,
      tenantId: "default",
    });
  });

  check("keeps the keys of tenants separate from those of webhooks", async (store) => {
    const webhook = newWebhook({ id: "same" });
    await store.webhooks.save(webhook);
    assert.equal(await store.webhooks.hasSecrets(), false);
    await store.webhooks.saveTenantKeys("first", [secret("f", { kind: "ed25519" })]);
    assert.equal(await store.webhooks.hasSecrets(), true);
    await store.webhooks.save(webhook, { secrets: [secret("w")] });
    await store.webhooks.saveTenantKeys("same", [secret("t", { kind: "ed25519" })]);
    assert.deepEqual(await store.webhooks.tenantKeys("same"), [secret("t", { kind: "ed25519" })]);
    assert.deepEqual(await store.webhooks.tenantKeys("other"), []);
    assert.equal(await store.webhooks.findBySecretDigest("t"), null);
    assert.equal(only(await store.webhooks.page(null, 5)).secrets.length, 1);
  });

  check("a deleted webhook is removed with its secrets and state, and stays deleted", async (store) => {
    const webhook = newWebhook();
    await store.webhooks.save(webhook, { secrets: [secret("d")] });
    await commit(store, {
      webhookStates: [
        {
          webhookId: webhook.id,
          pausedUntil: 1,
          pauseReason: null,
          lastSuccessAt: null,
          circuit: null,
          health: null,
        },
      ],
    });
    await store.webhooks.delete(webhook.id, start);
    await store.webhooks.delete(webhook.id, start + 1);
    assert.equal(await store.webhooks.findBySecretDigest("d"), null);
    assert.equal(await store.webhooks.hasSecrets(), false);
    assert.deepEqual(await store.webhooks.deletedWithWork(), [webhook.id]);
    // Changes that were in flight when the webhook was deleted.
    await store.webhooks.save(webhook, { secrets: [secret("d")] });
    assert.deepEqual(await store.webhooks.page(null, 5), []);
    assert.equal(await store.webhooks.findBySecretDigest("d"), null);
  });
};
