import assert from "node:assert/strict";
import { Counts } from "../../../src/domain/statistics/counts.ts";
import { addFact, type Fact, keys } from "../../../src/domain/statistics/facts.ts";
import type { BucketRow } from "../../../src/domain/statistics/open-buckets.ts";
import type { Store } from "../../../src/ports/store.ts";
import type { StatisticsBatch, StatisticsQuery } from "../../../src/ports/store/statistics.ts";
import {
  commit,
  day,
  hour,
  minute,
  noLease,
  only,
  publish,
  publishCommand,
  runToEnd,
  settlement,
  start,
} from "./scene.fixture.ts";
import type { StoreTheme } from "./store.suite.ts";

const writer = 2 ** 47 + 11;
const unwritten = { from: 0, since: start };

function fact(more: Partial<Fact> = {}): Fact {
  return {
    kind: "delivery",
    at: start,
    tenant: "oak",
    subject: "webhook-1",
    keys: [keys.accepted],
    amount: 0,
    ...more,
  };
}

function row(accepted: number, more: Partial<BucketRow> = {}): BucketRow {
  const counts = new Counts();
  counts.add(keys.accepted, accepted);
  return {
    kind: "delivery",
    start,
    tenant: "oak",
    subject: "webhook-1",
    part: 0,
    countedTo: 1,
    counts: counts.pack(),
    ...more,
  };
}

/** The counts of one commit. */
export function batch(more: Partial<StatisticsBatch> = {}): StatisticsBatch {
  return {
    writer,
    number: 1,
    at: start,
    settled: [],
    published: [],
    rows: [],
    writtenTo: 0,
    unwritten,
    ...more,
  };
}

/** Publishes an event that counts as one accepted attempt, because that requires no lease. */
function publishing(store: Store, number: number, more: Partial<StatisticsBatch> = {}): Promise<unknown> {
  const published = [{ accepted: [fact()], duplicate: fact({ subject: "again" }) }];
  return commit(store, {
    publishes: [publishCommand({ event: { tenantId: "oak" }, deliveries: [] })],
    statistics: batch({ number, published, ...more }),
  });
}

type Read = readonly (readonly [
  at: number,
  tenant: string | null,
  subject: string | null,
  accepted: number,
])[];

async function read(store: Store, more: Partial<StatisticsQuery> = {}): Promise<Read> {
  const page = await store.statistics.read({
    kind: "delivery",
    step: "minute",
    from: start,
    to: start + hour,
    limit: 1_000,
    of: { level: "subjects", tenantId: "oak", subjects: null },
    ...more,
  });
  return page.rows
    .map(({ start: at, tenantId, subject, counts }) => {
      return [at - start, tenantId, subject, Counts.unpack(counts).get(keys.accepted)] as const;
    })
    .toSorted((left, right) => String(left).localeCompare(String(right)));
}

async function sumOf(store: Store, more: Partial<StatisticsQuery> = {}): Promise<number> {
  return (await read(store, { of: { level: "all" }, ...more })).reduce(
    (sum, [, , , count]) => sum + count,
    0,
  );
}

const rolledUp = async (store: Store, endedBefore: number): Promise<void> => {
  await runToEnd(() => store.statistics.rollUp(endedBefore, 1));
};

