import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Counts, packFacts, unpackFacts } from "./counts.ts";
import { type Fact, keys, publishFacts, settlementFact } from "./facts.ts";
import { type BucketRow, OpenBuckets, otherTypes } from "./open-buckets.ts";

const start = 1_800_000_000_000;

function fact(more: Partial<Fact> = {}): Fact {
  return {
    kind: "delivery",
    at: start,
    tenant: "oak",
    subject: "w1",
    keys: [keys.accepted],
    amount: 3,
    ...more,
  };
}

const open = () => new OpenBuckets(2);
const nameOf = ({ tenant, subject }: BucketRow) => `${tenant ?? "-"}/${subject ?? "-"}`;
const accepted = ({ counts }: BucketRow) => Counts.unpack(counts).get(keys.accepted);

test("an observation counts for its subject, its tenant and all tenants", () => {
  const buckets = open();
  buckets.add([fact(), fact({ subject: "w2" }), fact({ tenant: "elm", subject: "w3" })], 1, start);
  const rows = buckets.take(start + 60_000, 64);
  assert.deepEqual(Object.fromEntries(rows.map((row) => [nameOf(row), accepted(row)])), {
    "oak/w1": 1,
    "oak/-": 2,
    "-/-": 3,
    "oak/w2": 1,
    "elm/w3": 1,
    "elm/-": 1,
  });
});

test("a webhook's delivery of another tenant's event counts for the event's tenant", () => {
  const buckets = open();
  buckets.add([fact(), fact({ tenant: "elm" })], 1, start);
  const rows = buckets.take(start + 60_000, 64);
  assert.deepEqual(Object.fromEntries(rows.map((row) => [nameOf(row), accepted(row)])), {
    "oak/w1": 2,
    "oak/-": 1,
    "-/-": 2,
    "elm/-": 1,
  });
});

test("a minute without any written rows is not forgotten", () => {
  const buckets = open();
  buckets.add([fact()], 1, start);
  buckets.dropWritten(start + 120_000);
  const rows = buckets.take(start + 120_000, 9);
  buckets.putBack(rows, 1, start);
  assert.equal(buckets.unwrittenSince, start);
});

test("rows are written once a second, longest-unwritten first, up to the limit", () => {
  const buckets = open();
  buckets.add([fact()], 1, start);
  assert.deepEqual(buckets.take(start + 999, 9), []);
  buckets.add([fact({ subject: "w2" })], 2, start + 500);
  const names = (now: number, limit: number) => buckets.take(now, limit).map(nameOf);
  assert.deepEqual(names(start + 1_000, 2), ["oak/w1", "oak/-"]);
  assert.deepEqual(names(start + 1_000, 2), ["-/-"]);
  assert.deepEqual(names(start + 1_499, 9), []);
  assert.deepEqual(names(start + 1_500, 9), ["oak/w2"]);
});

test("a finished minute is written at once", () => {
  const buckets = open();
  buckets.add([fact({ at: start + 59_900 })], 1, start + 59_900);
  assert.equal(buckets.take(start + 60_000, 9).length, 3);
});

test("written rows are marked, and a failed commit removes the mark", () => {
  const buckets = open();
  buckets.add([fact()], 4, start);
  assert.equal(buckets.writtenTo, 3);
  assert.equal(buckets.unwrittenSince, start);
  const rows = buckets.take(start + 1_000, 9);
  assert.deepEqual([buckets.writtenTo, buckets.unwrittenSince], [4, null]);
  buckets.putBack(rows, 4, start);
  assert.deepEqual([buckets.writtenTo, buckets.unwrittenSince], [3, start]);
  assert.deepEqual(buckets.take(start + 1_000, 9).map(nameOf), rows.map(nameOf));
});

test("a clock set back adds rows to an old minute and replaces none", () => {
  const buckets = open();
  const counted = (at: number, now: number) => {
    buckets.add([fact({ at })], 1, now);
    const rows = buckets.take(now + 60_000, 9);
    buckets.dropWritten(now + 120_000);
    return rows[0]?.part;
  };
  assert.equal(counted(start, start), 0);
  assert.equal(counted(start, start), 1);
  assert.equal(counted(start + 60_000, start + 60_000), 0);
  assert.equal(counted(start, start), 2);
});

test("beyond a number of event types of a tenant in a minute, the others share one entry", () => {
  const buckets = open();
  const publish = (eventType: string) => {
    const subject = buckets.subjectOf("oak", eventType, start);
    buckets.add([fact({ kind: "event", subject })], 1, start);
    return subject;
  };
  assert.deepEqual(["a", "b", "c", "a"].map(publish), ["a", "b", otherTypes, "a"]);
  assert.equal(buckets.subjectOf("elm", "c", start), "c");
});

