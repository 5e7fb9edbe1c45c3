import assert from "node:assert/strict";
import type { AttemptRecord, DeliveryProgress } from "../../../src/domain/delivery.ts";
import type { Store } from "../../../src/ports/store.ts";
import type { EventSummary, StoredDelivery } from "../../../src/ports/store/history.ts";
import {
  type DeliveryFilter,
  type DeliverySearch,
  type EventFilter,
  type EventSearch,
  everyDelivery,
  everyEvent,
  type SearchPage,
} from "../../../src/ports/store/search.ts";
import { SearchBudget } from "../../../src/ports/clock.ts";
import { deliveryOrders } from "../../../src/resources/delivery.ts";
import { seededNumbers } from "../../services/seeded-numbers.fixture.ts";
import {
  commit,
  hour,
  idsOf,
  lane,
  newAttempt,
  newDelivery,
  newWebhook,
  only,
  progressed,
  publish,
  publishCommand,
  publishSettled,
  requeue,
  runToEnd,
  settlement,
  start,
} from "./scene.fixture.ts";
import { comparedIn, eventFulfils, eventSearchOf, fulfils, isWaiting } from "./search-model.fixture.ts";
import type { StoreTheme } from "./store.suite.ts";

export const searches: StoreTheme = (check) => {
  check(
    "every filter finds exactly its matches, alone and combined, in every order and budget",
    async (store) => {
      const rows = await variedDeliveries(store);
      const random = seededNumbers(7);
      const pick = <Value>(values: readonly Value[]): Value =>
        values[Math.floor(random() * values.length)] as Value;
      for (let round = 0; round < 150; round += 1) {
        const filter = { ...everyDelivery };
        for (let count = Math.floor(random() * 4); count > 0; count -= 1)
          Object.assign(filter, pick(filters));
        const order = pick(deliveryOrders);
        const expected = rows
          .filter((row) => fulfils(row, filter) && (order !== "next_attempt" || isWaiting(row)))
          .toSorted((a, b) => comparedIn(order, a, b));
        const found = await searched(store, {
          filter,
          order,
          limit: pick([1, 7, 250]),
          rowsMax: pick([1, 40, 100_000]),
        });
        assert.deepEqual(idsOf(found), idsOf(expected), `${order} ${JSON.stringify(filter)}`);
      }
    },
  );

  check("a page stops at its budget and says how far it looked; paging reaches the end", async (store) => {
    const { deliveries } = await publish(store, { event: { eventType: "rare.one", createdAt: start } });
    for (let round = 0; round < 3; round += 1) {
      const publishes = Array.from({ length: 1_000 }, (_, index) =>
        publishCommand({ event: { createdAt: start + 1 + round * 1_000 + index } }),
      );
      await commit(store, { publishes });
    }
    const filter = { ...everyDelivery, eventTypes: ["rare.*"] };
    const first = await store.history.searchDeliveries(searchOf({ filter, rowsMax: 1 }));
    assert.deepEqual(first.rows, []);
    assert.equal(first.isCutShort, true);
    const { searchedTo } = first;
    assert.ok(searchedTo !== null && searchedTo > start && searchedTo < start + 3_000, String(searchedTo));
    assert.notEqual(first.next, null);
    assert.deepEqual(
      idsOf(await searched(store, { filter, order: "newest", limit: 5, rowsMax: 1 })),
      idsOf(deliveries),
    );
    const noTime = new SearchBudget({ monotonicMs: () => 0 }, { rowsMax: 1_000_000, durationMsMax: 0 });
    const hasty = await store.history.searchDeliveries({ ...searchOf({ filter }), budget: noTime });
    assert.equal(hasty.isCutShort, true, "a page without any time looks at something and goes on later");
    const whole = await store.history.searchDeliveries(searchOf({ filter }));
    assert.deepEqual([whole.next, whole.searchedTo, whole.isCutShort], [null, null, false]);
  });

  check("a full page says where it ends, and is not cut short", async (store) => {
    const publishes = Array.from({ length: 5 }, (_, index) =>
      publishCommand({ event: { createdAt: start + index } }),
    );
    await commit(store, { publishes });
    const page = await store.history.searchDeliveries(searchOf({ limit: 3 }));
    assert.equal(page.rows.length, 3);
    assert.deepEqual([page.isCutShort, page.searchedTo], [false, start + 2]);
    const exact = await store.history.searchDeliveries(searchOf({ limit: 5 }));
    assert.deepEqual([exact.rows.length, exact.next, exact.isCutShort], [5, null, false]);
  });

  check("a time range is found in a long history, from either end", async (store) => {
    for (let round = 0; round < 5; round += 1) {
      const publishes = Array.from({ length: 1_000 }, (_, index) =>
        publishCommand({ event: { createdAt: start + (round * 1_000 + index) * hour } }),
      );
      await commit(store, { publishes });
    }
    const filter = { ...everyDelivery, from: start + 2_000 * hour, to: start + 2_002 * hour };
    const times = (page: SearchPage<StoredDelivery>) =>
      page.rows.map(({ progress }) => (progress.createdAt - start) / hour);
    const newest = await store.history.searchDeliveries(searchOf({ filter, limit: 2, rowsMax: 5_000 }));
    assert.deepEqual(times(newest), [2_002, 2_001]);
    const oldest = await store.history.searchDeliveries(
      searchOf({ filter, order: "oldest", limit: 2, rowsMax: 5_000 }),
    );
    assert.deepEqual(times(oldest), [2_000, 2_001]);
    const before = { ...everyDelivery, to: start - hour };
    assert.deepEqual((await store.history.searchDeliveries(searchOf({ filter: before }))).rows, []);
  });

  check("a search sees only rows of its tenant, whatever its filters", async (store) => {
    const webhook = newWebhook({ tenantId: "a" });
    await store.webhooks.save(webhook);
    const { event } = await publishSettled(
      store,
      {
        event: { tenantId: "a", idempotencyKey: "key", fingerprint: "f" },
        deliveries: [{ lane: lane(webhook.id) }],
        dedupUntil: start + hour,
      },
      { attempt: newAttempt({ statusCode: 422, errorMessage: "secret text" }) },
    );
    const asked: readonly Partial<DeliveryFilter>[] = [
      {},
      { webhookIds: [webhook.id] },
      { eventId: event.id },
      { idempotencyKey: "key" },
      { eventTypes: ["order.*"] },
      { states: ["success"] },
      { errorText: "secret" },
      { httpStatuses: { codes: [422], classes: [], none: false } },
    ];
    for (const more of asked) {
      for (const order of ["newest", "oldest"] as const) {
        const search = (tenantId: string | null) =>
          store.history.searchDeliveries(
            searchOf({ filter: { ...everyDelivery, ...more, tenantId }, order }),
          );
        assert.equal((await search("a")).rows.length, 1, JSON.stringify(more));
        assert.equal((await search(null)).rows.length, 1, JSON.stringify(more));
        for (const stranger of ["b", "never seen"])
          assert.deepEqual((await search(stranger)).rows, [], JSON.stringify(more));
      }
    }
  });

  check("events are found by every filter, alone and together", async (store) => {
    const made = [];
    for (let index = 0; index < 60; index += 1) {
      const { event } = await publish(store, {
        event: {
          tenantId: index % 3 === 0 ? "b" : "a",
          eventType: types[index % 5] ?? "other",
          source: ["shop", null][index % 2] ?? null,
          createdAt: start + index,
          body: new TextEncoder().encode(`{"text":"n${index % 10} ü"}`),
        },
        deliveries: index % 4 === 0 ? [] : [{}],
      });
      const { body, ...summary } = only(
        [await store.history.getEvent(null, event.id)].filter((row) => row !== null),
      );
      made.push({ summary, body });
    }
    const asked: readonly Partial<EventFilter>[] = [
      {},
      { tenantId: "a" },
      { eventTypes: ["order.*"] },
      { eventTypes: ["*", "posthorn.test"] },
      { eventTypes: ["user"], source: "shop" },
      { source: "never seen" },
      { unmatched: true },
      { unmatched: false, tenantId: "b" },
      { dataContains: "n7 ü" },
      { dataContains: "N7" },
      { from: start + 10, to: start + 20, unmatched: false },
    ];
    for (const filter of asked) {
      const expected = made
        .filter(({ summary, body }) => eventFulfils(summary, { filter: { ...everyEvent, ...filter }, body }))
        .map(({ summary }) => summary)
        .toReversed();
      for (const rowsMax of [1, 1_000]) {
        const found = [];
        for (let after: EventSearch["after"] = null; ; ) {
          const page: SearchPage<EventSummary> = await store.history.searchEvents(
            eventSearchOf({ ...filter, rowsMax, limit: 7, after }),
          );
          found.push(...page.rows);
          if (page.next === null) break;
          after = page.next;
        }
        assert.deepEqual(found, expected, JSON.stringify(filter));
      }
    }
  });

  check(
    "a key finds its event while the event is stored, and the newest if the key was used again",
    async (store) => {
      const keyed = (createdAt: number) => ({
        event: { idempotencyKey: "k", fingerprint: String(createdAt), createdAt },
        dedupUntil: createdAt + hour,
      });
      const first = await publishSettled(store, keyed(start), {});
      const found = async (tenantId: string | null) =>
        idsOf((await store.history.searchEvents(eventSearchOf({ idempotencyKey: "k", tenantId }))).rows);
      await store.upkeep.forgetKeys(start + 5 * hour, 100);
      assert.deepEqual(await found(null), [first.event.id]);
      assert.deepEqual(await found("default"), [first.event.id]);
      assert.deepEqual(await found("another"), []);
      const second = await publishSettled(store, keyed(start + 5 * hour), {});
      assert.equal(second.result.kind, "accepted", "an expired key is free");
      assert.deepEqual(await found(null), [second.event.id]);
      const forget = (createdBefore: number) =>
        runToEnd(() => store.upkeep.forgetHistory({ createdBefore, now: start + 7 * hour, limit: 100 }));
      await forget(start + 2 * hour);
      assert.equal(await store.history.getEvent(null, first.event.id), null);
      assert.deepEqual(await found(null), [second.event.id], "it goes with its own event alone");
      await forget(start + 7 * hour);
      assert.deepEqual(await found(null), []);
    },
  );

  check("a delivery shows its last attempt", async (store) => {
    const attempt = newAttempt({
      number: 1,
      statusCode: 503,
      outcome: "transient",
      category: "server_error",
    });
    await publishSettled(
      store,
      {},
      { attempt, progress: progressed({ state: "failed", dueAt: start + hour }) },
    );
    const [row] = (await store.history.searchDeliveries(searchOf({}))).rows;
    assert.deepEqual(row?.lastAttempt, attempt);
  });

  check("deliveries created later belong to the event of their key", async (store) => {
    const { event } = await publish(store, {
      event: { idempotencyKey: "key", fingerprint: "f" },
      dedupUntil: start + hour,
    });
    const later = newDelivery({ origin: "replay", lane: lane("another") });
    await requeue(store, { eventId: event.id, deliveries: [later] });
    await publish(store, {});
    const filter = { ...everyDelivery, idempotencyKey: "key" };
    assert.equal((await store.history.searchDeliveries(searchOf({ filter }))).rows.length, 2);
    const both = { ...filter, eventId: event.id };
    assert.equal((await store.history.searchDeliveries(searchOf({ filter: both }))).rows.length, 2);
    const unknown = { ...everyDelivery, idempotencyKey: "another key" };
    assert.deepEqual((await store.history.searchDeliveries(searchOf({ filter: unknown }))).rows, []);
  });
};

