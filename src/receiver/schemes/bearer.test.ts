import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { cryptos } from "../crypto/cryptos.fixture.ts";
import type { ReceivedMessage, Verification } from "../message/message.ts";
import { ReceiverError } from "../receiver-error.ts";
import { prepareBearerVerifier } from "./plain-credentials.ts";
import { type Headers, received, signedAt, strangeMessages } from "./signed-messages.fixture.ts";

const [, crypto] = cryptos[0] ?? assert.fail();
const tokens = { shop: ["s3cret-token", "older.token"], bank: "bank~token+/==" };
const strict = prepareBearerVerifier(crypto, { tokens });
const lenient = prepareBearerVerifier(crypto, { tokens, allowQueryParameter: true });

function verify(message: ReceivedMessage, verifier = strict): Verification {
  const result = verifier.verify(message, { nowSeconds: signedAt });
  assert.ok(!(result instanceof Promise));
  return result;
}

function causeOf(headers: Headers, more: { readonly url?: string; readonly lenient?: boolean } = {}): string {
  const message = received(headers, { url: more.url ?? "/hooks" });
  const result = verify(message, more.lenient === true ? lenient : strict);
  return result.kind === "verified" ? result.producer : result.cause;
}

describe("bearer tokens", () => {
  test("EDS-11.3-2 CEW-3.1-1 a known token in Authorization identifies its producer", () => {
    assert.deepEqual(verify(received({ authorization: "Bearer s3cret-token" })), {
      kind: "verified",
      scheme: "bearer",
      producer: "shop",
      messageId: null,
      timestampSeconds: null,
      // The token authenticates the whole request, so the idempotency key is authentic too.
      isKeyAuthentic: true,
    });
    assert.equal(causeOf({ authorization: "bearer   older.token" }), "shop");
    assert.equal(causeOf({ authorization: "BEARER bank~token+/==" }), "bank");
  });

  const refused: readonly (readonly [authorization: string, cause: string])[] = [
    ["", "missing_header"],
    ["Bearer s3cret-tokem", "bad_token"],
    ["Bearer s3cret-toke", "bad_token"],
    ["Bearer s3cret-token2", "bad_token"],
    ["Bearer S3CRET-TOKEN", "bad_token"],
    ["Bearer", "malformed_header"],
    ["Bearer ", "malformed_header"],
    ["Bearer s3cret-token older.token", "malformed_header"],
    ["Bearer s3cret-token, Bearer older.token", "malformed_header"],
    ["Bearers3cret-token", "malformed_header"],
    ["Basic czNjcmV0LXRva2Vu", "malformed_header"],
    ["s3cret-token", "malformed_header"],
    ["Bearer caf\u00e9", "malformed_header"],
    [`Bearer ${"x".repeat(5000)}`, "malformed_header"],
  ];
  for (const [authorization, cause] of refused) {
    test(`EDS-11.3-1 "${authorization.slice(0, 40)}": ${cause}`, () => {
      assert.equal(causeOf({ authorization }), cause);
    });
  }

  test("CEW-3.2-1 CEW-3.2-2 the query may contain a token if that is allowed, with other parameters", () => {
    const url = "/hooks?x=1&access_token=bank%7Etoken%2B%2F%3D%3D&p=q";
    assert.equal(causeOf({}, { url, lenient: true }), "bank");
    assert.equal(causeOf({}, { url: `https://a.example${url}#f`, lenient: true }), "bank");
    assert.equal(causeOf({}, { url: "/?access_token=wrong", lenient: true }), "bad_token");
    assert.equal(causeOf({}, { url: "/?access_token=", lenient: true }), "bad_token");
    assert.equal(causeOf({}, { url: "/?x_access_token=s3cret-token", lenient: true }), "missing_header");
    assert.equal(causeOf({}, { url: "/#?access_token=s3cret-token", lenient: true }), "missing_header");
  });

  test("CEW-3.2-5 the query is not read unless that is allowed", () => {
    assert.equal(causeOf({}, { url: "/?access_token=s3cret-token" }), "missing_header");
  });

  test("a message has one token", () => {
    const url = "/?access_token=s3cret-token";
    assert.equal(causeOf({}, { url: `${url}&access_token=older.token`, lenient: true }), "malformed_header");
    assert.equal(
      causeOf({ authorization: "Bearer s3cret-token" }, { url, lenient: true }),
      "malformed_header",
    );
  });

  test("a rejection never repeats the token", () => {
    for (const [authorization] of refused) {
      const result = verify(received({ authorization }));
      assert.ok(result.kind === "rejected" && !/s3cret|older|czNj/i.test(result.detail));
    }
  });

  test("the verifier answers any hostile input", () => {
    fc.assert(
      fc.property(strangeMessages({ authorization: "Bearer s3cret-token" }), (message) => {
        for (const verifier of [strict, lenient]) {
          const result = verify(message, verifier);
          assert.ok(result.kind === "verified" || result.detail !== "");
        }
      }),
    );
  });

  test("tokens that cannot be sent are rejected at once", () => {
    for (const unusable of ["", [], {}, "two words", "caf\u00e9", "line\nbreak", { "": "x" }]) {
      assert.throws(() => prepareBearerVerifier(crypto, { tokens: unusable }), ReceiverError);
    }
  });
});