test("property: rows written at any time, plus the unwritten counts, equal what happened", () => {
  const happenings = fc.array(
    fc.record({
      ms: fc.integer({ min: 0, max: 40_000 }),
      subject: fc.constantFrom("w1", "w2"),
      fails: fc.boolean(),
    }),
    { maxLength: 60 },
  );
  fc.assert(
    fc.property(happenings, fc.integer({ min: 1, max: 4 }), (steps, limit) => {
      const buckets = open();
      const stored = new Map<string, { countedTo: number; count: number }>();
      const journal: { commit: number; fact: Fact }[] = [];
      let now = start;
      for (const [index, { ms, subject, fails }] of steps.entries()) {
        now += ms;
        const commit = index + 1;
        const written = { from: buckets.writtenTo + 1, since: buckets.unwrittenSince ?? now };
        const rows = buckets.take(now, limit);
        if (fails) {
          buckets.putBack(rows, written.from, written.since);
          continue;
        }
        for (const row of rows)
          stored.set(`${row.start} ${row.part} ${nameOf(row)}`, {
            countedTo: row.countedTo,
            count: accepted(row),
          });
        const { writtenTo } = buckets;
        while ((journal[0]?.commit ?? Number.POSITIVE_INFINITY) <= writtenTo) journal.shift();
        const happened = fact({ at: now, subject });
        journal.push({ commit, fact: happened });
        buckets.add([happened], commit, now);
        buckets.dropWritten(now);
      }
      const total = (name: string) =>
        [...stored]
          .filter(([key]) => key.endsWith(` ${name}`))
          .reduce((sum, [, { count }]) => sum + count, 0) +
        journal.filter(({ commit, fact: { at, subject } }) => {
          if (!name.endsWith("-") && !name.endsWith(subject)) return false;
          const minute = Math.floor(at / 60_000) * 60_000;
          const rows = [...stored].filter(
            ([key]) => key.startsWith(`${minute} `) && key.endsWith(` ${name}`),
          );
          return commit > Math.max(0, ...rows.map(([, { countedTo }]) => countedTo));
        }).length;
      const happened = steps.filter(({ fails }) => !fails);
      assert.equal(total("-/-"), happened.length);
      assert.equal(total("oak/w1"), happened.filter(({ subject }) => subject === "w1").length);
    }),
  );
});

test("property: stored observations are read back unchanged", () => {
  const kept = fc.record(
    {
      kind: fc.constantFrom("delivery" as const, "event" as const),
      at: fc.nat(4_000_000_000_000),
      tenant: fc.nat(),
      subject: fc.nat(),
      amount: fc.nat(),
      keys: fc.array(fc.nat(5_000), { maxLength: 12 }),
    },
    { noNullPrototype: true },
  );
  fc.assert(
    fc.property(fc.array(kept, { maxLength: 20 }), (facts) =>
      assert.deepEqual(unpackFacts(packFacts(facts, (name) => name)), facts),
    ),
  );
});

test("a failed attempt counts its outcome, status, category and time; a success counts its total time", () => {
  const attempt = {
    id: "a",
    number: 1,
    outcome: "transient" as const,
    receiverStateUnknown: true,
    category: "timeout" as const,
    statusCode: null,
    responseSample: null,
    errorMessage: null,
    durationMs: 0.2,
    scheduledAt: start,
    executedAt: start,
    nextRetryAt: null,
    notes: null,
  };
  const progress = {
    state: "failed" as const,
    attemptCount: 1,
    createdAt: start,
    firstAttemptAt: start,
    dueAt: start,
    reason: null,
    retried: null,
  };
  const settled = {
    tenantId: "oak",
    webhookId: "w1",
    progress,
    attempt,
    settledAt: start,
    bytes: 7,
    isLate: false,
  };
  assert.deepEqual(settlementFact(settled)?.keys, [
    keys.transient,
    keys.statusClass,
    keys.duration,
    keys.unknown,
    keys.category,
    keys.lag,
  ]);
  const success = settlementFact({
    ...settled,
    progress: { ...progress, state: "success" },
    attempt: {
      ...attempt,
      number: 2,
      outcome: "accepted",
      receiverStateUnknown: false,
      category: null,
      statusCode: 204,
    },
  });
  assert.deepEqual(success?.keys, [
    keys.accepted,
    keys.statusClass + 2,
    keys.duration,
    keys.status + 204,
    keys.success,
    keys.total,
  ]);
  assert.equal(
    settlementFact({ ...settled, attempt: null, progress: { ...progress, state: "failed" } }),
    null,
  );
  const givenUp = { ...settled, attempt: null, progress: { ...progress, state: "exhausted" as const } };
  assert.deepEqual(settlementFact(givenUp)?.keys, [keys.exhausted]);
  assert.equal(settlementFact({ ...givenUp, isLate: true }), null, "its end was counted before");
});

test("an event without a receiver counts as unmatched, and a skipped delivery counts for its webhook", () => {
  const event = { tenantId: "oak", eventType: "a", at: start };
  assert.deepEqual(publishFacts({ ...event, deliveries: 0, skipped: [] })[0]?.keys, [
    keys.published,
    keys.unmatched,
  ]);
  const facts = publishFacts({ ...event, deliveries: 2, skipped: ["w1"] });
  assert.deepEqual(
    facts.map(({ kind, subject, amount }) => [kind, subject, amount]),
    [
      ["event", "a", 2],
      ["delivery", "w1", 0],
    ],
  );
});
