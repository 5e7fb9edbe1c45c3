import assert from "node:assert/strict";
import type { WebhookHistoryEntry } from "../../../src/domain/webhook-history.ts";
import type { AuditEntry } from "../../../src/ports/store/audit.ts";
import type { WebhookRuntimeState } from "../../../src/ports/store/deliveries.ts";
import type { StoredHistoryEntry, StoredSecret } from "../../../src/ports/store/webhooks.ts";
import type { Store } from "../../../src/ports/store.ts";
import { commit, firstPage, newId, newWebhook, start } from "./scene.fixture.ts";
import type { StoreTheme } from "./store.suite.ts";

const actor: AuditEntry["actor"] = {
  kind: "api_key",
  keyId: "key-1",
  keyName: "Ada",
  role: "manage",
  sessionId: null,
  reference: null,
};

function auditAt(at: number): AuditEntry {
  return {
    id: newId(),
    at,
    tenantId: "default",
    actor,
    action: "webhook.update",
    route: "PATCH /v1/webhooks/{id}",
    target: { type: "webhook", id: null },
    changes: {},
    address: null,
    requestId: null,
  };
}

function secret(digest: string, kind: StoredSecret["kind"] = "symmetric"): StoredSecret {
  return { kind, ciphertext: new Uint8Array([1]), digest, createdAt: start, expiresAt: null };
}

async function historyOf(
  store: Store,
  webhookId: string,
  { revisionsOnly = false } = {},
): Promise<readonly StoredHistoryEntry[]> {
  return (await store.webhooks.history({ webhookId, revisionsOnly, page: { ...firstPage, limit: 250 } }))
    .rows;
}

const told = ({ kind, revision, reason, changes }: StoredHistoryEntry) => [
  kind,
  revision,
  reason,
  Object.keys(changes).join(),
];

function moved(
  at: number,
  kind: "circuit_opened" | "circuit_closed" = "circuit_opened",
): WebhookHistoryEntry {
  return { at, kind, revision: null, by: null, reason: null, changes: {} };
}

function stateOf(webhookId: string, moves: readonly WebhookHistoryEntry[]): WebhookRuntimeState {
  const nothing = { pausedUntil: null, pauseReason: null, lastSuccessAt: null, circuit: null, health: null };
  return { webhookId, ...nothing, moves };
}

