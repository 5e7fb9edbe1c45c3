import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { describe, test } from "node:test";
import fc from "fast-check";
import { decodeBase64, encodeBase64, encodeBase64Url } from "./base64.ts";

describe("base64", () => {
  test("any bytes are encoded as Buffer encodes them, and decoded again", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const buffer = Buffer.from(bytes);
        assert.equal(encodeBase64(bytes), buffer.toString("base64"));
        assert.equal(encodeBase64Url(bytes), buffer.toString("base64url"));
        assert.deepEqual(decodeBase64(buffer.toString("base64")), bytes);
      }),
    );
  });

  test("only the canonical encoding is accepted", () => {
    const text = fc.string({
      unit: fc.constantFrom(...Array.from("AQgwz019+/=-_ \n\u00e9\u0141")),
      maxLength: 12,
    });
    fc.assert(
      fc.property(text, (given) => {
        const bytes = Buffer.from(given, "base64");
        const isCanonical = bytes.toString("base64") === given;
        assert.deepEqual(decodeBase64(given), isCanonical ? Uint8Array.from(bytes) : null);
      }),
    );
  });

  for (const text of ["A", "AA", "AAA", "A===", "====", "=AAA", "AB==", "AAB=", "AA==AA==", "AA= ", "A-_A"]) {
    test(`${text} is not base64`, () => assert.equal(decodeBase64(text), null));
  }
});
