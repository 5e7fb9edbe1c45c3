import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { unicodeText } from "../../../test/services/unicode-text.fixture.ts";
import { profiles } from "../profiles/index.ts";
import {
  customHeaderLimits,
  isReservedHeader,
  judgeCustomHeaders,
  maskedField,
  maskedParameters,
  reservedHeaderNames,
  reservedHeaderPrefixes,
} from "./request-headers.ts";

function codes(headers: Readonly<Record<string, unknown>>): string[] {
  return judgeCustomHeaders(headers).map((problem) => problem.code);
}

describe("custom headers", () => {
  test("ordinary headers are accepted", () => {
    const headers = {
      "X-Custom-Header": "value",
      "x-api-key": 'k3y; with="all" sorts, of {printable} ~characters~',
      Accept: "application/json",
      "X-Empty": "",
      "X-Latin": "Zoë",
      "!#$%&'*+-.^_`|~09": "every token character",
      Origin: "https://example.com",
      Hostname: "not host",
      Contents: "not content-",
      Tea: "not te",
      Webhook: "not webhook-",
    };
    assert.deepEqual(judgeCustomHeaders(headers), []);
    assert.deepEqual(judgeCustomHeaders({}), []);
  });

  // Repeated here instead of imported: reserved names, and names that can change the framing or the route of a request.
  const reserved = [
    "webhook-id",
    "webhook-timestamp",
    "webhook-signature",
    "webhook-anything",
    "webhook-",
    "webhook-request-origin",
    "webhook-request-rate",
    "webhook-request-callback",
    "x-webhook-id",
    "x-webhook-signature",
    "x-webhook-event",
    "x-webhook-attempt",
    "idempotency-key",
    "x-idempotency-key",
    "signature",
    "signature-input",
    "content-type",
    "content-length",
    "content-encoding",
    "content-digest",
    "content-anything",
    "host",
    "authorization",
    "proxy-authorization",
    "proxy-connection",
    "connection",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "expect",
    "cookie",
    "cookie2",
    "set-cookie",
    "user-agent",
    "x-forwarded-for",
    "x-forwarded-host",
    "forwarded",
    "via",
    "x-real-ip",
    "x-http-method-override",
    "accept-encoding",
    "traceparent",
    "tracestate",
    "ce-id",
    "ce-type",
  ];
  for (const name of reserved) {
    test(`${name} is reserved in any case`, () => {
      for (const spelling of [
        name,
        name.toUpperCase(),
        name.replaceAll(/\b[a-z]/g, (c) => c.toUpperCase()),
      ]) {
        assert.deepEqual(codes({ [spelling]: "x" }), ["reserved"], spelling);
        assert.ok(isReservedHeader(spelling));
      }
    });
  }

  test("TS16-37 headers that only the producer may send cannot be configured, in any case", () => {
    for (const name of ["Webhook-ID", "webhook-timestamp", "WEBHOOK-SIGNATURE", "Idempotency-Key"])
      assert.deepEqual(
        judgeCustomHeaders({ [name]: "x" }).map(({ code }) => code),
        ["reserved"],
        name,
      );
  });

  test("every header that a profile sends is reserved", () => {
    for (const { name, headers, migrationHeaders } of profiles)
      for (const header of [...headers, ...migrationHeaders])
        assert.ok(isReservedHeader(header.name), `${name}: ${header.name}`);
  });

  test("the lists are in lower case, because names are compared in lower case", () => {
    for (const entry of [...reservedHeaderNames, ...reservedHeaderPrefixes]) {
      assert.equal(entry, entry.toLowerCase());
    }
  });

  for (const name of [
    "",
    " ",
    "a b",
    "a:",
    ":path",
    ":authority",
    "a\r\nHost",
    "a\u0000",
    "ä",
    "a(b)",
    'a"b',
    "a/b",
    "a@b",
    "a,b",
    "webhook-id ",
    " host",
    "host\t",
    "ho\u017ft",
  ]) {
    test(`name ${JSON.stringify(name)} is rejected`, () => {
      assert.deepEqual(codes({ [name]: "x" }), ["name_syntax"]);
    });
  }

  for (const value of [
    "a\r\nHost: evil",
    "a\nb",
    "a\rb",
    "a\u0000b",
    "a\tb",
    "\u001f",
    "\u007f",
    "\u0080",
    "\u009f",
    "€",
    "😀",
    "\u010a",
    "\ud83d",
    " a",
    "a ",
    " ",
  ]) {
    test(`value ${JSON.stringify(value)} is rejected`, () => {
      assert.deepEqual(codes({ "X-A": value }), ["value_characters"]);
    });
  }

  for (const value of [undefined, null, 1, true, ["a"], {}]) {
    test(`value ${JSON.stringify(value)} is not text`, () => {
      assert.deepEqual(codes({ "X-A": value }), ["value_not_text"]);
    });
  }

  test("values at the limits are accepted, values beyond are not", () => {
    assert.deepEqual(codes({ ["a".repeat(128)]: "x" }), []);
    assert.deepEqual(codes({ ["a".repeat(129)]: "x" }), ["name_too_long"]);
    assert.deepEqual(codes({ "X-A": "x".repeat(2048) }), []);
    assert.deepEqual(codes({ "X-A": "x".repeat(2049) }), ["value_too_long"]);
    const numbered = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`X-${index}`, "v"]));
    assert.deepEqual(codes(numbered(32)), []);
    assert.deepEqual(codes(numbered(33)), ["too_many"]);
    // Four headers. Each name has 3 bytes, and each header has 4 bytes of separators.
    const filled = (lastBytes: number) => ({
      "X-1": "v".repeat(2041),
      "X-2": "v".repeat(2041),
      "X-3": "v".repeat(2041),
      "X-4": "v".repeat(lastBytes),
    });
    assert.deepEqual(codes(filled(2041)), []);
    assert.deepEqual(codes(filled(2042)), ["total_too_long"]);
    assert.equal(customHeaderLimits.totalBytesMax, 8192);
  });

  test("the same name in two cases is a problem", () => {
    assert.deepEqual(judgeCustomHeaders({ "X-A": "1", "x-a": "2" }), [
      { header: "x-a", code: "duplicate", detail: "the same header appears in a different case" },
    ]);
  });

  test("all problems are listed, each with its header", () => {
    const problems = judgeCustomHeaders({ Host: "a\nb", "X-Good": "1", "b d": 5 });
    assert.deepEqual(
      problems.map(({ header, code }) => [header, code]),
      [
        ["Host", "reserved"],
        ["Host", "value_characters"],
        ["b?d", "name_syntax"],
        ["b?d", "value_not_text"],
      ],
    );
  });

  test("problems never repeat a value and are printable", () => {
    fc.assert(
      fc.property(unicodeText(), (text) => {
        const value = `canary-7f3a\n${text}`;
        for (const problem of judgeCustomHeaders({ [text]: value, "X-A": value })) {
          assert.ok(!JSON.stringify(problem).includes("canary-7f3a"));
          assert.match(problem.header ?? "", /^[\x21-\x7e]{0,128}$/);
        }
      }),
    );
  });

  test("every accepted header is accepted unchanged by the platform's Headers", () => {
    const name = fc.string({ minLength: 1, maxLength: 6, unit: "binary-ascii" });
    const value = fc.string({
      maxLength: 6,
      unit: fc.nat(300).map((code) => String.fromCharCode(code)),
    });
    fc.assert(
      fc.property(name, value, (key, text) => {
        if (judgeCustomHeaders({ [key]: text }).length > 0) return;
        assert.equal(new Headers([[key, text]]).get(key), text);
      }),
      { numRuns: 2000 },
    );
  });
});

