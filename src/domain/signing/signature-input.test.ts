import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { parseSignatures, signatureParams } from "./signature-base.ts";

const signature = "s=:AA==:";

describe("Signature-Input and Signature", () => {
  test("parameters are read, and everything is kept as signed", () => {
    const parsed = parseSignatures(
      's=("@method"  "x";sf);created=1;expires=2;keyid="k";alg="ed25519";nonce="n";tag="t";other=?0',
      signature,
    );
    assert.ok(parsed.kind === "parsed");
    const { input } = parsed.signatures[0] ?? assert.fail();
    assert.deepEqual(input.components, ['"@method"', '"x";sf']);
    const { label, created, expires, keyid, alg, nonce, tag } = input;
    assert.deepEqual(
      [label, created, expires, keyid, alg, nonce, tag],
      ["s", 1, 2, "k", "ed25519", "n", "t"],
    );
    assert.equal(
      signatureParams(input),
      '("@method" "x";sf);created=1;expires=2;keyid="k";alg="ed25519";nonce="n";tag="t";other=?0',
    );
  });

  test("absent parameters are null", () => {
    const parsed = parseSignatures("s=()", signature);
    assert.ok(parsed.kind === "parsed");
    const { created, expires, keyid, alg, nonce, tag } = parsed.signatures[0]?.input ?? assert.fail();
    assert.deepEqual([created, expires, keyid, alg, nonce, tag], [null, null, null, null, null, null]);
  });

  const malformed: readonly (readonly [what: string, signatureInput: string, signature: string])[] = [
    ["no list", "s=1", signature],
    ["a token as component", "s=(a)", signature],
    ["a component twice", 's=("a" "a")', signature],
    ["a component twice, with parameters", 's=("a";sf "a";sf)', signature],
    ["created as a string", 's=("a");created="1"', signature],
    ["created as a decimal", 's=("a");created=1.0', signature],
    ["keyid as a token", 's=("a");keyid=k', signature],
    ["alg as a flag", 's=("a");alg', signature],
    ["another label", "s=()", "t=:AA==:"],
    ["one label more", "s=()", "s=:AA==:, t=:AA==:"],
    ["one input more", "s=(), t=()", "s=:AA==:"],
    ["a signature that is a string", "s=()", 's="AA=="'],
    ["a signature that is not base64", "s=()", "s=:A:"],
    ["broken syntax", "s=(", signature],
    ["broken syntax of the signature", "s=()", "s=:AA=="],
  ];
  for (const [what, signatureInput, value] of malformed) {
    test(`${what} is malformed`, () => {
      assert.equal(parseSignatures(signatureInput, value).kind, "malformed");
    });
  }

  test("more than sixteen signatures are refused", () => {
    const labels = Array.from({ length: 17 }, (_, index) => `s${index}`);
    const fields = (count: number): { signatureInput: string; signature: string } => ({
      signatureInput: labels
        .slice(0, count)
        .map((label) => `${label}=()`)
        .join(", "),
      signature: labels
        .slice(0, count)
        .map((label) => `${label}=:AA==:`)
        .join(", "),
    });
    for (const [count, kind] of [
      [16, "parsed"],
      [17, "malformed"],
    ] as const) {
      const { signatureInput, signature } = fields(count);
      assert.equal(parseSignatures(signatureInput, signature).kind, kind);
    }
  });

  test("no text causes an exception", () => {
    const text = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...Array.from('s=();"a:,1 @')) }));
    fc.assert(
      fc.property(text, text, (signatureInput, value) => {
        const { kind } = parseSignatures(signatureInput, value);
        assert.ok(kind === "parsed" || kind === "malformed");
      }),
    );
  });
});