export const webhookHistories: StoreTheme = (check) => {
  check("numbers configurations in stored order, whatever the caller assumed", async (store) => {
    const webhook = newWebhook();
    const first = await store.webhooks.save({ ...webhook, revision: 7 }, { secrets: [secret("a")] });
    assert.equal(first.revision, 1);
    const metadata = { b: { d: 1, c: 2 }, a: 1 };
    assert.equal((await store.webhooks.save({ ...webhook, metadata })).revision, 2);
    const reordered = { ...webhook, metadata: { a: 1, b: { c: 2, d: 1 } } };
    assert.equal((await store.webhooks.save(reordered)).revision, 2, "the same in another order");
    const other = await store.webhooks.save({ ...webhook, metadata, url: "https://b.example/" });
    const another = await store.webhooks.save({ ...webhook, metadata, url: "https://c.example/" });
    assert.deepEqual([other.revision, another.revision], [3, 4], "two that believed to follow 2");
    const same = { ...another, status: "disabled" } as const;
    assert.equal((await store.webhooks.save(same, { secrets: [secret("a")] })).revision, 4);
    assert.equal((await store.webhooks.save(same, { secrets: [secret("b")] })).revision, 5);
    assert.deepEqual(await store.webhooks.some([webhook.id]), [
      { webhook: { ...same, revision: 5 }, secrets: [secret("b")], runtime: null },
    ]);
  });

  check("records what each change did, by whom and why", async (store) => {
    const headers = { "X-Team": "a", "X-Api-Key": "hidden" };
    let webhook = newWebhook({ url: "https://a.example/?token=hidden", headers });
    webhook = await store.webhooks.save(webhook, { audit: auditAt(start + 1), secrets: [secret("a")] });
    const pause = { since: start, until: null, reason: "they move" };
    webhook = await store.webhooks.save({ ...webhook, pause }, { audit: auditAt(start + 2) });
    webhook = await store.webhooks.save({ ...webhook, pause: null });
    const rateLimit = { requestsPerMinute: 60, burst: 1 };
    webhook = await store.webhooks.save({ ...webhook, rateLimit, description: "x".repeat(5_000) });
    const bearer = [secret("b"), secret("t", "bearer")];
    webhook = await store.webhooks.save(webhook, { secrets: bearer });
    webhook = await store.webhooks.save(webhook, { secrets: [secret("c"), secret("t", "bearer")] });
    const stopped = { status: "suspended", statusReason: "gone" } as const;
    webhook = await store.webhooks.save({ ...webhook, ...stopped, updatedAt: start + 9 });
    await store.webhooks.save({ ...webhook, status: "active", statusReason: null });
    await store.webhooks.save({ ...webhook, status: "active", statusReason: null });
    const all = await historyOf(store, webhook.id);
    assert.deepEqual(all.map(told).toReversed().slice(1), [
      ["paused", null, "they move", ""],
      ["resumed", null, null, ""],
      ["changed", 2, null, "description,rateLimit"],
      ["changed", 3, null, "secret,bearer_token"],
      ["secret_rotated", 4, null, "secret"],
      ["suspended", null, "gone", ""],
      ["enabled", null, null, ""],
    ]);
    const created = all.at(-1);
    assert.deepEqual([created?.kind, created?.revision, created?.at], ["created", 1, start + 1]);
    assert.deepEqual(created?.by, { kind: "api_key", keyName: "Ada", reference: null });
    assert.deepEqual([created?.changes.secret, created?.changes.events], [{}, { to: ["*"] }]);
    assert.doesNotMatch(JSON.stringify(all), /hidden/);
    assert.match(JSON.stringify(all), /X-Team/);
    assert.deepEqual([all[1]?.by, all[1]?.at], [null, start + 9]);
    const { rateLimit: limit, description } = all[4]?.changes ?? {};
    assert.deepEqual(limit, { from: null, to: rateLimit });
    assert.match(String(description?.to), /^x{1024}… \(5000 characters\)$/);
    const revisions = await historyOf(store, webhook.id, { revisionsOnly: true });
    assert.deepEqual(
      revisions.map(({ revision }) => revision),
      [4, 3, 2, 1],
    );
  });

  check("the circuit is recorded once, in a bounded history, page after page", async (store) => {
    const { id } = await store.webhooks.save(newWebhook());
    const stranger = newId();
    const once = stateOf(id, [moved(start), moved(start, "circuit_closed")]);
    await commit(store, { webhookStates: [once, stateOf(stranger, [moved(start)])] });
    await commit(store, { webhookStates: [once] });
    const kinds = (await historyOf(store, id)).map(({ kind }) => kind);
    assert.deepEqual(kinds, ["circuit_closed", "circuit_opened", "created"]);
    assert.deepEqual(await historyOf(store, stranger), []);
    const many = Array.from({ length: 150 }, (_, index) => moved(start + 1 + index));
    await commit(store, { webhookStates: [stateOf(id, many)] });
    const kept = await historyOf(store, id);
    assert.deepEqual([kept.length, kept[0]?.at, kept.at(-1)?.kind], [101, start + 150, "created"]);
    const paged: number[] = [];
    for (let before: number | null = null, more = true; more; more = before !== null) {
      const page = await store.webhooks.history({
        webhookId: id,
        revisionsOnly: false,
        page: { limit: 40, before, offset: 0 },
      });
      paged.push(...page.rows.map(({ at }) => at));
      before = page.next;
    }
    assert.deepEqual(
      paged,
      kept.map(({ at }) => at),
    );
  });

  check("history survives a restart and is deleted with its webhook", async (store, open) => {
    const [kept, gone] = [await store.webhooks.save(newWebhook()), await store.webhooks.save(newWebhook())];
    await store.webhooks.delete(gone.id, start);
    await store.webhooks.save(gone);
    await commit(store, { webhookStates: [stateOf(gone.id, [moved(start)])] });
    const reopened = await open.reopen();
    assert.equal((await historyOf(reopened, kept.id)).length, 1);
    assert.deepEqual(await historyOf(reopened, gone.id), []);
  });
};
