import assert from "node:assert/strict";
import { commit, day, lane, publish, publishCommand, start } from "./scene.fixture.ts";
import type { StoreTheme } from "./store.suite.ts";

const keyed = { idempotencyKey: "key-1", fingerprint: "print-1" };

export const publishing: StoreTheme = (check) => {
  check("stores the event as published, with its body byte for byte", async (store) => {
    const body = Uint8Array.from({ length: 300_000 }, (_, index) => index % 251);
    const { event } = await publish(store, {
      event: { body, source: "shop", priority: "high", timestamp: start - 5, ...keyed },
    });
    const stored = await store.history.getEvent("default", event.id);
    const { fingerprint: _, ...visible } = event;
    assert.deepEqual(stored, { ...visible, sequenceNumber: 1, deliveries: 1, position: stored?.position });
  });

  check("keeps the trace position of an event, next to events without a trace", async (store) => {
    const trace = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331", flags: 0 };
    const traces = [null, { ...trace, state: null }, null, { ...trace, flags: 3, state: "congo=t61" }];
    const commands = traces.map((one) => publishCommand({ event: { trace: one } }));
    await commit(store, { publishes: commands });
    const kept = commands.map(async ({ event }) => {
      const stored = await store.history.getEvent(null, event.id);
      return stored?.trace;
    });
    assert.deepEqual(await Promise.all(kept), traces);
  });

  check("distinguishes an empty body from a deleted one", async (store) => {
    const { event } = await publish(store, { event: { body: new Uint8Array(0) } });
    assert.deepEqual((await store.history.getEvent(null, event.id))?.body, new Uint8Array(0));
  });

  check("numbers the events of each tenant from 1", async (store) => {
    const tenants = ["a", "b", "a", "a", "b"];
    const { publishes } = await commit(store, {
      publishes: tenants.map((tenantId) => publishCommand({ event: { tenantId } })),
    });
    const numbers = publishes.map((result) => (result.kind === "accepted" ? result.sequenceNumber : null));
    assert.deepEqual(numbers, [1, 1, 2, 3, 2]);
  });

  check("accepts an event without deliveries", async (store) => {
    const { event, result } = await publish(store, { deliveries: [] });
    assert.equal(result.kind, "accepted");
    assert.equal((await store.history.getEvent(null, event.id))?.deliveries, 0);
  });

  check("leases only requested deliveries, in their order", async (store) => {
    const { leases } = await publish(store, {
      deliveries: [{ claim: true }, { claim: false }, { claim: true, state: "skipped" }, { claim: true }],
    });
    assert.deepEqual(
      leases.map(({ leaseToken }) => leaseToken > 0),
      [true, false, false, true],
    );
    assert.equal(new Set(leases.map(({ ref }) => ref)).size, 4);
  });

  check("answers a repeated key with the first event and writes nothing", async (store) => {
    const dedupUntil = start + day;
    const first = await publish(store, {
      event: { ...keyed, timestamp: start - 7 },
      deliveries: [{}, {}],
      dedupUntil,
    });
    const again = await publish(store, { event: { ...keyed, createdAt: start + 1 }, dedupUntil });
    assert.deepEqual(again.result, {
      kind: "duplicate",
      original: {
        id: first.event.id,
        eventType: "order.created",
        timestamp: start - 7,
        sequenceNumber: 1,
        deliveries: 2,
      },
    });
    assert.equal(await store.history.getEvent(null, again.event.id), null);
    assert.equal((await store.deliveries.depth()).waiting.normal, 2);
    const next = await publish(store);
    assert.equal(next.result.kind === "accepted" && next.result.sequenceNumber, 2);
  });

  check("finds the repeat within one batch", async (store) => {
    const dedupUntil = start + day;
    const { publishes } = await commit(store, {
      publishes: [publishCommand({ event: keyed, dedupUntil }), publishCommand({ event: keyed, dedupUntil })],
    });
    assert.deepEqual(
      publishes.map(({ kind }) => kind),
      ["accepted", "duplicate"],
    );
  });

  check("rejects a key that was used for another payload", async (store) => {
    const first = await publish(store, { event: keyed, dedupUntil: start + day });
    const other = await publish(store, {
      event: { ...keyed, fingerprint: "print-2" },
      dedupUntil: start + day,
    });
    assert.deepEqual(other.result, { kind: "key_conflict", eventId: first.event.id });
  });

  check("keeps keys of tenants separate", async (store) => {
    await publish(store, { event: { ...keyed, tenantId: "a" }, dedupUntil: start + day });
    const other = await publish(store, { event: { ...keyed, tenantId: "b" }, dedupUntil: start + day });
    assert.equal(other.result.kind, "accepted");
  });

  check("accepts a key again after it expires, and stores it anew for its time", async (store) => {
    await publish(store, { event: keyed, dedupUntil: start + day });
    const later = { ...keyed, createdAt: start + day };
    const second = await publish(store, { event: later, dedupUntil: start + 2 * day });
    assert.equal(second.result.kind, "accepted");
    const third = await publish(store, {
      event: { ...later, createdAt: start + day + 1 },
      dedupUntil: start + 2 * day,
    });
    assert.equal(third.result.kind === "duplicate" && third.result.original.id, second.event.id);
  });

  check("stores no key without a time", async (store) => {
    await publish(store, { event: keyed });
    assert.equal((await publish(store, { event: keyed, dedupUntil: start + day })).result.kind, "accepted");
  });

  check("lists the lanes with waiting deliveries, each once, page by page", async (store) => {
    const lanes = [
      lane("w1"),
      lane("w2", "strict"),
      lane("w2", "per_event_type", "a"),
      lane("w2", "per_event_type", "b"),
    ];
    await publish(store, { deliveries: [...lanes, ...lanes].map((key) => ({ lane: key })) });
    await publish(store, { deliveries: [{ lane: lane("skipped"), state: "skipped" }] });
    const seen = [];
    for (let after: string | null = null, more = true; more; ) {
      const page = await store.deliveries.lanesWithWork(after, 3);
      seen.push(...page.lanes);
      after = page.next;
      more = after !== null;
    }
    const byName = (a: object, b: object) => JSON.stringify(a).localeCompare(JSON.stringify(b));
    assert.deepEqual(seen.sort(byName), lanes.sort(byName));
  });

  check("keeps the reason why a delivery was skipped", async (store) => {
    const { deliveries } = await publish(store, {
      deliveries: [{ state: "skipped", reason: "webhook_suspended" }, {}],
    });
    const reasons = deliveries.map(async ({ id }) => {
      const stored = await store.history.getDelivery(null, id);
      return stored?.progress.reason;
    });
    assert.deepEqual(await Promise.all(reasons), ["webhook_suspended", null]);
  });

  check("lists a lane whose only delivery is leased", async (store) => {
    await publish(store, { deliveries: [{ lane: lane("w1"), claim: true }] });
    assert.deepEqual((await store.deliveries.lanesWithWork(null, 10)).lanes, [lane("w1")]);
  });
};
