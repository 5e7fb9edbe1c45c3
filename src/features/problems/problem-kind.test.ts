import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { unicodeText } from "../../../test/services/unicode-text.fixture.ts";
import { fingerprint, problemIdOf, problemKind } from "./problem.ts";

const failure = {
  category: "client_error",
  statusCode: 422,
  responseSample: null,
  errorMessage: null,
} as const;

test("responses that differ only in numbers and ids are of one kind", () => {
  const same = [
    ["order 4711 is not known", "order 12 is not known"],
    ['{"error":"x","request_id":"req_8fA01"}', '{"error":"x","request_id":"req_77bc2"}'],
    ["user 0198c3f2-7a4e-7c11-9d3e-5b0a6f1e2d3c", "user 11111111-2222-3333-4444-555555555555"],
    ["at 2026-01-31T09:30:00.123Z, ada@example.com", "at 2027-02-01T10:31:01.456Z, bob@example.org"],
    ["\n\n  first\tline \r\nsecond", "first line\nanother"],
  ];
  for (const [one = "", other = ""] of same) assert.equal(fingerprint(one), fingerprint(other), one);
  assert.equal(fingerprint("order 4711 is not known"), "order # is not known");
  assert.notEqual(fingerprint("order is not known"), fingerprint("user is not known"));
  assert.equal(fingerprint(" \r\n "), null);
});

test("property: a fingerprint is one short line without digits and control characters, and its own fingerprint", () => {
  fc.assert(
    fc.property(unicodeText({ maxLength: 2_000 }), (text) => {
      const found = fingerprint(text);
      if (found === null) return;
      assert.ok(found.length <= 160);
      assert.doesNotMatch(found, /[0-9\p{Cc}]/u);
    }),
  );
});

test("without a response the error and its code are used", () => {
  const refused = "connect ECONNREFUSED 127.0.0.1:4000";
  const kind = problemKind({
    category: "network",
    statusCode: null,
    responseSample: null,
    errorMessage: refused,
  });
  assert.deepEqual(kind, {
    category: "network",
    statusCode: null,
    errorCode: "ECONNREFUSED",
    answer: "connect ECONNREFUSED #",
  });
  assert.equal(problemKind({ ...failure, category: null }), null);
  assert.equal(
    problemKind({ ...failure, errorMessage: "redirect to /x was not followed" })?.answer,
    "redirect to /x was not followed",
  );
});

test("an id is a UUID of its webhook and kind", () => {
  const kind = problemKind(failure);
  assert.ok(kind !== null);
  const id = problemIdOf("w1", kind);
  assert.match(id, /^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
  assert.equal(problemIdOf("w1", { ...kind }), id);
  for (const other of [{ statusCode: 400 }, { answer: "x" }, { category: "timeout" }] as const)
    assert.notEqual(problemIdOf("w1", { ...kind, ...other }), id);
  assert.notEqual(problemIdOf("w2", kind), id);
});