type SearchTerms = Partial<Pick<DeliverySearch, "filter" | "order" | "after" | "limit">> & {
  readonly rowsMax?: number;
};

function searchOf(terms: SearchTerms): DeliverySearch {
  const { filter = everyDelivery, order = "newest", after = null, limit = 100, rowsMax = 1_000_000 } = terms;
  const budget = new SearchBudget({ monotonicMs: () => 0 }, { rowsMax, durationMsMax: 1 });
  return { filter, order, after, limit, budget };
}

/** The rows of all pages, in order. */
async function searched(
  store: Store,
  terms: SearchTerms & { readonly limit: number },
): Promise<readonly StoredDelivery[]> {
  const found: StoredDelivery[] = [];
  let after: DeliverySearch["after"] = null;
  do {
    const page: SearchPage<StoredDelivery> = await store.history.searchDeliveries(
      searchOf({ ...terms, after }),
    );
    assert.ok(page.rows.length <= terms.limit);
    assert.ok(page.isCutShort || page.next === null || page.rows.length === terms.limit);
    found.push(...page.rows);
    after = page.next;
  } while (after !== null);
  return found;
}

const filters: readonly Partial<DeliveryFilter>[] = [
  { tenantId: "a" },
  { tenantId: "b" },
  { webhookIds: ["w0"] },
  { webhookIds: ["w1", "w2", "never seen"] },
  { eventTypes: ["order.paid"] },
  { eventTypes: ["order.*", "user"] },
  { eventTypes: ["*"] },
  { states: ["pending", "failed"] },
  { states: ["failed"] },
  { states: ["success", "exhausted"] },
  { states: ["exhausted"] },
  { states: [] },
  { categories: ["server_error", "timeout"] },
  { httpStatuses: { codes: [422], classes: [], none: false } },
  { httpStatuses: { codes: [200], classes: [5], none: false } },
  { httpStatuses: { codes: [], classes: [], none: true } },
  { origins: ["test", "replay"] },
  { attemptMin: 1 },
  { attemptMin: 2 },
  { errorText: "ReFuSeD" },
  { errorText: "100%_\\" },
  { from: start + 20 },
  { to: start + 90 },
  { from: start + 30, to: start + 60 },
];

