import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHmac, randomBytes, verify } from "node:crypto";
import { describe, test } from "node:test";
import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { UnsignableMessageError, isSignableMessageId } from "./schemes.ts";
import {
  generateEd25519Key,
  generateSymmetricSecret,
  parseSecret,
  publicKeyObject,
  type SigningKey,
  symmetricSecretText,
} from "./signing-key.ts";
import { prepareSigner } from "./standard-webhooks.ts";
import { standardWebhooksVectors } from "./vectors.fixture.ts";

const messageId = "0190a4d5-1c9e-7c5e-9b9a-3f8e3b3f1a2e";

function keyOf(text: string): SigningKey {
  const key = parseSecret(text);
  assert.ok(key.kind !== "invalid");
  return key;
}

function newSymmetric(): SigningKey {
  return keyOf(generateSymmetricSecret(randomBytes));
}

function newAsymmetric(): SigningKey {
  return keyOf(generateEd25519Key(randomBytes).secret);
}

function hmacWithCreateHmac(input: {
  readonly key: Uint8Array;
  readonly prefix: string;
  readonly body: Uint8Array;
}): string {
  return createHmac("sha256", input.key).update(input.prefix).update(input.body).digest("base64");
}

describe("signing", () => {
  for (const vector of standardWebhooksVectors) {
    test(`published vector ${vector.name}`, () => {
      const { timestampSeconds } = vector;
      const key = keyOf(`${vector.prefix}${Buffer.from(vector.keyHex, "hex").toString("base64")}`);
      const body = Buffer.from(vector.body);
      const id = vector.messageId;
      assert.equal(prepareSigner([key])({ messageId: id, timestampSeconds, body }), vector.signature);
    });
  }

  test("any key, id and body give the result of createHmac", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 24, maxLength: 64 }),
        fc.stringMatching(/^[\x21-\x2d\x2f-\x7e]{1,255}$/),
        fc.nat(),
        fc.uint8Array({ maxLength: 300 }),
        (bytes, id, timestampSeconds, body) => {
          const header = prepareSigner([{ kind: "symmetric", bytes }])({
            messageId: id,
            timestampSeconds,
            body,
          });
          const prefix = `${id}.${timestampSeconds}.`;
          assert.equal(header, `v1,${hmacWithCreateHmac({ key: bytes, prefix, body })}`);
        },
      ),
    );
  });

  test("bodies of every size around that of the scratch buffer are signed correctly", () => {
    const symmetric = newSymmetric();
    const asymmetric = newAsymmetric();
    assert.ok(symmetric.kind === "symmetric" && asymmetric.kind === "asymmetric");
    const sign = prepareSigner([symmetric, asymmetric]);
    const publicKey = publicKeyObject(asymmetric.publicKey);
    for (const size of [0, 1, 55, 64, 16_383, 16_384, 16_385, 20_300, 20_500, 100_000]) {
      const body = randomBytes(size);
      const messageId = "x".repeat(255); // The longest allowed ID.
      const header = sign({ messageId, timestampSeconds: 1_700_000_000, body });
      const prefix = `${messageId}.1700000000.`;
      const expected = hmacWithCreateHmac({ key: symmetric.bytes, prefix, body });
      assert.equal(header.split(" ")[1], `v1,${expected}`, `${size} bytes`);
      const signature = Buffer.from(header.split(" ")[0]?.slice("v1a,".length) ?? "", "base64");
      const signed = Buffer.concat([Buffer.from(prefix), body]);
      assert.ok(verify(null, signed, publicKey, signature), `${size} bytes`);
    }
  });

  test("alternating signers do not disturb each other", () => {
    const keys = [newSymmetric(), newAsymmetric(), newSymmetric()];
    const signers = keys.map((key) => prepareSigner([key]));
    const long = { messageId, timestampSeconds: 1, body: randomBytes(2000) };
    const short = { messageId, timestampSeconds: 1, body: Buffer.from("{}") };
    const alone = signers.map((sign) => sign(short));
    for (const sign of signers) sign(long);
    assert.deepEqual(
      signers.toReversed().map((sign) => sign(short)),
      alone.toReversed(),
    );
  });

  test("v1a entries come first, then v1; each scheme keeps the order newest first", () => {
    const [newShared, oldShared] = [newSymmetric(), newSymmetric()];
    const [newPair, oldPair] = [newAsymmetric(), newAsymmetric()];
    const message = { messageId, timestampSeconds: 1_700_000_000, body: Buffer.from("{}") };
    const header = prepareSigner([newShared, newPair, oldShared, oldPair])(message);
    const each = [newPair, oldPair, newShared, oldShared].map((key) => prepareSigner([key])(message));
    assert.equal(header, each.join(" "));
    assert.match(header, /^v1a,[A-Za-z0-9+/]{86}== v1a,\S+ v1,[A-Za-z0-9+/]{43}= v1,\S+$/);
  });

  test("an id with a period or a space, an empty id, or one that is too long is not signed", () => {
    const sign = prepareSigner([newSymmetric()]);
    for (const id of ["a.b", ".", "", "a b", "a\r\nb", "é", "x".repeat(256), `${messageId}\n`]) {
      assert.equal(isSignableMessageId(id), false);
      assert.throws(
        () => sign({ messageId: id, timestampSeconds: 1, body: Buffer.from("{}") }),
        (error) => error instanceof UnsignableMessageError && error.code === "message_id_invalid",
      );
    }
    assert.ok(isSignableMessageId("x".repeat(255)));
  });

  test("a timestamp that is not whole seconds is not signed, and signing requires a key", () => {
    const sign = prepareSigner([newSymmetric()]);
    for (const timestampSeconds of [1.5, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
      assert.throws(
        () => sign({ messageId, timestampSeconds, body: Buffer.from("{}") }),
        (error) => error instanceof UnsignableMessageError && error.code === "timestamp_invalid",
      );
    }
    assert.throws(
      () => prepareSigner([]),
      (error) => error instanceof UnsignableMessageError && error.code === "no_keys",
    );
  });
});

describe("the standardwebhooks package as an independent verifier", () => {
  const [oldKey, newKey, pair] = [newSymmetric(), newSymmetric(), newAsymmetric()];
  const lists: readonly (readonly [string, readonly SigningKey[]])[] = [
    ["one key", [newKey]],
    ["two v1 during a rotation", [newKey, oldKey]],
    ["v1a beside v1", [newKey, pair]],
    ["v1a and two v1", [pair, newKey, oldKey]],
  ];
  for (const [name, keys] of lists) {
    test(`accepts the header with ${name} for each shared secret, and no other`, (context) => {
      context.mock.timers.enable({ apis: ["Date"], now: 1_700_000_000_000 });
      const body = Buffer.from('{"type":"user.created","data":{"name":"Zoë"}}');
      const signature = prepareSigner(keys)({ messageId, timestampSeconds: 1_700_000_000, body });
      const headers = {
        "webhook-id": messageId,
        "webhook-timestamp": "1700000000",
        "webhook-signature": signature,
      };
      for (const key of keys) {
        if (key.kind !== "symmetric") continue;
        const verifier = new Webhook(symmetricSecretText(key.bytes));
        assert.deepEqual(verifier.verify(body, headers), JSON.parse(body.toString()));
      }
      const attacker = new Webhook(generateSymmetricSecret(randomBytes));
      assert.throws(() => attacker.verify(body, headers), /No matching signature/);
    });
  }
});
