import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHmac, randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { UnsignableMessageError, isSignableMessageId } from "./schemes.ts";
import {
  generateEd25519Key,
  generateSymmetricSecret,
  parseSecret,
  type SigningKey,
  symmetricSecretText,
} from "./signing-key.ts";
import { prepareSigner, prepareVerifier, type VerificationKey } from "./standard-webhooks.ts";
import { standardWebhooksVectors } from "./vectors.fixture.ts";

const messageId = "0190a4d5-1c9e-7c5e-9b9a-3f8e3b3f1a2e";

function keyOf(text: string): SigningKey {
  const key = parseSecret(text);
  assert.ok(key.kind !== "invalid");
  return key;
}

function publicOf(key: SigningKey): VerificationKey {
  return key.kind === "symmetric" ? key : { kind: "public", bytes: key.publicKey };
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
    test(`published vector ${vector.name}, signed and verified`, () => {
      const { timestampSeconds } = vector;
      const key = keyOf(`${vector.prefix}${Buffer.from(vector.keyHex, "hex").toString("base64")}`);
      const body = Buffer.from(vector.body);
      const id = vector.messageId;
      assert.equal(prepareSigner([key])({ messageId: id, timestampSeconds, body }), vector.signature);
      const result = prepareVerifier([publicOf(key)])({
        headers: {
          "webhook-id": id,
          "webhook-timestamp": String(timestampSeconds),
          "webhook-signature": vector.signature,
        },
        body,
        nowSeconds: timestampSeconds,
        toleranceSeconds: 300,
      });
      const scheme = vector.prefix === "whsec_" ? "v1" : "v1a";
      assert.deepEqual(result, { kind: "verified", messageId: id, timestampSeconds, scheme });
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
    assert.ok(symmetric.kind === "symmetric");
    const sign = prepareSigner([symmetric, asymmetric]);
    const verify = prepareVerifier([publicOf(asymmetric)]);
    for (const size of [0, 1, 55, 64, 16_383, 16_384, 16_385, 20_300, 20_500, 100_000]) {
      const body = randomBytes(size);
      const messageId = "x".repeat(255); // the longest id
      const header = sign({ messageId, timestampSeconds: 1_700_000_000, body });
      const prefix = `${messageId}.1700000000.`;
      const expected = hmacWithCreateHmac({ key: symmetric.bytes, prefix, body });
      assert.equal(header.split(" ")[1], `v1,${expected}`, `${size} bytes`);
      const headers = {
        "webhook-id": messageId,
        "webhook-timestamp": "1700000000",
        "webhook-signature": header,
      };
      const result = verify({ headers, body, nowSeconds: 1_700_000_000, toleranceSeconds: 0 });
      assert.equal(result.kind, "verified", `${size} bytes`);
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

describe("verifying", () => {
  const symmetric = newSymmetric();
  const asymmetric = newAsymmetric();
  const body = Buffer.from('{"a":1}');
  const nowSeconds = 1_700_000_000;
  const signature = prepareSigner([asymmetric, symmetric])({
    messageId,
    timestampSeconds: nowSeconds,
    body,
  });
  const good = {
    "Webhook-ID": messageId,
    "Webhook-Timestamp": String(nowSeconds),
    "Webhook-Signature": signature,
  };
  const verify = prepareVerifier([publicOf(symmetric)]);
  const verifyPublic = prepareVerifier([publicOf(asymmetric)]);

  function outcome(
    headers: Readonly<Record<string, string | undefined>>,
    changes: { readonly body?: Uint8Array; readonly nowSeconds?: number } = {},
  ): string {
    const results = [verify, verifyPublic].map((verifier) =>
      verifier({ headers, body, nowSeconds, toleranceSeconds: 300, ...changes }),
    );
    const words = results.map((result) => (result.kind === "rejected" ? result.cause : "verified"));
    assert.equal(words[0], words[1], "both schemes agree");
    return words[0] ?? "";
  }

  test("header names match in any case", () => {
    assert.equal(outcome(good), "verified");
    const upper = Object.fromEntries(Object.entries(good).map(([k, v]) => [k.toUpperCase(), v]));
    assert.equal(outcome(upper), "verified");
  });

  for (const name of ["Webhook-ID", "Webhook-Timestamp", "Webhook-Signature"] as const) {
    test(`without ${name}: missing_header`, () => {
      assert.equal(outcome({ ...good, [name]: undefined }), "missing_header");
      assert.equal(outcome({ ...good, [name]: "" }), "missing_header");
    });
  }

  const badTimestamps = "1.7e9 -1 +1700000000 01700000000 0x6553f100 now 1700000000.0 9999999999999999";
  for (const timestamp of [...badTimestamps.split(" "), " 1700000000", "1700000000\n"]) {
    test(`timestamp ${JSON.stringify(timestamp)}: bad_timestamp`, () => {
      assert.equal(outcome({ ...good, "Webhook-Timestamp": timestamp }), "bad_timestamp");
    });
  }

  test("the tolerance applies in both directions, including its bound", () => {
    assert.equal(outcome(good, { nowSeconds: nowSeconds + 300 }), "verified");
    assert.equal(outcome(good, { nowSeconds: nowSeconds + 301 }), "too_old");
    assert.equal(outcome(good, { nowSeconds: nowSeconds - 300 }), "verified");
    assert.equal(outcome(good, { nowSeconds: nowSeconds - 301 }), "too_new");
    assert.equal(outcome(good, { nowSeconds: Number.NaN }), "too_old");
  });

  test("bytes cannot be moved between id, timestamp and body", () => {
    assert.equal(outcome({ ...good, "Webhook-ID": `${messageId}.1` }), "bad_message_id");
    assert.equal(outcome({ ...good, "Webhook-ID": "other" }), "no_matching_signature");
    const later = { ...good, "Webhook-Timestamp": String(nowSeconds + 1) };
    assert.equal(outcome(later), "no_matching_signature");
    assert.equal(outcome(good, { body: Buffer.from('{"a":2}') }), "no_matching_signature");
    assert.equal(outcome(good, { body: Buffer.from("") }), "no_matching_signature");
  });

  const [v1a = "", v1 = ""] = signature.split(" ");
  const unmatched: readonly (readonly [string, string])[] = [
    ["schemes swapped", `v1,${v1a.slice(4)} v1a,${v1.slice(3)}`],
    ["no comma", `${v1.slice(3)} ${v1a.slice(4)}`],
    ["unknown scheme", signature.replaceAll("v1", "v2")],
    ["comma instead of space", signature.replace(" ", ",")],
    ["more behind the signature", `${v1a}A ${v1}A`],
    ["truncated", `${v1a.slice(0, -6)} ${v1.slice(0, -6)}`],
    ["empty entries", "v1, v1a,"],
    ["one character changed", signature.replaceAll(/,./g, (head) => (head === ",A" ? ",B" : ",A"))],
    ["behind 32 other entries", `${"v0,x ".repeat(32)}${signature}`],
  ];
  for (const [name, header] of unmatched) {
    test(`signature header with ${name}: no_matching_signature`, () => {
      assert.equal(outcome({ ...good, "Webhook-Signature": header }), "no_matching_signature");
    });
  }

  test("entries of unknown schemes are skipped and the matching scheme is named", () => {
    const headers = { ...good, "Webhook-Signature": `v9,x  v1,AAAA junk ${signature}` };
    const input = { headers, body, nowSeconds, toleranceSeconds: 300 };
    const result = verify(input);
    assert.equal(result.kind === "verified" && result.scheme, "v1");
    const publicResult = verifyPublic(input);
    assert.equal(publicResult.kind === "verified" && publicResult.scheme, "v1a");
  });

  test("any of several keys may match, and no key matches nothing", () => {
    const input = { headers: good, body, nowSeconds, toleranceSeconds: 300 };
    const several = prepareVerifier([
      publicOf(newSymmetric()),
      publicOf(newAsymmetric()),
      publicOf(symmetric),
    ]);
    assert.equal(several(input).kind, "verified");
    assert.equal(prepareVerifier([publicOf(newSymmetric())])(input).kind, "rejected");
    assert.equal(prepareVerifier([])(input).kind, "rejected");
  });
});
