import assert from "node:assert/strict";
import { test } from "node:test";
import { byText, differencesOf } from "./history-wording.ts";

const entries = [
  { revision: 4, changes: { timeout_ms: { from: 5_000, to: 10_000 }, secret: {} } },
  { revision: 3, changes: { url: { from: "https://b", to: "https://c" } } },
  {
    revision: 2,
    changes: { timeout_ms: { from: 10_000, to: 5_000 }, url: { from: "https://a", to: "https://b" } },
  },
  { revision: 1, changes: { url: { to: "https://a" } } },
];

test("two revisions differ by the combined changes between them", () => {
  assert.deepEqual(differencesOf(entries, { from: 1, to: 2 }), [
    { field: "timeout_ms", before: 10_000, after: 5_000 },
    { field: "url", before: "https://a", after: "https://b" },
  ]);
  assert.deepEqual(
    differencesOf(entries, { from: 1, to: 4 }),
    [
      { field: "url", before: "https://a", after: "https://c" },
      { field: "secret", before: undefined, after: undefined },
    ],
    "a reverted change is not a difference, and a secret shows only its name",
  );
  assert.deepEqual(differencesOf(entries, { from: 0, to: 1 }), [
    { field: "url", before: undefined, after: "https://a" },
  ]);
});

test("of a group of settings, only the differing ones are listed", () => {
  const change = { from: { timeout_ms: null, schedule: null }, to: { timeout_ms: 5_000, schedule: null } };
  assert.deepEqual(differencesOf([{ revision: 2, changes: { retry_config: change } }], { from: 1, to: 2 }), [
    { field: "retry_config.timeout_ms", before: null, after: 5_000 },
  ]);
});

test("the actor is shown by name, or as Posthorn if there is none", () => {
  assert.equal(byText({ by: null }), "Posthorn");
  assert.equal(byText({ by: { kind: "api_key", key_name: "deploy", reference: null } }), "deploy");
  const session = { kind: "portal_session", key_name: null, reference: "ada@acme.example" };
  assert.equal(byText({ by: session }), "portal session, for ada@acme.example");
});