export const statistics: StoreTheme = (check) => {
  check("rows are read by webhook, by tenant and in total, and a tenant's only for itself", async (store) => {
    const rows = [
      row(1),
      row(2, { subject: "webhook-2" }),
      row(3, { subject: null }),
      row(4, { tenant: null, subject: null }),
      row(5, { tenant: "elm", subject: "webhook-3" }),
      row(6, { start: start + minute }),
    ];
    await commit(store, { statistics: batch({ rows }) });
    const own = [
      [0, "oak", "webhook-1", 1],
      [0, "oak", "webhook-2", 2],
      [minute, "oak", "webhook-1", 6],
    ];
    assert.deepEqual(await read(store), own);
    const of = (subjects: string[], tenantId: string | null = "oak") => ({
      of: { level: "subjects" as const, tenantId, subjects },
    });
    assert.deepEqual(await read(store, of(["webhook-2", "unknown"])), [own[1]]);
    assert.deepEqual(await read(store, of(["webhook-3"])), []);
    assert.deepEqual(await read(store, of(["webhook-3", "webhook-2"], null)), [
      [0, "elm", "webhook-3", 5],
      own[1],
    ]);
    const named = (...names: readonly (readonly [tenantId: string, subject: string])[]) => ({
      of: {
        level: "named" as const,
        names: names.map(([tenantId, subject]) => ({ tenantId, subject })),
      },
    });
    assert.deepEqual(await read(store, named(["oak", "webhook-2"], ["elm", "webhook-3"])), [
      [0, "elm", "webhook-3", 5],
      own[1],
    ]);
    assert.deepEqual(await read(store, named(["elm", "webhook-2"], ["unknown", "unknown"])), []);
    assert.deepEqual(await read(store, named()), []);
    assert.deepEqual(await read(store, { of: { level: "tenants", tenantIds: null } }), [[0, "oak", null, 3]]);
    assert.deepEqual(await read(store, { of: { level: "tenants", tenantIds: ["elm"] } }), []);
    assert.deepEqual(await read(store, { of: { level: "all" } }), [[0, null, null, 4]]);
    assert.deepEqual(await read(store, { of: { level: "subjects", tenantId: null, subjects: null } }), [
      [0, "elm", "webhook-3", 5],
      ...own,
    ]);
    assert.deepEqual(await read(store, { kind: "event" }), []);
    assert.deepEqual(await read(store, { to: start }), []);
  });

  check(
    "rows that do not fit into a page belong to later buckets, and the page says where they start",
    async (store) => {
      const rows = [
        row(1),
        row(2, { start: start + minute }),
        row(3, { start: start + minute, subject: "webhook-2" }),
      ];
      await commit(store, { statistics: batch({ rows }) });
      const query = { kind: "delivery" as const, step: "minute" as const, from: start, to: start + hour };
      const of = { level: "subjects" as const, tenantId: "oak", subjects: null };
      const page = await store.statistics.read({ ...query, of, limit: 2 });
      assert.deepEqual([page.rows.length, page.next], [1, start + minute]);
      const rest = await store.statistics.read({ ...query, of, from: page.next ?? 0, limit: 2 });
      assert.deepEqual([rest.rows.length, rest.next], [2, null]);
    },
  );

  check(
    "a row replaces the previous one, unless that counted further; writers and parts stay separate",
    async (store) => {
      const write = (rows: readonly BucketRow[], more: Partial<StatisticsBatch> = {}) =>
        commit(store, { statistics: batch({ rows, ...more }) });
      await write([row(1, { countedTo: 4 })]);
      await write([row(2, { countedTo: 5 })]);
      await write([row(9, { countedTo: 3 })]);
      assert.deepEqual(await read(store), [[0, "oak", "webhook-1", 2]]);
      await write([row(10, { part: 1 })]);
      await write([row(100)], { writer: writer + 1 });
      const counts = (await read(store)).map(([, , , count]) => count);
      assert.deepEqual(
        counts.toSorted((a, b) => a - b),
        [2, 10, 100],
      );
    },
  );

  check("leftover counts of a writer are added to its rows once", async (store) => {
    await publishing(store, 1);
    await publishing(store, 2, { rows: [row(1, { countedTo: 1 })], writtenTo: 0 });
    await publishing(store, 3);
    const kept = store.statistics;
    assert.equal((await kept.progress()).unwrittenSince, start);
    assert.deepEqual(await kept.recover(start), { changed: 0, more: false });
    await runToEnd(() => kept.recover(start + 1));
    assert.deepEqual(await read(store), [[0, "oak", "webhook-1", 3]]);
    assert.deepEqual(await read(store, { of: { level: "tenants", tenantIds: null } }), [[0, "oak", null, 3]]);
    assert.equal(await sumOf(store), 3);
    assert.equal((await kept.progress()).unwrittenSince, null);
    await runToEnd(() => kept.recover(start + 1));
    assert.equal(await sumOf(store), 3);
  });

  check("a late row of a writer presumed dead replaces what was added for it", async (store) => {
    await publishing(store, 1);
    const kept = store.statistics;
    await runToEnd(() => kept.recover(start + 1));
    await publishing(store, 2, { rows: [row(1, { countedTo: 1 })], writtenTo: 1 });
    assert.deepEqual(await read(store), [[0, "oak", "webhook-1", 1]]);
    await runToEnd(() => kept.recover(start + 1));
    assert.deepEqual(await read(store), [[0, "oak", "webhook-1", 2]]);
  });

  check("counted journal entries are deleted together with writing the rows", async (store) => {
    await publishing(store, 1);
    await publishing(store, 2);
    const all = { tenant: null, subject: null, countedTo: 2 };
    await commit(store, { statistics: batch({ number: 3, rows: [row(2, all)], writtenTo: 2 }) });
    assert.equal((await store.statistics.progress()).unwrittenSince, null);
  });

  check("settlements count when they are written, and not when they are rejected", async (store) => {
    const deliveries = [{ claim: true }, { claim: true }, { claim: true }];
    const { leases } = await publish(store, { deliveries });
    const settlements = [
      settlement(leases[0] ?? noLease),
      settlement(noLease),
      settlement(leases[1] ?? noLease),
      settlement(leases[2] ?? noLease),
    ];
    const settled = [fact(), fact({ subject: "refused" }), fact(), null];
    const result = await commit(store, { settlements, statistics: batch({ settled }) });
    assert.deepEqual(
      result.settled.map(({ kind }) => kind),
      ["written", "lost", "written", "written"],
    );
    const again = settlement(leases[0] ?? noLease);
    await commit(store, { settlements: [again], statistics: batch({ number: 2, settled: [fact()] }) });
    await runToEnd(() => store.statistics.recover(start + 1));
    assert.deepEqual(await read(store), [[0, "oak", "webhook-1", 2]]);
  });

  check("a publish counts as new or as a duplicate", async (store) => {
    const event = { tenantId: "oak", idempotencyKey: "k", fingerprint: "f" };
    const command = () => publishCommand({ event, deliveries: [], dedupUntil: start + day });
    const count = { accepted: [fact()], duplicate: fact({ subject: "again" }) };
    const published = [count, count];
    await commit(store, { publishes: [command(), command()], statistics: batch({ published }) });
    await runToEnd(() => store.statistics.recover(start + 1));
    assert.deepEqual(await read(store), [
      [0, "oak", "again", 1],
      [0, "oak", "webhook-1", 1],
    ]);
  });

  check("minutes add up to hours and hours to days, even when repeated", async (store) => {
    const rows = Array.from({ length: 30 }, (_, index) => [
      row(1, { start: start + index * 7 * minute, subject: `webhook-${index % 3}` }),
      row(1, { start: start + index * 7 * minute, tenant: null, subject: null }),
      row(1, { start: start + index * 7 * minute, kind: "event", tenant: null, subject: null }),
    ]).flat();
    assert.equal((await store.statistics.progress()).countedSince, null);
    await commit(store, { statistics: batch({ rows }) });
    const begun = await store.statistics.progress();
    assert.deepEqual([begun.countedSince, begun.hoursUntil], [start, 0]);
    await rolledUp(store, start + 90 * minute);
    assert.equal((await store.statistics.progress()).hoursUntil, start + hour);
    assert.equal(await sumOf(store, { step: "hour", to: start + day }), 9);
    await rolledUp(store, start + day);
    const hours = { step: "hour" as const, to: start + day };
    assert.equal(await sumOf(store, hours), 30);
    assert.equal(await sumOf(store, { ...hours, kind: "event" }), 30);
    assert.deepEqual(
      (await read(store, hours)).filter(([at]) => at === 0).map(([, , subject, count]) => [subject, count]),
      [
        ["webhook-0", 3],
        ["webhook-1", 3],
        ["webhook-2", 3],
      ],
    );
    assert.equal(await sumOf(store, { step: "day", to: start + day }), 30);
    assert.equal((await store.statistics.progress()).daysUntil, start + day);
  });

  check("old buckets are deleted in portions, each resolution by its own age", async (store) => {
    const at = (index: number) => row(1, { start: start + index * minute, tenant: null, subject: null });
    await commit(store, { statistics: batch({ rows: [0, 1, 2, 3, 4].map(at) }) });
    await rolledUp(store, start + 2 * hour);
    const kept = store.statistics;
    const before = { minute: start + 3 * minute, hour: start, day: start };
    assert.deepEqual(await kept.forget({ before, limit: 2 }), { changed: 2, more: true });
    assert.deepEqual(await kept.forget({ before, limit: 2 }), { changed: 1, more: false });
    assert.equal(await sumOf(store), 2);
    assert.equal(await sumOf(store, { step: "hour" }), 5);
  });

  check("readings of each process are stored by bucket, the last of each bucket", async (store) => {
    const kept = store.statistics;
    const gauge = (more: { start?: number; writer?: number; document: string }) =>
      kept.writeGauges({ step: "minute", start, writer, ...more });
    await gauge({ document: "1" });
    await gauge({ document: "2" });
    await gauge({ document: "3", writer: writer + 1 });
    await gauge({ document: "4", start: start + minute });
    const query = { step: "minute" as const, from: start, to: start + hour, limit: 10 };
    assert.deepEqual((await kept.readGauges(query)).map(({ document }) => document).toSorted(), [
      "2",
      "3",
      "4",
    ]);
    assert.deepEqual(await kept.readGauges({ ...query, from: start + 2 * minute }), []);
    await store.statistics.forget({ before: { minute: start + minute, hour: 0, day: 0 }, limit: 10 });
    assert.deepEqual(
      (await kept.readGauges(query)).map(({ document }) => document),
      ["4"],
    );
  });

  check("counts beyond 32 bits are read back unchanged", async (store) => {
    const counts = new Counts();
    addFact(counts, { keys: [keys.accepted], amount: 2 ** 50 });
    await commit(store, { statistics: batch({ rows: [row(0, { counts: counts.pack() })] }) });
    const query = {
      kind: "delivery" as const,
      step: "minute" as const,
      from: start,
      to: start + hour,
      limit: 9,
    };
    const of = { level: "subjects" as const, tenantId: "oak", subjects: null };
    const { rows } = await store.statistics.read({ ...query, of });
    assert.equal(Counts.unpack(only(rows).counts).get(keys.amount), 2 ** 50);
  });
};
