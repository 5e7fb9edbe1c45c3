import assert from "node:assert/strict";
import { suite, test } from "node:test";
import {
  compileFilter,
  masked,
  notKept,
  type PartlyKnownMessage,
  type TraceStep,
} from "../../../src/domain/filter.ts";
import { gatewayOutcomes } from "../../../src/features/gateway/relayed.ts";
import { rejectionCauses } from "../../../src/receiver/message/message.ts";
import { conditionInWords, countInWords, explanationOf, mayBeRetried, verdictInWords } from "./wording.ts";

const request = { outcome: "rejected", status: 401, scheme: null, event_id: null } as const;

suite("explanations of gateway requests", () => {
  test("every rejection cause of the kit and the gateway has its own sentence and a remedy", () => {
    const own = [
      "source_inactive",
      "method_not_allowed",
      "payload_too_large",
      "empty_body",
      "loop",
      "idempotency_key_malformed",
      "rate_limited",
      "no_handshake",
    ];
    const all = [...rejectionCauses, ...own].map((cause) =>
      explanationOf({ ...request, rejection_cause: cause }),
    );
    assert.equal(new Set(all.map(({ sentence }) => sentence)).size, all.length);
    for (const { sentence, remedy } of all) assert.ok(remedy !== null, sentence);
  });

  test("every outcome has a sentence, and messages of unverified sources are not called authentic", () => {
    for (const outcome of gatewayOutcomes)
      assert.match(explanationOf({ ...request, outcome, rejection_cause: null }).sentence, /^[A-Z].*\.$/);
    const taken = { ...request, outcome: "accepted", status: 202, rejection_cause: null } as const;
    assert.match(explanationOf({ ...taken, scheme: "github" }).sentence, /authentic/);
    assert.doesNotMatch(explanationOf({ ...taken, scheme: "none" }).sentence, /authentic/);
    const reused = explanationOf({ ...request, status: 422, rejection_cause: null });
    assert.match(reused.sentence, /a different body/);
  });

  test("requests without an event can be retried if they may succeed now", () => {
    assert.equal(mayBeRetried(request), true);
    assert.equal(mayBeRetried({ ...request, status: 413 }), false);
    assert.equal(mayBeRetried({ ...request, outcome: "failed", status: 503 }), true);
    assert.equal(mayBeRetried({ ...request, outcome: "accepted", status: 202, event_id: "e" }), false);
  });
});

/** The wording that describes how a filter was evaluated for this message. */
function wordsOf(filter: object): readonly string[] {
  const trace: TraceStep[] = [];
  const message: PartlyKnownMessage = {
    body: { n: 7 },
    query: notKept,
    path: "/a",
    headers: { "x-event": "issues", "authorization": masked },
  };
  compileFilter(filter).examine(message, trace);
  return trace.map(conditionInWords);
}

suite("texts of filter trials", () => {
  test("every operator has its own text without the operator symbol", () => {
    const operators = ["$eq", "$neq", "$gt", "$gte", "$lt", "$lte", "$startsWith", "$endsWith"];
    const rules = [
      ...operators.map((operator) => ({ path: { [operator]: "/b" } })),
      { path: { $in: ["/b"] } },
      { path: { $nin: ["/b"] } },
      { path: { $exist: true } },
      { path: { $exist: false } },
      { $not: { path: "/x" } },
      { $or: [{ path: "/x" }] },
    ];
    const words = rules.map((rule) => wordsOf(rule).at(-1) ?? "");
    assert.equal(new Set(words).size, words.length);
    for (const sentence of words) assert.ok(!sentence.includes("$"), sentence);
  });

  test("a condition shows the actual value, or why it is unknown", () => {
    assert.deepEqual(wordsOf({ body: { n: { $gt: 9 }, m: 1 }, query: { a: "1" } }), [
      "must be more than 9, is 7",
      "must be 1, is missing",
      'must be "1", is not stored',
    ]);
    assert.deepEqual(wordsOf({ headers: { authorization: { $eq: "x", $exist: false } } }), [
      'must be "x", is masked in the log',
      "must be absent, is present",
    ]);
  });

  test("every result of a trial has a text", () => {
    assert.equal(verdictInWords({ matches: true, rule: null }), "it would be forwarded.");
    assert.equal(verdictInWords({ matches: false, rule: "body.n" }), "it would be filtered out by body.n.");
    assert.match(verdictInWords({ matches: null, rule: null }), /^the result is unknown/);
    const counts = { matched: 63, examined: 91, not_examined: 5, not_routed: 4 };
    assert.match(
      countInWords(counts),
      /^63 of the last 100 would be forwarded\. 5 are unknown.* 4 did not reach a filter/,
    );
    const known = { ...counts, examined: 100, not_examined: 0, not_routed: 0 };
    assert.equal(countInWords(known), "63 of the last 100 would be forwarded.");
    const none = { matched: 0, examined: 0, not_examined: 0, not_routed: 0 };
    assert.equal(countInWords(none), "This source has received no requests yet.");
  });
});
