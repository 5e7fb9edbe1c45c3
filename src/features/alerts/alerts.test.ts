import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { alertKey, type AlertObservation, type AlertRecord, type AlertRule, nextRecord } from "./alert.ts";
import { defaultAlertRules, dueMessages, inhibitorOf, messageEveryMs } from "./default-rules.ts";

const minute = 60_000;
const observation: AlertObservation = {
  tenantId: "acme",
  webhookId: "w1",
  subject: "w1",
  value: 1,
  summary: "it is so",
};
let made = 0;
const nextId = (): string => `alert-${++made}`;
const first = defaultAlertRules[0] as AlertRule;
const rule: AlertRule = { ...first, forMs: 2 * minute, keepFiringForMs: minute };

/** Returns the state after each minute. `holds` says for each minute whether the rule's condition was true. */
function walk(holds: readonly boolean[], of: AlertRule = rule): readonly (string | null)[] {
  let record: AlertRecord | null = null;
  return holds.map((held, at) => {
    const seen = held ? observation : null;
    record = nextRecord(record, of, seen, at * minute, nextId);
    return record === null ? null : record.state;
  });
}

suite("the states of an alert", () => {
  test("it is pending until its condition has lasted long enough, and then fires", () => {
    assert.deepEqual(walk([true, true, true, true]), ["pending", "pending", "firing", "firing"]);
  });

  test("an alert that ends before it fires leaves no trace", () => {
    assert.deepEqual(walk([true, true, false, true]), ["pending", "pending", null, "pending"]);
  });

  test("an alert without a duration fires at once", () => {
    assert.deepEqual(walk([true], { ...rule, forMs: 0 }), ["firing"]);
  });

  test("it keeps firing through a short calm, and ends after a longer one", () => {
    const calm = { ...rule, forMs: 0, keepFiringForMs: 2 * minute };
    assert.deepEqual(walk([true, false, true, false, false, false], calm), [
      "firing",
      "firing",
      "firing",
      "firing",
      "resolved",
      "resolved",
    ]);
  });
});

function firing(of: Partial<AlertRecord> = {}): AlertRecord {
  const record = nextRecord(null, { ...rule, forMs: 0 }, observation, 0, nextId);
  assert.ok(record !== null);
  return { ...record, ...of };
}

suite("notifications of alerts", () => {
  const told = (records: readonly AlertRecord[], now: number, mutes = {}) =>
    dueMessages(records, { rules: [], mutes: [], now, ...mutes }).map(({ group, fired, resolved }) => ({
      group,
      fired: fired.map(({ id }) => id),
      resolved: resolved.map(({ id }) => id),
    }));

  test("alerts of a tenant are one message", () => {
    const records = [firing({ id: "a" }), firing({ id: "b" }), firing({ id: "c", tenantId: "birch" })];
    assert.deepEqual(told(records, minute), [
      { group: "operator:acme", fired: ["a", "b"], resolved: [] },
      { group: "operator:birch", fired: ["c"], resolved: [] },
    ]);
  });

  test("a group is notified once in five minutes, then of everything new", () => {
    const records = [firing({ id: "a", firedToldAt: minute }), firing({ id: "b" })];
    assert.deepEqual(told(records, 2 * minute), []);
    assert.deepEqual(told(records, minute + messageEveryMs), [
      { group: "operator:acme", fired: ["b"], resolved: [] },
    ]);
  });

  test("the end is announced once, to those notified of the start", () => {
    const over = { state: "resolved", resolvedAt: 2 * minute } as const;
    const records = [
      firing({ id: "told", ...over, firedToldAt: minute }),
      firing({ id: "not told", ...over }),
      firing({ id: "done", ...over, firedToldAt: minute, resolvedToldAt: 2 * minute }),
    ];
    assert.deepEqual(told(records, 20 * minute), [{ group: "operator:acme", fired: [], resolved: ["told"] }]);
  });

  test("a muted alert is announced when the mute ends", () => {
    const record = firing({ id: "a" });
    const mutes = [{ key: alertKey(record), until: 10 * minute, reason: null }];
    assert.deepEqual(told([record], 9 * minute, { mutes }), []);
    assert.equal(told([record], 10 * minute, { mutes }).length, 1);
    const rules = [{ ...rule, mutedUntil: 10 * minute }];
    assert.deepEqual(told([record], 9 * minute, { rules }), []);
  });

  test("an alert explained by another one is not announced", () => {
    const store = firing({ rule: "store-away", webhookId: null });
    const circuit = firing({ rule: "circuit-opened" });
    const rate = firing({ rule: "success-rate" });
    const elsewhere = firing({ rule: "success-rate", webhookId: "w2" });
    assert.equal(inhibitorOf(rate, [store, rate]), "store-away");
    assert.equal(inhibitorOf(rate, [circuit, rate]), "circuit-opened");
    assert.equal(inhibitorOf(elsewhere, [circuit, elsewhere]), null);
    assert.equal(inhibitorOf(rate, [{ ...circuit, state: "resolved" }, rate]), null);
    assert.deepEqual(told([{ ...rate, inhibitedBy: "circuit-opened" }], minute), []);
  });
});

test("built-in rules have distinct names", () => {
  assert.equal(new Set(defaultAlertRules.map(({ name }) => name)).size, defaultAlertRules.length);
});