const types = ["order.paid", "order.made.again", "orders", "user", "posthorn.test"];

/** The possible outcomes of a delivery, assigned in sequence. */
const ends: readonly ((attempt: number) => {
  readonly progress: DeliveryProgress;
  readonly attempt: AttemptRecord;
} | null)[] = [
  () => null,
  () => ({ progress: progressed(), attempt: newAttempt() }),
  () => ({
    progress: progressed({ state: "exhausted", reason: "permanent_client_error_422" }),
    attempt: newAttempt({
      outcome: "terminal",
      category: "client_error",
      statusCode: 422,
      responseSample: "100%_\\ no",
    }),
  }),
  (index) => ({
    progress: progressed({ state: "failed", dueAt: start + 10_000 - index }),
    attempt: newAttempt({ outcome: "transient", category: "server_error", statusCode: 503 }),
  }),
  (index) => ({
    progress: progressed({ state: "failed", attemptCount: 2, dueAt: start + 5_000 + index }),
    attempt: newAttempt({
      number: 2,
      outcome: "transient",
      category: "network",
      statusCode: null,
      errorMessage: "connect ECONNREFUSED: refused",
    }),
  }),
];

/** Deliveries of several tenants, webhooks, types and outcomes, as the store shows them. */
async function variedDeliveries(store: Store): Promise<readonly StoredDelivery[]> {
  const ids: string[] = [];
  for (let index = 0; index < 120; index += 1) {
    const end = ends[index % ends.length]?.(index) ?? null;
    const { deliveries, leases } = await publish(store, {
      event: {
        tenantId: index % 4 === 0 ? "b" : "a",
        eventType: types[index % 7] ?? "other",
        createdAt: start + index,
      },
      deliveries: [
        {
          lane: lane(`w${index % 3}`),
          origin: index % 11 === 0 ? "test" : "publish",
          claim: end !== null || index % 2 === 0,
          dueAt: start + 1_000 - index,
        },
      ],
    });
    if (end !== null)
      await commit(store, {
        settlements: leases.map((lease) =>
          settlement(lease, {
            progress: { ...end.progress, createdAt: start + index },
            attempt: end.attempt,
          }),
        ),
      });
    ids.push(only(deliveries).id);
  }
  const rows = await Promise.all(ids.map((id) => store.history.getDelivery(null, id)));
  return rows.filter((row) => row !== null);
}
