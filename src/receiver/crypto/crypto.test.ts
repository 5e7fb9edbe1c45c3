import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHash, createHmac, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { describe, test } from "node:test";
import fc from "fast-check";
import published from "../../domain/signing/rfc9421-vectors.fixture.json" with { type: "json" };
import { ReceiverError } from "../receiver-error.ts";
import { cryptos } from "./cryptos.fixture.ts";
import { createWebCrypto, defaultCrypto, p1363FromDer } from "./default-crypto.ts";

const parts = [Buffer.from("one"), Buffer.alloc(0), Buffer.from(" and two")];
const whole = Buffer.concat(parts);

function rawPublicKey(): { publicKey: Uint8Array; signed: Buffer } {
  const pair = generateKeyPairSync("ed25519");
  const publicKey = pair.publicKey.export({ format: "der", type: "spki" }).subarray(-32);
  return { publicKey, signed: sign(null, whole, pair.privateKey) };
}

/** Encodes the number r with an extra leading zero, which DER does not allow. */
function withLongerInteger(signature: Buffer): Buffer {
  const [, length = 0, , integer = 0] = signature;
  return Buffer.concat([Buffer.of(0x30, length + 1, 0x02, integer + 1, 0), signature.subarray(4)]);
}

for (const [name, crypto] of cryptos) {
  describe(`cryptography of the kit on ${name}`, () => {
    test("an HMAC of any key and parts equals that of node:crypto", async () => {
      const hash = fc.constantFrom("sha1" as const, "sha256" as const, "sha512" as const);
      const key = fc.uint8Array({ minLength: 1, maxLength: 200 });
      const data = fc.array(fc.uint8Array(), { maxLength: 4 });
      await fc.assert(
        fc.asyncProperty(hash, key, data, async (algorithm, bytes, pieces) => {
          const expected = createHmac(algorithm, bytes).update(Buffer.concat(pieces)).digest();
          for (let round = 0; round < 2; round++) {
            const mac = await crypto.hmac(algorithm, bytes, pieces);
            assert.ok(expected.equals(mac));
          }
        }),
      );
    });

    test("one key can be used with several hashes", async () => {
      const key = randomBytes(20);
      for (const hash of ["sha1", "sha256", "sha512"] as const) {
        const mac = await crypto.hmac(hash, key, parts);
        assert.ok(createHmac(hash, key).update(whole).digest().equals(mac));
      }
    });

    test("digests equal those of node:crypto", async () => {
      for (const hash of ["sha256", "sha512"] as const) {
        assert.ok(
          createHash(hash)
            .update(whole)
            .digest()
            .equals(await crypto.digest(hash, whole)),
        );
      }
    });

    test("Ed25519: a signature is valid only for its key and message", async () => {
      const { publicKey, signed } = rawPublicKey();
      const altered = Buffer.from(signed);
      altered[10] = (altered[10] ?? 0) ^ 1;
      const check = async (signature: Uint8Array, data: readonly Uint8Array[] = parts): Promise<boolean> =>
        crypto.verifyEd25519(publicKey, signature, data);
      assert.equal(await check(signed), true);
      assert.equal(await check(signed, [whole]), true);
      assert.equal(await check(altered), false);
      assert.equal(await check(signed, [...parts, Buffer.from("!")]), false);
      for (const length of [0, 63, 65]) assert.equal(await check(Buffer.alloc(length, 1)), false);
      const other = rawPublicKey().publicKey;
      assert.equal(await crypto.verifyEd25519(other, signed, parts), false);
    });

    test("ECDSA P-256: valid DER signatures are accepted, broken ones are not", async () => {
      const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
      const publicKey = pair.publicKey.export({ format: "der", type: "spki" });
      // One coordinate in 256 has a leading zero, so many signatures are created.
      for (let round = 0; round < 300; round++) {
        const message = randomBytes(8);
        const signature = sign("sha256", message, pair.privateKey);
        assert.equal(await crypto.verifyEcdsaP256(publicKey, signature, [message]), true);
      }
      let signature = sign("sha256", whole, pair.privateKey);
      // A signature whose r leaves room for a redundant zero.
      while ((signature[3] ?? 0) > 32) signature = sign("sha256", whole, pair.privateKey);
      const broken = [
        withLongerInteger(signature),
        Buffer.alloc(0),
        signature.subarray(1),
        signature.subarray(0, -1),
        Buffer.concat([signature, Buffer.of(0)]),
        Buffer.alloc(72, 0x30),
        Buffer.from("3006020101020101", "hex"),
        Buffer.from("3006020181020101", "hex"),
        Buffer.from("30020200", "hex"),
      ];
      for (const [index, bytes] of broken.entries()) {
        const isValid = await crypto.verifyEcdsaP256(publicKey, bytes, [whole]);
        assert.equal(isValid, false, `broken signature ${index}`);
      }
    });

    test("RFC 9421 B.2.6: the published Ed25519 signature is valid", async () => {
      const vector = published.cases.find(({ section }) => section === "B.2.6") ?? assert.fail();
      const publicKey = Buffer.from(published.keys["test-key-ed25519"].jwk.x, "base64url");
      const signature = Buffer.from(vector.signature.split(":")[1] ?? "", "base64");
      const data = [Buffer.from(vector.signature_base)];
      assert.equal(await crypto.verifyEd25519(publicKey, signature, data), true);
    });

    test("values of any length can be compared", () => {
      fc.assert(
        fc.property(fc.uint8Array(), fc.uint8Array(), (left, right) => {
          assert.equal(crypto.equal(left, right), Buffer.from(left).equals(right));
          assert.equal(crypto.equal(left, Uint8Array.from(left)), true);
        }),
      );
    });
  });
}

describe("choosing an implementation", () => {
  test("Node returns a result synchronously", () => {
    assert.ok(defaultCrypto.digest("sha256", whole) instanceof Uint8Array);
  });

  test("shared memory is accepted too", async () => {
    const shared = new Uint8Array(new SharedArrayBuffer(3));
    for (const [, crypto] of cryptos) {
      const digest = await crypto.digest("sha256", shared);
      assert.ok(createHash("sha256").update(Buffer.alloc(3)).digest().equals(digest));
    }
  });

  test("a platform without Ed25519 is reported as a configuration error", async () => {
    const without = {
      importKey: () => Promise.reject(new DOMException("unknown algorithm", "NotSupportedError")),
    } as unknown as typeof globalThis.crypto.subtle;
    const crypto = createWebCrypto(without);
    await assert.rejects(
      async () => crypto.verifyEd25519(randomBytes(32), randomBytes(64), parts),
      (error) =>
        error instanceof ReceiverError && error.code === "misconfigured" && /Ed25519/.test(error.message),
    );
  });

  test("DER is converted to two coordinates of fixed length", () => {
    const raw = p1363FromDer(Buffer.from("3008020101020300ff01", "hex"));
    assert.ok(raw !== null);
    assert.equal(Buffer.from(raw).toString("hex"), `${"00".repeat(31)}01${"00".repeat(30)}ff01`);
  });
});
