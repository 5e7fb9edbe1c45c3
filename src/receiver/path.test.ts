import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import { unicodeText } from "../../test/services/unicode-text.fixture.ts";
import { buildWebhookPath, parseWebhookPath, WebhookPathError } from "./path.ts";
import type { WebhookPath, WebhookPathParts } from "./path.ts";

const empty: Omit<WebhookPath, "party"> = { namespace: null, version: null, eventType: null, rest: [] };

/** The six URLs in the document, lines 87 to 92. */
const documented: readonly (readonly [address: string, path: WebhookPath])[] = [
  ["/_webhooks/authentiq/v3/callback", { ...empty, party: "authentiq", version: "3", eventType: "callback" }],
  ["/_webhooks/true-id/callback", { ...empty, party: "true-id", eventType: "callback" }],
  ...["1", "2"].flatMap((version) =>
    ["transaction-initiated", "transaction-complete"].map(
      (eventType) =>
        [
          `/_webhooks/transactify/v${version}/${eventType}`,
          { ...empty, party: "transactify", version, eventType },
        ] as const,
    ),
  ),
];

function parsed(address: string, options?: Parameters<typeof parseWebhookPath>[1]): WebhookPath {
  const result = parseWebhookPath(address, options);
  if (result.kind === "invalid") assert.fail(`${address}: ${result.problem}`);
  return result.path;
}

function problemOf(address: string): string {
  const result = parseWebhookPath(address);
  return result.kind === "invalid" ? result.problem : JSON.stringify(result.path);
}

function codeOf(parts: WebhookPathParts): string {
  try {
    return buildWebhookPath(parts);
  } catch (error) {
    assert.ok(error instanceof WebhookPathError);
    return error.code;
  }
}

