import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { randomBytes, sign } from "node:crypto";
import { describe, test } from "node:test";
import fc from "fast-check";
import {
  asymmetricSecretText,
  generateEd25519Key,
  generateSymmetricSecret,
  parsePublicKey,
  parseSecret,
  privateKeyObject,
  publicKeyJwk,
  publicKeyText,
  symmetricSecretText,
} from "./signing-key.ts";
import {
  ed25519PrimitiveVector,
  ed25519PublicKeyHex,
  ed25519ThumbprintVector,
  standardWebhooksVectors,
} from "./vectors.fixture.ts";

function encode(bytes: number): string {
  return Buffer.alloc(bytes, 7).toString("base64");
}

/** [text, reason]. */
const refusedSecrets: readonly (readonly [unknown, string])[] = [
  [undefined, "not_text"],
  [null, "not_text"],
  [42, "not_text"],
  ["", "unknown_prefix"],
  [encode(32), "unknown_prefix"],
  [`WHSEC_${encode(32)}`, "unknown_prefix"],
  [` whsec_${encode(32)}`, "unknown_prefix"],
  [`whsec${encode(32)}`, "unknown_prefix"],
  [`whpk_${encode(32)}`, "wrong_key_type"],
  ["whsec_", "not_base64"],
  ["whsec_@@@@ %%%% #### $$$$", "not_base64"],
  [`whsec_${encode(32)}\n`, "not_base64"],
  [`whsec_${encode(32).replace(/=+$/, "")}`, "not_base64"],
  [`whsec_${Buffer.alloc(24, 0xff).toString("base64url")}`, "not_base64"],
  [`whsec_${encode(32).replace(/.=$/, "d=")}`, "not_base64"], // bits set after the last byte
  [`whsec_${encode(1)}`, "too_short"],
  [`whsec_${encode(23)}`, "too_short"],
  [`whsec_${encode(65)}`, "too_long"],
  [`whsk_${encode(31)}`, "wrong_length"],
  [`whsk_${encode(33)}`, "wrong_length"],
  [`whsk_${encode(63)}`, "wrong_length"],
  [`whsk_${encode(65)}`, "wrong_length"],
  [`whsk_${encode(64)}`, "halves_mismatch"],
  ["whsk_***", "not_base64"],
];

describe("secrets", () => {
  for (const [text, reason] of refusedSecrets) {
    test(`${JSON.stringify(text)} is rejected: ${reason}`, () => {
      const parsed = parseSecret(text);
      assert.ok(parsed.kind === "invalid");
      assert.equal(parsed.reason, reason);
    });
  }

  test("an error never repeats key material", () => {
    for (const [text] of refusedSecrets) {
      if (typeof text !== "string" || text.length < 12) continue;
      const material = text.slice(8, 18);
      assert.ok(!JSON.stringify(parseSecret(text)).includes(material));
    }
  });

  for (const bytes of [24, 32, 63, 64]) {
    test(`a shared secret of ${bytes} bytes is read`, () => {
      const parsed = parseSecret(`whsec_${encode(bytes)}`);
      assert.ok(parsed.kind === "symmetric");
      assert.deepEqual(Buffer.from(parsed.bytes), Buffer.alloc(bytes, 7));
    });
  }

  test("every valid shared secret survives conversion to text and back", () => {
    const key = fc.uint8Array({ minLength: 24, maxLength: 64 });
    fc.assert(
      fc.property(key, (bytes) => {
        const parsed = parseSecret(symmetricSecretText(bytes));
        assert.ok(parsed.kind === "symmetric");
        assert.deepEqual([...parsed.bytes], [...bytes]);
      }),
    );
  });

  test("a key has exactly one accepted text", () => {
    const text = fc.string({ unit: fc.constantFrom(...Array.from("ABCDwxyz0189+/=-_ ")) });
    fc.assert(
      fc.property(text, (encoded) => {
        const parsed = parseSecret(`whsec_${encoded}`);
        if (parsed.kind !== "symmetric") return;
        assert.equal(symmetricSecretText(parsed.bytes), `whsec_${encoded}`);
      }),
    );
  });

  test("a secret of 23 or 65 bytes cannot be formatted", () => {
    assert.throws(() => symmetricSecretText(new Uint8Array(23)), RangeError);
    assert.throws(() => symmetricSecretText(new Uint8Array(65)), RangeError);
  });

  test("a generated secret has 32 bytes from the given random source", () => {
    const text = generateSymmetricSecret((bytes) => new Uint8Array(bytes).fill(9));
    assert.equal(text, `whsec_${Buffer.alloc(32, 9).toString("base64")}`);
  });
});

