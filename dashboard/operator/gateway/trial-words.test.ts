import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { compileFilter, type PartlyKnownMessage, type TraceStep } from "../../../src/core/filter/filter.ts";
import { masked, notKept } from "../../../src/core/filter/unknown.ts";
import { conditionInWords, countInWords, verdictInWords } from "./trial-words.ts";

/** As the server tells of a filter over this message. */
function wordsOf(filter: object): readonly string[] {
  const trace: TraceStep[] = [];
  const message: PartlyKnownMessage = {
    ...{ body: { n: 7 }, query: notKept, path: "/a" },
    headers: { "x-event": "issues", "authorization": masked },
  };
  compileFilter(filter).examine(message, trace);
  return trace.map(conditionInWords);
}

suite("sentences about a filter that was tried", () => {
  test("every operator has words of its own, none shows its sign", () => {
    const operators = ["$eq", "$neq", "$gt", "$gte", "$lt", "$lte", "$startsWith", "$endsWith"];
    const rules = [
      ...operators.map((operator) => ({ path: { [operator]: "/b" } })),
      ...[{ path: { $in: ["/b"] } }, { path: { $nin: ["/b"] } }, { path: { $exist: true } }],
      ...[{ path: { $exist: false } }, { $not: { path: "/x" } }, { $or: [{ path: "/x" }] }],
    ];
    const words = rules.map((rule) => wordsOf(rule).at(-1) ?? "");
    assert.equal(new Set(words).size, words.length);
    for (const sentence of words) assert.ok(!sentence.includes("$"), sentence);
  });

  test("what was found is told, or why nobody knows", () => {
    assert.deepEqual(wordsOf({ body: { n: { $gt: 9 }, m: 1 }, query: { a: "1" } }), [
      "has to be more than 9, and is 7",
      "has to be 1, and is not there",
      'has to be "1", and is not kept (any more)',
    ]);
    assert.deepEqual(wordsOf({ headers: { authorization: { $eq: "x", $exist: false } } }), [
      'has to be "x", and is masked in the log',
      "must not be there, and is there",
    ]);
  });

  test("a message and many requests have a sentence for each way they can end", () => {
    assert.equal(verdictInWords({ matches: true, rule: null }), "it would be sent on.");
    assert.equal(verdictInWords({ matches: false, rule: "body.n" }), "it would be left out, by body.n.");
    assert.match(verdictInWords({ matches: null, rule: null }), /^it cannot be told/);
    const counts = { matched: 63, examined: 91, not_examined: 5, not_routed: 4 };
    assert.match(countInWords(counts), /^63 of the last 100 would be sent on\. Of 5 .* 4 met no filter/);
    const known = { ...counts, examined: 100, not_examined: 0, not_routed: 0 };
    assert.equal(countInWords(known), "63 of the last 100 would be sent on.");
    const none = { matched: 0, examined: 0, not_examined: 0, not_routed: 0 };
    assert.equal(countInWords(none), "Nothing came to this source yet.");
  });
});