suite("addresses of inbound webhooks", () => {
  test("TS16-4 TS16-10 the document's six addresses are read and written", () => {
    assert.equal(documented.length, 6);
    for (const [address, path] of documented) {
      assert.deepEqual(parsed(address), path);
      assert.equal(buildWebhookPath(path), address);
    }
  });

  test("TS16-3 the addresses have a separate, configurable prefix", () => {
    assert.equal(problemOf("/api/v1/orders"), "outside_prefix");
    assert.equal(problemOf("/_webhooksx/acme"), "outside_prefix");
    assert.equal(problemOf("/_WEBHOOKS/acme"), "outside_prefix");
    const options = { prefix: "/in/hooks" };
    assert.equal(buildWebhookPath({ party: "acme", version: 1 }, options), "/in/hooks/acme/v1");
    assert.deepEqual(parsed("/in/hooks/acme/v1", options), { ...empty, party: "acme", version: "1" });
  });

  test("TS16-5 an address without a party is a separate problem", () => {
    for (const address of [
      "/_webhooks",
      "/_webhooks/",
      "/_webhooks?party=acme",
      "https://example.com/_webhooks/",
    ])
      assert.equal(problemOf(address), "missing_party", address);
    assert.equal(codeOf({ party: "" }), "missing_party");
    assert.deepEqual(parsed("/_webhooks/acme"), { ...empty, party: "acme" });
  });

  test("TS16-6 with and without a namespace", () => {
    const path = {
      ...empty,
      party: "acme",
      namespace: "payments",
      version: "2",
      eventType: "refund.created",
    };
    assert.deepEqual(parsed("/_webhooks/acme/payments/v2/refund.created"), path);
    assert.equal(buildWebhookPath(path), "/_webhooks/acme/payments/v2/refund.created");
    assert.equal(parsed("/_webhooks/acme/payments/callback").namespace, "payments");
    assert.equal(parsed("/_webhooks/acme/payments/refund").namespace, null);
    const options = { namespaces: ["payments"] };
    assert.deepEqual(parsed("/_webhooks/acme/payments/refund", options), {
      ...empty,
      party: "acme",
      namespace: "payments",
      eventType: "refund",
    });
    assert.equal(
      buildWebhookPath({ party: "acme", namespace: "payments", eventType: "refund" }, options),
      "/_webhooks/acme/payments/refund",
    );
  });

  test("TS16-7 several versions, and none", () => {
    assert.equal(parsed("/_webhooks/acme/v3/receive-event").version, "3");
    assert.equal(parsed("/_webhooks/acme/v4/receive-event").version, "4");
    assert.equal(parsed("/_webhooks/acme/receive-event").version, null);
    assert.equal(parsed("/_webhooks/acme/vat-changed").eventType, "vat-changed");
  });

  test("TS16-12 invented versions such as latest and next", () => {
    assert.deepEqual(parsed("/_webhooks/acme/latest/callback"), {
      ...empty,
      party: "acme",
      version: "latest",
      eventType: "callback",
    });
    assert.equal(buildWebhookPath({ party: "acme", version: "next" }), "/_webhooks/acme/next");
    assert.equal(buildWebhookPath({ party: "acme", version: "v2024-06-01" }), "/_webhooks/acme/v2024-06-01");
    assert.equal(codeOf({ party: "acme", version: "beta" }), "bad_version");
    const options = { versionLabels: ["beta"] };
    assert.equal(buildWebhookPath({ party: "acme", version: "beta" }, options), "/_webhooks/acme/beta");
  });

  test("TS16-8 an event type, the word callback, or neither", () => {
    assert.equal(parsed("/_webhooks/acme/v1/callback").eventType, "callback");
    assert.equal(parsed("/_webhooks/acme/v1/transaction-complete").eventType, "transaction-complete");
    assert.equal(parsed("/_webhooks/acme/v1").eventType, null);
    assert.equal(parsed("/_webhooks/acme/v1/").eventType, null, "one slash at the end means nothing");
  });

  test("TS16-9 further parts are passed on, decoded", () => {
    const address = "/_webhooks/acme/v1/order.changed/42/Z%C3%BCrich%20West";
    const path = {
      ...empty,
      party: "acme",
      version: "1",
      eventType: "order.changed",
      rest: ["42", "Zürich West"],
    };
    assert.deepEqual(parsed(`${address}?token=x#y`), path);
    assert.deepEqual(parsed(`https://hooks.example.com${address}`), path);
    assert.equal(buildWebhookPath(path), address);
  });

  test("parts that could leave the path, or hide in it, are rejected", () => {
    assert.equal(problemOf("/_webhooks/acme//callback"), "empty_segment");
    assert.equal(problemOf("/_webhooks//callback"), "empty_segment");
    assert.equal(problemOf("/_webhooks/acme//"), "empty_segment");
    for (const part of [
      "..",
      ".",
      "%2e%2e",
      "%2E",
      "a%2fb",
      "a%5cb",
      "a\\b",
      "a%00b",
      "a%0ab",
      "%252e%252e",
      "a%e2%80%8bb",
    ])
      assert.equal(problemOf(`/_webhooks/acme/v1/${part}`), "unsafe_segment", part);
    for (const part of ["%", "%zz", "%c3", "%ff%fe"])
      assert.equal(problemOf(`/_webhooks/acme/v1/${part}`), "bad_encoding", part);
    assert.equal(problemOf(`/_webhooks/acme/${"a".repeat(257)}`), "too_long");
    assert.equal(problemOf(`/_webhooks/acme${"/a".repeat(40)}`), "too_long");
    assert.equal(problemOf(`/_webhooks/acme?${"a".repeat(20_000)}`), "too_long");
    for (const part of ["..", "a/b", "a\\b", "a\u0000", "\ud800", ""])
      assert.match(codeOf({ party: "acme", rest: [part] }), /^(un\w+|empty)_segment$/);
  });

  test("ambiguous parts are rejected", () => {
    assert.equal(codeOf({ party: "acme", namespace: "payments" }), "ambiguous");
    assert.equal(codeOf({ party: "acme", eventType: "latest" }), "ambiguous");
    assert.equal(codeOf({ party: "acme", rest: ["42"] }), "ambiguous");
  });

  test("every written address is read back, and every requested path gets a response", () => {
    const part = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 });
    const optional = fc.option(part);
    fc.assert(
      fc.property(part, optional, optional, optional, fc.array(part, { maxLength: 3 }), (party, ...more) => {
        const [namespace, version, eventType, rest] = more;
        const parts = { party, namespace, version, eventType, rest };
        const address = codeOf(parts);
        if (!address.startsWith("/")) return;
        const { version: read, ...others } = parsed(address);
        assert.deepEqual(others, { party, namespace, eventType, rest });
        assert.equal(read === null, version === null);
      }),
    );
    fc.assert(
      fc.property(unicodeText(), (text) => {
        for (const address of [text, `/_webhooks/${text}`, `/_webhooks/a/v1/${text}`])
          parseWebhookPath(address);
      }),
    );
  });
});
