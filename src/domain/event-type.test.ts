import assert from "node:assert/strict";
import { test } from "node:test";
import { eventTypePatternPattern, isEventTypeName, isSystemEventType, matches } from "./event-type.ts";

test("TS16-44 TS16-45 names are dotted words of at most 128 characters", () => {
  for (const name of ["a", "order.created", "Order_2.v1.X", "x".repeat(128), "posthorn.test"]) {
    assert.equal(isEventTypeName(name), true, name);
  }
  for (const name of [
    "",
    ".",
    "a.",
    ".a",
    "a..b",
    "a b",
    "a-b",
    "a.*",
    "*",
    "é",
    "a\n",
    "a.b\n",
    "x".repeat(129),
  ]) {
    assert.equal(isEventTypeName(name), false, JSON.stringify(name));
  }
});

const patterns = new RegExp(eventTypePatternPattern, "u");

test("patterns are names, prefixes ending in `.*`, or `*` alone", () => {
  for (const pattern of ["*", "a", "a.*", "a.b.*", "posthorn.*"]) assert.match(pattern, patterns);
  for (const pattern of ["", "**", ".*", "a*", "*.a", "a.*.b", "a.**", "*.*"])
    assert.doesNotMatch(pattern, patterns);
});

test("WDS-43 WDS-82 TS16-115 a webhook gets the types that it names, and those below a prefix", () => {
  const table: readonly (readonly [pattern: string, type: string, expected: boolean])[] = [
    ["order.created", "order.created", true],
    ["order.created", "order.created.late", false],
    ["order.created", "Order.created", false],
    ["order.*", "order.created", true],
    ["order.*", "order.item.added", true],
    ["order.*", "order", false],
    ["order.*", "orders.created", false],
    ["*", "order.created", true],
    ["*", "posthorn.test", false],
    ["posthorn.*", "posthorn.webhook.disabled", true],
    ["posthorn.test", "posthorn.test", true],
    ["*", "posthorn", true],
    ["*", "posthornx.y", true],
  ];
  for (const [pattern, type, expected] of table)
    assert.equal(matches(pattern, type), expected, `${pattern} ${type}`);
  assert.equal(isSystemEventType("posthorn.test"), true);
  assert.equal(isSystemEventType("posthorn"), false);
});