test("query parameters that may be credentials are masked in every URL", () => {
  for (const [given, shown] of [
    ["https://a.test/h?a=1&access_token=x.y%20z&b=2", "https://a.test/h?a=1&access_token=***&b=2"],
    ["/h?sig=abc", "/h?sig=***"],
    ["/h?X-Amz-Signature=abc#id_token=t", "/h?X-Amz-Signature=***#id_token=***"],
    ['<https://a.test/?api_key=1>; rel="next"', '<https://a.test/?api_key=***>; rel="next"'],
    ["/h?acces%73_token=1", "/h?acces%73_token=***"],
    ["/h?code=1&key=2&barcode=3&keyboard=4", "/h?code=***&key=***&barcode=3&keyboard=4"],
    ["/h?%zz=1&token=", "/h?%zz=1&token=***"],
  ] as const)
    assert.equal(maskedParameters(given), shown);
});

test("fields that may be credentials are masked, others only lose such parameters", () => {
  for (const name of [
    "set-cookie",
    "authorization",
    "x-auth-token",
    "proxy-authenticate",
    "x-api-key",
    "signature",
  ])
    assert.equal(maskedField(name, "s3cret"), "***");
  assert.equal(maskedField("location", "/in?token=1"), "/in?token=***");
  assert.equal(maskedField("retry-after", "30"), "30");
});