describe("Ed25519 keys", () => {
  const vector = standardWebhooksVectors[2];

  test("the published key pair is read, with and without its public half", () => {
    const pair = Buffer.from(vector.keyHex, "hex");
    for (const bytes of [pair, pair.subarray(0, 32)]) {
      const parsed = parseSecret(`whsk_${bytes.toString("base64")}`);
      assert.ok(parsed.kind === "asymmetric");
      assert.equal(Buffer.from(parsed.publicKey).toString("hex"), ed25519PublicKeyHex);
      assert.equal(asymmetricSecretText(parsed), `whsk_${pair.toString("base64")}`);
    }
  });

  test("one flipped bit in the public half is detected", () => {
    const pair = Buffer.from(vector.keyHex, "hex");
    pair[63] = (pair[63] ?? 0) ^ 1;
    const parsed = parseSecret(`whsk_${pair.toString("base64")}`);
    assert.ok(parsed.kind === "invalid");
    assert.equal(parsed.reason, "halves_mismatch");
  });

  test("a seed gives the key pair and the signature of RFC 9421", () => {
    const { seedHex, publicKeyBase64Url, message, signatureBase64 } = ed25519PrimitiveVector;
    const seed = Buffer.from(seedHex, "hex");
    const parsed = parseSecret(`whsk_${seed.toString("base64")}`);
    assert.ok(parsed.kind === "asymmetric");
    assert.equal(publicKeyJwk(parsed.publicKey).x, publicKeyBase64Url);
    const signature = sign(null, Buffer.from(message), privateKeyObject(parsed.seed));
    assert.equal(signature.toString("base64"), signatureBase64);
  });

  test("a JWK has the published thumbprint as its key id and no private part", () => {
    const jwk = publicKeyJwk(Buffer.from(ed25519ThumbprintVector.x, "base64url"));
    assert.deepEqual(jwk, {
      kty: "OKP",
      crv: "Ed25519",
      x: ed25519ThumbprintVector.x,
      use: "sig",
      alg: "EdDSA",
      kid: ed25519ThumbprintVector.kid,
    });
  });

  test("a generated pair is consistent and differs from the next", () => {
    const first = generateEd25519Key(randomBytes);
    const parsed = parseSecret(first.secret);
    assert.ok(parsed.kind === "asymmetric");
    assert.equal(publicKeyText(parsed.publicKey), first.publicKey);
    assert.notEqual(generateEd25519Key(randomBytes).secret, first.secret);
  });

  test("public keys: only whpk_ with 32 bytes", () => {
    const parsed = parsePublicKey(`whpk_${Buffer.from(ed25519PublicKeyHex, "hex").toString("base64")}`);
    assert.ok(parsed.kind === "public");
    assert.equal(Buffer.from(parsed.bytes).toString("hex"), ed25519PublicKeyHex);
    const refused = [
      [7, "not_text"],
      [encode(32), "unknown_prefix"],
      [`whsk_${encode(32)}`, "wrong_key_type"],
      [`whsec_${encode(32)}`, "wrong_key_type"],
      [`whpk_${encode(31)}`, "wrong_length"],
      [`whpk_${encode(64)}`, "wrong_length"],
      ["whpk_", "not_base64"],
    ] as const;
    for (const [text, reason] of refused) {
      const result = parsePublicKey(text);
      assert.equal(result.kind === "invalid" && result.reason, reason);
    }
  });
});
