import assert from "node:assert/strict";
import type { AuditEntry, AuditFilter, StoredAuditEntry } from "../../../src/ports/store/audit.ts";
import { newOperationDefaults } from "../../../src/ports/store/operations.ts";
import type { SearchPage, SearchPlace } from "../../../src/ports/store/search.ts";
import type { Store } from "../../../src/ports/store.ts";
import { SearchBudget } from "../../../src/ports/clock.ts";
import { idsOf, newId, newWebhook, runToEnd, start } from "./scene.fixture.ts";
import type { StoreTheme } from "./store.suite.ts";

const everything: AuditFilter = {
  tenantId: null,
  actor: null,
  action: null,
  target: null,
  from: null,
  to: null,
};
const actor: AuditEntry["actor"] = {
  kind: "api_key",
  keyId: "key-1",
  keyName: "Ada's key",
  role: "manage",
  sessionId: null,
  reference: null,
};

function entry(fields: Partial<AuditEntry> = {}): AuditEntry {
  return {
    id: newId(),
    at: start,
    tenantId: "a",
    actor,
    action: "webhook.update",
    route: "PATCH /v1/webhooks/{id}",
    target: { type: "webhook", id: "w1" },
    changes: { url: { from: "https://a.example", to: "https://b.example" } },
    address: "192.0.2.1",
    requestId: "req-1",
    ...fields,
  };
}

function search(
  store: Store,
  filter: Partial<AuditFilter> = {},
  {
    after = null,
    limit = 100,
    rowsMax = 1_000_000,
  }: { after?: SearchPlace | null; limit?: number; rowsMax?: number } = {},
): Promise<SearchPage<StoredAuditEntry>> {
  const budget = new SearchBudget({ monotonicMs: () => 0 }, { rowsMax, durationMsMax: 1_000 });
  return store.audit.search({ filter: { ...everything, ...filter }, after, limit, budget });
}

async function all(store: Store, filter: Partial<AuditFilter> = {}): Promise<readonly StoredAuditEntry[]> {
  return (await search(store, filter)).rows;
}

export const audit: StoreTheme = (check) => {
  check("lists appended rows, newest first, by each filter and page after page", async (store) => {
    const session = {
      ...actor,
      kind: "dashboard_session",
      keyId: "key-2",
      keyName: null,
      sessionId: "s-1",
    } as const;
    const rows = [
      entry(),
      entry({ tenantId: "b", action: "webhook.delete", at: start + 1 }),
      entry({ tenantId: null, action: "tenant.put", target: { type: "tenant", id: "t" }, at: start + 2 }),
      entry({ actor: session, action: "webhook_other.x", target: { type: "x", id: null }, at: start + 3 }),
    ];
    for (const each of rows) await store.audit.append(each);
    const [first, second, third, fourth] = rows.map(({ id }) => id);
    const found = async (filter: Partial<AuditFilter>) => idsOf(await all(store, filter));
    assert.deepEqual(await found({}), [fourth, third, second, first]);
    assert.deepEqual(await found({ tenantId: "a" }), [fourth, first]);
    assert.deepEqual(await found({ tenantId: "never seen" }), []);
    assert.deepEqual(await found({ actor: "key-1" }), [third, second, first]);
    assert.deepEqual(await found({ actor: "Ada's key" }), [third, second, first]);
    assert.deepEqual(await found({ actor: "s-1" }), [fourth]);
    assert.deepEqual(await found({ actor: "key" }), []);
    assert.deepEqual(await found({ action: "webhook" }), [second, first]);
    assert.deepEqual(await found({ action: "webhook.delete" }), [second]);
    assert.deepEqual(await found({ action: "web%" }), []);
    assert.deepEqual(await found({ target: "w1" }), [second, first]);
    assert.deepEqual(await found({ from: start + 1, to: start + 2 }), [third, second]);
    const [stored] = await all(store, { target: "t" });
    assert.deepEqual(stored, { ...rows[2], position: stored?.position });
    const paged: string[] = [];
    for (let after: SearchPlace | null = null, more = true; more; more = after !== null) {
      const page: SearchPage<StoredAuditEntry> = await search(store, {}, { after, limit: 1 });
      paged.push(...idsOf(page.rows));
      after = page.next;
    }
    assert.deepEqual(paged, [fourth, third, second, first]);
  });

  check("a search stops at its budget, says how far it came, and continues from there", async (store) => {
    const rare = entry({ action: "rare.one" });
    await store.audit.append(rare);
    for (let index = 0; index < 2_100; index += 100)
      await Promise.all(Array.from({ length: 100 }, () => store.audit.append(entry({ at: start + 5 }))));
    const cut = await search(store, { action: "rare" }, { rowsMax: 1 });
    assert.deepEqual([cut.rows, cut.isCutShort, cut.searchedTo], [[], true, start + 5]);
    const rest = await search(store, { action: "rare" }, { after: cut.next });
    assert.deepEqual([idsOf(rest.rows), rest.next, rest.isCutShort], [[rare.id], null, false]);
  });

  check("a row is written with its change, and not if the change was not made", async (store) => {
    const webhook = newWebhook();
    const [saved, deleted, kept, gone, tried] = [entry(), entry(), entry(), entry(), entry()];
    await store.webhooks.save(webhook, { audit: saved });
    await store.webhooks.delete(webhook.id, start, { audit: deleted });
    const key = { name: "x", hash: "h", hint: "x", role: "read", tenantId: "a", createdAt: start } as const;
    await store.registry.saveApiKey({ ...key, id: newId(), expiresAt: null }, kept);
    assert.equal(await store.registry.deleteApiKey(newId(), gone), false);
    const operation = {
      ...newOperationDefaults,
      ...({ kind: "cancel", status: "paused", priority: null, before: null } as const),
      id: newId(),
      tenantId: "a",
      requestsPerSecond: 1,
      total: 1,
      createdAt: start,
      updatedAt: start,
      selection: { kind: "ids", tenantId: "a", ids: [] },
    } as const;
    await store.operations.save(operation);
    assert.equal(await store.operations.update({ ...operation, revision: 9 }, tried), false);
    assert.deepEqual(idsOf(await all(store)), [kept.id, deleted.id, saved.id]);
    const withChange = entry();
    assert.equal(await store.operations.update(operation, withChange), true);
    assert.equal((await all(store))[0]?.id, withChange.id);
  });

  check("retention deletes only old rows, in steps, even across a restart", async (store, open) => {
    for (let index = 0; index < 5; index += 1) await store.audit.append(entry({ at: start + index }));
    const step = await store.upkeep.forgetAudit(start + 3, 2);
    assert.deepEqual(step, { changed: 2, more: true });
    const reopened = await open.reopen();
    await runToEnd(() => reopened.upkeep.forgetAudit(start + 3, 2));
    assert.deepEqual(
      (await all(reopened)).map(({ at }) => at - start),
      [4, 3],
    );
    await reopened.audit.append(entry({ at: start + 9 }));
    assert.equal((await all(reopened))[0]?.at, start + 9);
  });
};
