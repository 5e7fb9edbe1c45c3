import assert from "node:assert/strict";
import type { AlertRecord } from "../../../src/features/alerts/alert.ts";
import type { NotificationChannel } from "../../../src/features/notifications/notification.ts";
import type { AuditEntry } from "../../../src/ports/store/audit.ts";
import type { NewNotification } from "../../../src/ports/store/notifications.ts";
import { newOperationDefaults } from "../../../src/ports/store/operations.ts";
import type { NewPortalSession } from "../../../src/ports/store/portal.ts";
import type { EventType } from "../../../src/ports/store/registry.ts";
import type { Store } from "../../../src/ports/store.ts";
import { SearchBudget } from "../../../src/ports/clock.ts";
import { firstPage, idsOf, minute, newId, start } from "./scene.fixture.ts";
import type { StoreTheme } from "./store.suite.ts";

/** Strings that could be confused with the syntax of a list of strings, or with null. */
const oddTexts = ["NULL", "", " ", "{}", "a,b", '"', "\\", '\\"', "ä\n\u{1f600}", "'; --", "[null]"];

async function auditIds(store: Store, filter: object, limit = 100) {
  const everything = { tenantId: null, actor: null, action: null, target: null, from: null, to: null };
  const budget = new SearchBudget({ monotonicMs: () => 0 }, { rowsMax: 1_000_000, durationMsMax: 1_000 });
  const page = await store.audit.search({ filter: { ...everything, ...filter }, after: null, limit, budget });
  return { ids: idsOf(page.rows), next: page.next };
}

function auditEntry(action: string, name: string, target: string | null): AuditEntry {
  const key = { keyId: "key-1", keyName: name, role: "manage", sessionId: null, reference: null } as const;
  return {
    id: newId(),
    at: start,
    tenantId: target === null ? null : "a",
    actor: { kind: "api_key", ...key },
    action,
    route: "PATCH /v1/webhooks/{id}",
    target: { type: "webhook", id: target },
    changes: {},
    address: null,
    requestId: "req-1",
  };
}

function alert(fields: Partial<AlertRecord>): AlertRecord {
  const told = { firedToldAt: null, resolvedToldAt: null, inhibitedBy: null };
  const times = { since: start, lastHeldAt: start, firedAt: start, resolvedAt: null };
  const about = { rule: "Rule", ruleTenantId: null, title: "t", summary: "s", webhookId: null, subject: "x" };
  return {
    ...{ ...told, ...times, ...about },
    ...{ id: newId(), severity: "warning", audience: "operator", tenantId: null, state: "firing" },
    ...{ value: 1, threshold: 0 },
    ...fields,
  };
}

function message(tenantId: string | null, key: string): NewNotification {
  const content = {
    subject: "s",
    text: "t",
    facts: [],
    severity: "info",
    link: null,
    resolves: false,
  } as const;
  const about = { channelId: "c1", topic: "failing", group: "w1", content };
  return { ...about, id: newId(), key, tenantId, createdAt: start, dueAt: start };
}

function channel(tenantId: string | null, name: string): NotificationChannel {
  const [times, off] = [
    { createdAt: start, updatedAt: start },
    { webhookId: null, sealedKey: null },
  ];
  const rules = { topics: ["failing"], frequency: "immediate", quietHours: null, webhookIds: null } as const;
  const reader = { kind: "email", address: "ada@example.com", timeZone: "UTC", language: "en" } as const;
  return { ...times, ...off, ...rules, ...reader, id: newId(), tenantId, name, enabled: true };
}

function session(id: number, reference: string | null): NewPortalSession {
  const none = { webhookIds: null, theme: null, redeemedAt: null, endedAt: null };
  const life = { createdAt: start, expiresAt: start + minute, codeExpiresAt: start + minute };
  const access = { tenantId: "acme", capabilities: [], origin: null, locale: null };
  return { ...none, ...life, ...access, id: `session-${id}`, reference, codeHash: `code-${id}` };
}

function eventType(tenantId: string, name: string): EventType {
  const about = { description: "", schema: null, examples: [], deprecated: false };
  return { ...about, tenantId, name, createdAt: start, updatedAt: start };
}

