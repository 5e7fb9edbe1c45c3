import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { compileFilter, Look } from "../../domain/filter.ts";
import { StepBudget, StepsSpentError } from "../../domain/step-budget.ts";
import { receivedHeaders } from "../../receiver/message/message.ts";
import { valueReader } from "../../receiver/presets/value-source.ts";
import { comparedParts } from "./connection-deduplication.ts";
import { filteredHead, MessageReading } from "./incoming.ts";

const bytes = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

/** The evaluation steps of the conditions for a message with this body. */
function stepsOf(filters: readonly object[], body: unknown): number {
  const budget = new StepBudget();
  const look = new Look(budget);
  const message = { body, headers: {}, query: {}, path: "" };
  for (const filter of filters) compileFilter(filter)(message, look);
  return budget.spent;
}

suite("cost of the rules for a message", () => {
  const list = Array.from({ length: 10_000 }, (_, index) => index);
  const condition = (value: number) => ({ body: { list: { $neq: -value } } });

  test("a list is searched once, however many conditions and connections compare it", () => {
    const one = stepsOf([condition(1)], { list });
    const filters = Array.from({ length: 12_000 }, (_, index) => condition(index + 1));
    assert.ok(one >= list.length);
    assert.ok(stepsOf(filters, { list }) <= one + 2 * filters.length);
  });

  test("for a plain value, $in and $nin use a lookup, not a scan", () => {
    const values = Array.from({ length: 500 }, (_, index) => `value ${index}`);
    const filter = { body: { a: { $in: values } } };
    assert.ok(stepsOf([filter], { a: "none" }) <= 600);
  });

  test("rules stop at the budget, and all rules of a message share it", () => {
    const budget = new StepBudget(1_000);
    const reading = new MessageReading(bytes({ a: "x".repeat(10_000), b: list }), budget);
    assert.equal(reading.textAt("/a")?.length, 10_002);
    const filter = compileFilter({ body: { b: 1 } });
    const message = { body: reading.body, headers: {}, query: {}, path: "" };
    assert.throws(() => filter(message, reading.look), StepsSpentError);
  });

  test("deduplication writes each member once", () => {
    const budget = new StepBudget();
    const body = bytes({ a: "x".repeat(16_000) });
    const reading = new MessageReading(body, budget);
    const rule = { windowMs: 1, includeFields: Array.from({ length: 16 }, () => "/a"), excludeFields: null };
    comparedParts(reading, body, rule);
    assert.ok(budget.spent < 2_000, String(budget.spent));
  });

  test("omitted members do not affect later rules", () => {
    const reading = new MessageReading(bytes({ a: { b: 1, c: [1, { d: 2 }] }, e: 3 }));
    assert.equal(reading.textWithout(["/a/c/1/d", "/e"]), '{"a":{"b":1,"c":[1,{}]}}');
    assert.equal(reading.textAt("/a/c/1/d"), "2");
    assert.equal(reading.textWithout([]), '{"a":{"b":1,"c":[1,{"d":2}]},"e":3}');
  });

  test("other work gets a turn after many steps", async () => {
    const budget = new StepBudget();
    const reading = new MessageReading(bytes({}), budget);
    let turns = 0;
    const clock = {
      defer: (callback: () => void) => {
        turns += 1;
        callback();
      },
    };
    await reading.turn(clock);
    assert.equal(turns, 0);
    budget.spend(60_000);
    await reading.turn(clock);
    await reading.turn(clock);
    assert.equal(turns, 1);
  });

  test("filters see the same value of a repeated query parameter as event types and keys", () => {
    const url = "/in/token?type=first&type=second&__proto__=own";
    const message = { method: "POST", url, headers: receivedHeaders([]), body: bytes({}) };
    const { query } = filteredHead([], url, "");
    assert.equal(valueReader(message)({ query: "type" }), "first");
    assert.equal(query["type"], "first");
    assert.deepEqual(new Set(Object.keys(query)), new Set(["type", "__proto__"]));
  });
});
