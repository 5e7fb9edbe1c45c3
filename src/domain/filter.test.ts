import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { InvalidRequestError } from "./errors.ts";
import { compileFilter, type FilteredMessage } from "./filter.ts";

const message: FilteredMessage = {
  body: { action: "opened", n: 7, labels: ["bug", "ui"], nested: { deep: { x: null } }, text: "order-42" },
  headers: { "x-github-event": "issues" },
  query: { test: "1" },
  path: "/shop/orders",
};

const passes = (filter: object) => compileFilter(filter)(message) === null;

suite("filters", () => {
  test("each operator accepts exactly what its description says", () => {
    const cases: readonly (readonly [object, boolean])[] = [
      [{ body: { action: "opened" } }, true],
      [{ body: { action: "closed" } }, false],
      [{ body: { action: { $neq: "closed" } } }, true],
      [{ body: { action: { $in: ["opened", "closed"] } } }, true],
      [{ body: { action: { $nin: ["opened"] } } }, false],
      [{ body: { n: { $gt: 6, $lt: 8 } } }, true],
      [{ body: { n: { $gte: 8 } } }, false],
      [{ body: { n: { $lte: 7 } } }, true],
      [{ body: { n: { $gt: "6" } } }, false],
      [{ body: { text: { $startsWith: "order-" } } }, true],
      [{ body: { text: { $endsWith: "-43" } } }, false],
      [{ body: { labels: "bug" } }, true],
      [{ body: { labels: { $in: ["none"] } } }, false],
      [{ body: { "labels": { 0: "bug" } } }, true],
      [{ body: { missing: { $exist: false } } }, true],
      [{ body: { nested: { deep: { x: { $exist: true } } } } }, true],
      [{ body: { nested: { deep: { x: null } } } }, true],
      [{ body: { toString: { $exist: true } } }, false],
      [{ headers: { "x-github-event": "issues" }, path: { $startsWith: "/shop" } }, true],
      [{ query: { test: "2" } }, false],
      [{ $or: [{ query: { test: "2" } }, { body: { n: 7 } }] }, true],
      [{ $and: [{ query: { test: "2" } }, { body: { n: 7 } }] }, false],
      [{ $not: { body: { n: 7 } } }, false],
      [{ body: { n: { $not: { $gt: 9 } } } }, true],
      [{ body: { n: { $or: [1, { $gt: 6 }] } } }, true],
      [{}, true],
    ];
    for (const [filter, expected] of cases) assert.equal(passes(filter), expected, JSON.stringify(filter));
  });

  test("the rejecting rule is named", () => {
    assert.equal(compileFilter({ body: { n: { $gt: 9 } } })(message), "body.n.$gt");
    assert.equal(compileFilter({ body: { action: "x" } })({ ...message, body: undefined }), "body.action");
  });

  test("an invalid filter is rejected, with the position", () => {
    const cases: readonly (readonly [unknown, string])[] = [
      [[], ""],
      [{ bodies: {} }, ".bodies"],
      [{ body: { a: { $regex: ".*" } } }, ".body.a.$regex"],
      [{ body: { a: { $constructor: 1 } } }, ".body.a.$constructor"],
      [{ body: { a: [1] } }, ".body.a"],
      [{ body: { a: { $in: 3 } } }, ".body.a.$in"],
      [{ body: { a: { $gt: null } } }, ".body.a.$gt"],
      [{ $or: [] }, ".$or"],
      [{ $or: [3] }, ".$or[0]"],
    ];
    for (const [filter, place] of cases)
      assert.throws(
        () => compileFilter(filter),
        (error) => error instanceof InvalidRequestError && error.fields[0]?.field === place,
        JSON.stringify(filter),
      );
  });

  test("size and depth of filters are limited", () => {
    const deep = (levels: number): object => (levels === 0 ? { x: 1 } : { x: deep(levels - 1) });
    assert.throws(() => compileFilter({ body: deep(20) }), InvalidRequestError);
    const many = Object.fromEntries(Array.from({ length: 600 }, (_, index) => [`a${index}`, 1]));
    assert.throws(() => compileFilter({ body: many }), InvalidRequestError);
  });
});