/** Nulls, upper and lower case, and values exactly at a limit. Databases are most likely to differ here. */
export const documentEdges: StoreTheme = (check) => {
  check(
    "filters of the audit log compare case, know no wildcards, and skip what is absent",
    async (store) => {
      const entries = [
        auditEntry("webhook.update", "Ada_1", "w1"),
        auditEntry("Webhook.update", "ADA_1", "W1"),
        auditEntry("webhook%", "Ada%1", null),
      ];
      for (const entry of entries) await store.audit.append(entry);
      const [lower, upper, odd] = idsOf(entries);
      const found = async (filter: object) => (await auditIds(store, filter)).ids;
      assert.deepEqual(await found({ action: "webhook" }), [lower]);
      assert.deepEqual(await found({ action: "webhook%" }), [odd]);
      assert.deepEqual(await found({ actor: "ADA_1" }), [upper]);
      assert.deepEqual(await found({ actor: "Ada%1" }), [odd]);
      assert.deepEqual(await found({ target: "w1" }), [lower]);
      assert.deepEqual(await found({ tenantId: "a" }), [upper, lower]);
      assert.deepEqual(await auditIds(store, {}, 3), { ids: [odd, upper, lower], next: null });
      assert.notEqual((await auditIds(store, {}, 2)).next, null);
    },
  );

  check("pages that end with the last row have no next one", async (store) => {
    const alerts = [alert({}), alert({ tenantId: "a", rule: "rule" }), alert({ tenantId: "A" })];
    for (const each of alerts) await store.alerts.save({ put: [each], remove: [] });
    const list = (query: object, limit: number) =>
      store.alerts.list({ tenantId: null, states: [], rule: null, ...query, page: { ...firstPage, limit } });
    const newest = idsOf(alerts.toReversed());
    assert.deepEqual(await list({}, 3), { rows: alerts.toReversed(), next: null });
    assert.equal(typeof (await list({}, 2))?.next, "number");
    assert.deepEqual(idsOf((await list({ tenantId: "A" }, 3))?.rows ?? []), newest.slice(0, 1));
    assert.deepEqual(idsOf((await list({ rule: "rule" }, 3))?.rows ?? []), newest.slice(1, 2));
    assert.deepEqual((await list({ states: ["resolved"] }, 3))?.rows, []);
    const base = {
      ...newOperationDefaults,
      priority: null,
      before: null,
      requestsPerSecond: 1,
      total: 1,
    } as const;
    const made = { kind: "cancel", status: "paused", createdAt: start, updatedAt: start } as const;
    for (const tenantId of ["a", null])
      await store.operations.save({
        ...{ ...base, ...made, tenantId, id: newId() },
        selection: { kind: "ids", tenantId, ids: [] },
      });
    const operations = (limit: number) =>
      store.operations.list({ tenantId: null, page: { ...firstPage, limit } });
    const both = await operations(2);
    assert.deepEqual([both.rows.map(({ tenantId }) => tenantId), both.next], [[null, "a"], null]);
    const [first] = (await operations(1)).rows;
    assert.equal(first?.tenantId, null);
  });

  check("the operator comes before tenants, and tenants in the order of their bytes", async (store) => {
    const owners = ["b", null, "B", "a"];
    for (const tenantId of owners) {
      const channels = [channel(tenantId, "one"), channel(tenantId, "two")];
      await store.notifications.saveChannels({ tenantId, channels });
    }
    const stored = (await store.notifications.channels()).map((each) => each.channel);
    assert.deepEqual(
      stored?.map(({ tenantId, name }) => `${tenantId} ${name}`),
      [null, "B", "a", "b"].flatMap((tenantId) => [`${tenantId} one`, `${tenantId} two`]),
    );
    await store.notifications.saveChannels({ tenantId: null, channels: [] });
    assert.equal((await store.notifications.channels()).length, 6);

    await store.notifications.enqueue(owners.map((tenantId) => message(tenantId, `of ${tenantId}`)));
    const lease = { now: start, leaseUntil: start + minute, leaseOwner: "h", limit: 1 };
    const turns: (string | undefined)[] = [];
    for (const turn of ["operator", { after: "" }, { after: "B" }, { after: "a" }, { after: "b" }] as const) {
      const claim = { ...lease, turn, channels: { ids: [], isRest: true } };
      const [first, ...more] = await store.notifications.claim(claim);
      assert.deepEqual(more, [], "not more than the limit");
      turns.push(first?.key);
    }
    assert.deepEqual(turns, ["of null", "of B", "of a", "of b", undefined]);
  });

  check("messages keep odd texts, and no text is taken for null", async (store) => {
    const sent = oddTexts.map((text) => message(null, text));
    await store.notifications.enqueue(sent);
    const lease = { now: start, leaseUntil: start + minute, leaseOwner: "NULL", limit: 100 };
    await store.notifications.claim({ ...lease, channels: { ids: oddTexts, isRest: true } });
    const outcomes = sent.map(({ id, key }) => {
      const error = key === "" ? null : key;
      return { id, state: "failed" as const, attempts: 1, dueAt: start, at: start + 1, error, eventId: null };
    });
    await store.notifications.settle(outcomes, "NULL");
    const query = { tenantId: null, channelId: null, state: null, page: { ...firstPage, limit: 100 } };
    const rows = (await store.notifications.list(query)).rows;
    const errors = new Map(rows.map(({ key, error }) => [key, error]));
    assert.deepEqual(errors, new Map(oddTexts.map((text) => [text, text === "" ? null : text])));
    assert.ok(
      rows.every(({ state, endedAt, eventId }) => state === "failed" && endedAt === start + 1 && !eventId),
    );
    const counters = oddTexts.map((subject) => ({ subject, since: start }));
    for (const counter of counters.slice(1)) await store.notifications.count(counter);
    const counts = await store.notifications.counts(counters);
    assert.deepEqual(counts, [0, ...counters.slice(1).map(() => 1)]);
    assert.deepEqual(await store.notifications.counts([]), []);
  });

  check("sessions end by their reference in its case, and those without one do not", async (store) => {
    const references = ["ada", "Ada", null, "null"];
    for (const [at, reference] of references.entries())
      await store.portal.createSession(session(at, reference));
    const end = (reference: string) => store.portal.endSessions({ tenantId: "acme", reference, at: start });
    assert.deepEqual(await end("Ada"), ["session-1"]);
    assert.deepEqual(await end(""), []);
    assert.deepEqual(await end("null"), ["session-3"]);
    assert.equal(await store.portal.countSessions("acme", start + minute - 1), 2);
    assert.equal(await store.portal.countSessions("acme", start + minute), 0, "over at the end");
  });

  check("event types are listed in the order of their bytes, up to the limit", async (store) => {
    const names = ["b", "B", "a", "A.b"];
    for (const name of names) await store.registry.saveEventType(eventType("acme", name));
    await store.registry.saveEventType(eventType("Acme", "z"));
    const page = async (limit: number, after: { tenantId: string; name: string } | null) => {
      const query = { tenantId: null, after, offset: 0, limit, bytesMax: 1_000_000 };
      const { rows, next } = await store.registry.eventTypePage(query);
      return { names: rows.map(({ tenantId, name }) => `${tenantId} ${name}`), next: next?.name ?? null };
    };
    const all = ["Acme z", "acme A.b", "acme B", "acme a", "acme b"];
    assert.deepEqual(await page(5, null), { names: all, next: null });
    assert.deepEqual(await page(4, null), { names: all.slice(0, 4), next: "a" });
    assert.deepEqual(await page(9, { tenantId: "acme", name: "B" }), { names: all.slice(3), next: null });
    assert.equal(await store.registry.eventType({ tenantId: "acme", name: "Z" }), null);
  });

  check("lists without anything find nothing", async (store) => {
    const search = { now: start, after: null, limit: 10 };
    const filter = { tenantId: null, webhookIds: null, states: null };
    for (const more of [{ states: [] }, { webhookIds: [] }]) {
      const page = await store.problems.search({ ...search, filter: { ...filter, ...more } });
      assert.deepEqual([page?.rows, page?.next], [[], null]);
    }
    assert.deepEqual(await store.webhooks.some([]), []);
    assert.equal((await store.gateway.heldCounts({ connectionIds: [], countMax: 9 })).size, 0);
    const counts = await store.gateway.heldCounts({ connectionIds: oddTexts, countMax: 9 });
    assert.deepEqual(counts, new Map(oddTexts.map((id) => [id, 0])));
    await store.gateway.settleHeld([]);
    await store.gateway.addRequests([]);
    await store.notifications.appendEvents([]);
    await store.notifications.enqueue([]);
    await store.notifications.rememberAddresses(null, []);
    await store.alerts.save({ put: [], remove: [] });
  });
};
