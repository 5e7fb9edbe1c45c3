import assert from "node:assert/strict";
import type { AlertRecord } from "../../../src/features/alerts/alert.ts";
import type { StoredAlertRule } from "../../../src/ports/store/alerts.ts";
import { firstPage, hour, idsOf, newId, start } from "./scene.fixture.ts";
import type { StoreTheme } from "./store.suite.ts";

function alert(fields: Partial<AlertRecord> = {}): AlertRecord {
  return {
    id: newId(),
    rule: "circuit-opened",
    ruleTenantId: null,
    severity: "warning",
    title: "t",
    audience: "operator",
    tenantId: "a",
    webhookId: "w1",
    subject: "w1",
    summary: "s \0",
    state: "firing",
    value: 0.5,
    threshold: 0,
    since: start,
    lastHeldAt: start,
    firedAt: start,
    resolvedAt: null,
    firedToldAt: null,
    resolvedToldAt: null,
    inhibitedBy: null,
    ...fields,
  };
}

function rule(fields: Partial<StoredAlertRule> = {}): StoredAlertRule {
  return {
    tenantId: null,
    name: "busy",
    input: { threshold: 2, enabled: false },
    createdAt: start,
    updatedAt: start,
    ...fields,
  };
}

const all = { tenantId: null, states: [], rule: null, page: firstPage };

export const alerts: StoreTheme = (check) => {
  check("saves rules by owner and name, and deletes them", async (store) => {
    const kept = store.alerts;
    const [first, second] = [rule(), rule({ tenantId: "a" })];
    for (const each of [first, second]) await kept.saveRule(each);
    const changed = { ...first, input: { threshold: 3 }, updatedAt: start + 1 };
    await kept.saveRule(changed);
    assert.deepEqual(await kept.rules(), [changed, second]);
    assert.equal(await kept.deleteRule(second), true);
    assert.equal(await kept.deleteRule(second), false);
    assert.deepEqual(await kept.rules(), [changed]);
  });

  check("writes the current alerts, and deletes those that never fired", async (store) => {
    const kept = store.alerts;
    const [first, second] = [alert({ state: "pending", firedAt: null }), alert({ state: "pending" })];
    await kept.save({ put: [first, second], remove: [] });
    const fired = { ...first, state: "firing", firedAt: start + 1, summary: "s" } as const;
    await kept.save({ put: [fired], remove: [second.id] });
    assert.deepEqual(await kept.current(start), [fired]);
    assert.deepEqual(await kept.get("a", first.id), fired);
    assert.equal(await kept.get("b", first.id), null);
    assert.equal(await kept.get(null, second.id), null);
  });

  check("lists alerts newest first, of one tenant, in some states, of one rule", async (store) => {
    const kept = store.alerts;
    const over = { state: "resolved", resolvedAt: start + hour } as const;
    const [one, two, three] = [alert(over), alert({ rule: "dead-letters" }), alert({ tenantId: null })];
    await kept.save({ put: [one], remove: [] });
    await kept.save({ put: [two], remove: [] });
    await kept.save({ put: [three], remove: [] });
    const listed = async (query: object) => idsOf((await kept.list({ ...all, ...query })).rows);
    assert.deepEqual(await listed({}), idsOf([three, two, one]));
    assert.deepEqual(await listed({ tenantId: "a" }), idsOf([two, one]));
    assert.deepEqual(await listed({ states: ["resolved", "pending"] }), idsOf([one]));
    assert.deepEqual(await listed({ rule: "dead-letters" }), idsOf([two]));
    const page = await kept.list({ ...all, page: { ...firstPage, limit: 2 } });
    assert.deepEqual(idsOf(page.rows), idsOf([three, two]));
    assert.deepEqual(await listed({ page: { ...firstPage, before: page.next } }), idsOf([one]));
  });

  check("lists alerts that are active or ended recently, and deletes old ones", async (store) => {
    const kept = store.alerts;
    const ended = (resolvedAt: number) => alert({ state: "resolved", resolvedAt });
    const [open, late, old] = [alert(), ended(start + hour), ended(start)];
    await kept.save({ put: [open, late, old], remove: [] });
    const current = await kept.current(start);
    assert.deepEqual(new Set(idsOf(current)), new Set(idsOf([open, late])));
    assert.deepEqual(await kept.forget(start + 1, 1), { changed: 1, more: true });
    assert.deepEqual(await kept.forget(start + 1, 1), { changed: 0, more: false });
    assert.equal((await kept.list(all)).rows.length, 2);
  });

  check("keeps one mute of a key, until it ends", async (store) => {
    const kept = store.alerts;
    await kept.saveMute({ key: "k", until: start, reason: null });
    const mute = { key: "k", until: start + hour, reason: "at night" };
    await kept.saveMute(mute);
    await kept.saveMute({ key: "old", until: start - 1, reason: null });
    await kept.forget(start, 10);
    assert.deepEqual(await kept.mutes(), [mute]);
  });
};
