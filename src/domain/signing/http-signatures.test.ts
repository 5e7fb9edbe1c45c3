import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHmac, randomBytes, verify } from "node:crypto";
import { describe, test } from "node:test";
import fc from "fast-check";
import { contentDigest, type HttpMessageToSign, prepareHttpSignatureSigner } from "./http-signatures.ts";
import { buildSignatureBase, type LabelledSignature, parseSignatures } from "./signature-base.ts";
import { UnsignableMessageError } from "./schemes.ts";
import {
  type AsymmetricKey,
  generateEd25519Key,
  parseSecret,
  publicKeyJwk,
  publicKeyObject,
} from "./signing-key.ts";

const message: HttpMessageToSign = {
  method: "POST",
  targetUri: "https://example.com/hooks/1?tenant=a",
  contentType: "application/json",
  idempotencyKey: '"0190a4d5-1c9e-7c5e-9b9a-3f8e3b3f1a2e"',
  createdSeconds: 1_700_000_000,
  body: Buffer.from('{"order":"42"}'),
};

function newPair(): AsymmetricKey {
  const key = parseSecret(generateEd25519Key(randomBytes).secret);
  assert.ok(key.kind === "asymmetric");
  return key;
}

/** The signature base that the general builder creates for one signature of a signed message. */
function generalBase(signed: HttpMessageToSign, { input }: LabelledSignature): Buffer {
  const fields: Readonly<Record<string, string>> = {
    "content-type": signed.contentType,
    "content-digest": contentDigest(signed.body),
    "idempotency-key": signed.idempotencyKey,
  };
  const base = buildSignatureBase(
    {
      method: signed.method,
      targetUri: signed.targetUri,
      fieldLines: (name) => (fields[name] === undefined ? [] : [fields[name]]),
    },
    input,
  );
  assert.ok(base.kind === "built");
  return Buffer.from(base.text);
}

function read(fields: {
  readonly signatureInput: string;
  readonly signature: string;
}): readonly LabelledSignature[] {
  const parsed = parseSignatures(fields.signatureInput, fields.signature);
  assert.ok(parsed.kind === "parsed");
  return parsed.signatures;
}

describe("signing requests", () => {
  test("EDS-11.4-1 the components and parameters of the published RFC 9421 application are covered", () => {
    const pair = newPair();
    const signed = prepareHttpSignatureSigner({ keys: [pair] })(message);
    assert.equal(signed.contentDigest, contentDigest(message.body));
    const { kid } = publicKeyJwk(pair.publicKey);
    assert.equal(
      signed.signatureInput,
      `sig1=("@method" "@target-uri" "content-type" "content-digest" "idempotency-key");created=1700000000;keyid="${kid}";alg="ed25519";tag="posthorn"`,
    );
    assert.match(signed.signature, /^sig1=:[A-Za-z0-9+/]{86}==:$/);
  });

  test("every key of a rotation signs, newest first, and each signature matches the general base", () => {
    const [first, second] = [newPair(), newPair()];
    const secret = randomBytes(32);
    const shared = { kind: "symmetric", bytes: secret, keyId: 'team "a"' } as const;
    const signed = prepareHttpSignatureSigner({ keys: [first, shared, second], tag: "x" })(message);
    const signatures = read(signed);
    assert.deepEqual(
      signatures.map(({ input }) => [input.label, input.keyid, input.alg, input.tag]),
      [
        ["sig1", publicKeyJwk(first.publicKey).kid, "ed25519", "x"],
        ["sig2", 'team "a"', "hmac-sha256", "x"],
        ["sig3", publicKeyJwk(second.publicKey).kid, "ed25519", "x"],
      ],
    );
    const [one, two, three] = signatures;
    assert.ok(one !== undefined && two !== undefined && three !== undefined);
    assert.ok(verify(null, generalBase(message, one), publicKeyObject(first.publicKey), one.signature));
    assert.ok(verify(null, generalBase(message, three), publicKeyObject(second.publicKey), three.signature));
    const mac = createHmac("sha256", secret).update(generalBase(message, two)).digest();
    assert.ok(mac.equals(two.signature));
  });

  test("any request that can be sent is signed over the general base", () => {
    const key = { kind: "symmetric", bytes: randomBytes(24), keyId: "k" } as const;
    const sign = prepareHttpSignatureSigner({ keys: [key] });
    const value = fc.stringMatching(/^[!-~](?:[ -~]{0,40}[!-~])?$/);
    const target = fc.stringMatching(/^[!"$-~]{0,5000}$/);
    fc.assert(
      fc.property(value, target, value, fc.uint8Array(), (contentType, path, idempotencyKey, body) => {
        const request = { ...message, contentType, targetUri: `https://a/${path}`, idempotencyKey, body };
        const [signed] = read(sign(request));
        assert.ok(signed !== undefined);
        const mac = createHmac("sha256", key.bytes).update(generalBase(request, signed)).digest();
        assert.ok(mac.equals(signed.signature));
      }),
    );
  });

  test("a URL longer than the scratch buffer is signed normally", () => {
    const key = { kind: "symmetric", bytes: randomBytes(24), keyId: "k" } as const;
    for (const length of [3000, 3700, 3800, 4096, 9000]) {
      const request = { ...message, targetUri: `https://example.com/${"x".repeat(length)}` };
      const [signed] = read(prepareHttpSignatureSigner({ keys: [key] })(request));
      assert.ok(signed !== undefined);
      const mac = createHmac("sha256", key.bytes).update(generalBase(request, signed)).digest();
      assert.ok(mac.equals(signed.signature), `${length} characters`);
    }
  });

  test("values that a header cannot contain are not signed", () => {
    const sign = prepareHttpSignatureSigner({ keys: [newPair()] });
    const broken: readonly Partial<HttpMessageToSign>[] = [
      { targetUri: "/relative" },
      { targetUri: "https://example.com/#fragment" },
      { targetUri: "https://example.com/a b" },
      { targetUri: "https://example.com/\nx" },
      { contentType: "text/plain\n" },
      { contentType: " text/plain" },
      { contentType: "caf\u00e9" },
      { idempotencyKey: "" },
      { idempotencyKey: '"a"\r\nx: y' },
      { method: "PO\nST" },
      { createdSeconds: 1.5 },
      { createdSeconds: -1 },
    ];
    for (const part of broken) {
      assert.throws(() => sign({ ...message, ...part }), UnsignableMessageError, JSON.stringify(part));
    }
    assert.throws(() => prepareHttpSignatureSigner({ keys: [] }), UnsignableMessageError);
  });

  test("a tab before a parameter of the media type, allowed by RFC 9110, can be signed", () => {
    const pair = newPair();
    const signed = { ...message, contentType: "application/xml;\tcharset=utf-8" };
    const fields = prepareHttpSignatureSigner({ keys: [pair] })(signed);
    const parsed = parseSignatures(fields.signatureInput, fields.signature);
    assert.ok(parsed.kind === "parsed");
    const [only] = parsed.signatures;
    assert.ok(only !== undefined);
    assert.ok(verify(null, generalBase(signed, only), publicKeyObject(pair.publicKey), only.signature));
  });
});
