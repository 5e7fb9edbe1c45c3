// HTTP Message Signatures (RFC 9421), compared with an independent implementation.

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHash, createPrivateKey, randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import fc from "fast-check";
import { createSigner, createVerifier, httpbis } from "http-message-signatures";
import {
  type HttpMessageToSign,
  prepareHttpSignatureSigner,
} from "../../../src/domain/signing/http-signatures.ts";
import {
  generateEd25519Key,
  generateSymmetricSecret,
  parseSecret,
  privateKeyObject,
  publicKeyJwk,
  publicKeyObject,
} from "../../../src/domain/signing/signing-key.ts";
import { cryptos } from "../../../src/receiver/crypto/cryptos.fixture.ts";
import { receivedHeaders } from "../../../src/receiver/message/message.ts";
import { prepareHttpSignaturesVerifier } from "../../../src/receiver/schemes/http-signatures.ts";
import { webUrls } from "../../services/web-urls.fixture.ts";

const pair = generateEd25519Key(randomBytes);
const secret = generateSymmetricSecret(randomBytes);
const asymmetric = parseSecret(pair.secret);
const symmetric = parseSecret(secret);
assert.ok(asymmetric.kind === "asymmetric" && symmetric.kind === "symmetric");
const thumbprint = publicKeyJwk(asymmetric.publicKey).kid;
const named = { ...symmetric, keyId: "team-a" };
const components = ["@method", "@target-uri", "content-type", "content-digest", "idempotency-key"];

const requests = fc.record(
  {
    method: fc.constantFrom("POST", "PUT"),
    // The peer library normalises URLs, so the URLs are generated in the normalised form that senders use.
    targetUri: webUrls.map((url) => new URL(url).href),
    contentType: fc.stringMatching(/^[a-z]{1,8}\/[a-z+.-]{1,8}(?:; ?[a-z]{1,5}=[a-z"]{1,5})?$/),
    idempotencyKey: fc.stringMatching(/^"[!#-[\]-~]{1,40}"$/),
    body: fc.uint8Array(),
  },
  { noNullPrototype: true },
);

type Request = Omit<HttpMessageToSign, "createdSeconds">;

function seconds(): number {
  return Math.floor(Date.now() / 1000);
}

/** Computes the header field independently of the code under test. */
function digestOf(body: Uint8Array): string {
  return `sha-512=:${createHash("sha512").update(body).digest("base64")}:`;
}

function unsignedHeaders({ targetUri, contentType, idempotencyKey }: Request): Record<string, string> {
  return { "Host": new URL(targetUri).host, "Content-Type": contentType, "Idempotency-Key": idempotencyKey };
}

const ed25519Key = {
  id: thumbprint,
  algs: ["ed25519"],
  verify: createVerifier(publicKeyObject(asymmetric.publicKey), "ed25519"),
};
const hmacKey = {
  id: "team-a",
  algs: ["hmac-sha256"],
  verify: createVerifier(Buffer.from(symmetric.bytes), "hmac-sha256"),
};

function peerVerifies(request: {
  method: string;
  url: string;
  headers: Record<string, string>;
}): Promise<boolean | null> {
  return httpbis.verifyMessage(
    {
      keyLookup: ({ keyid }) => Promise.resolve([ed25519Key, hmacKey].find(({ id }) => id === keyid) ?? null),
      requiredFields: components,
      requiredParams: ["created", "keyid", "alg", "tag"],
      tolerance: 5,
      all: true,
    },
    request,
  );
}

describe("HTTP Message Signatures and the package http-message-signatures", () => {
  test("EDS-11.3-2 it verifies every signature that we create, with both algorithms", async () => {
    const sign = prepareHttpSignatureSigner({ keys: [asymmetric, named] });
    await fc.assert(
      fc.asyncProperty(requests, async (request) => {
        const fields = sign({ ...request, createdSeconds: seconds() });
        const headers = {
          ...unsignedHeaders(request),
          "Content-Digest": fields.contentDigest,
          "Signature-Input": fields.signatureInput,
          "Signature": fields.signature,
        };
        const { method, targetUri: url } = request;
        assert.equal(await peerVerifies({ method, url, headers }), true);
        const altered = { ...headers, "Content-Digest": digestOf(Buffer.from("other")) };
        assert.equal(await peerVerifies({ method, url, headers: altered }), false);
      }),
    );
  });

  for (const [platform, crypto] of cryptos) {
    const verifier = prepareHttpSignaturesVerifier(crypto, {
      keys: [{ key: pair.publicKey }, { key: secret, keyId: "team-a" }],
    });
    const signers = [
      createSigner(
        createPrivateKey({ key: privateKeyObject(asymmetric.seed).export({ format: "jwk" }), format: "jwk" }),
        "ed25519",
        thumbprint,
      ),
      createSigner(Buffer.from(symmetric.bytes), "hmac-sha256", "team-a"),
    ];

    test(`EDS-11.3-2 the kit verifies its signatures, on ${platform}`, async () => {
      await fc.assert(
        fc.asyncProperty(requests, fc.constantFrom(...signers), async (request, key) => {
          const { method, targetUri: url, body } = request;
          const headers = { ...unsignedHeaders(request), "Content-Digest": digestOf(body) };
          const params = ["created", "expires", "keyid", "alg", "tag"];
          const paramValues = { created: new Date(), tag: "peer" };
          const fields = [...components, "@authority", "@path", "@query"];
          const signed = await httpbis.signMessage(
            { key, fields, params, paramValues },
            { method, url, headers },
          );
          const received = { method, url, body, headers: receivedHeaders(Object.entries(signed.headers)) };
          const now = { nowSeconds: seconds() };
          const result = await verifier.verify(received, now);
          assert.equal(result.kind === "verified" && result.scheme, `rfc9421-${key.alg}`);
          const other = await verifier.verify({ ...received, body: Buffer.from([...body, 0]) }, now);
          assert.equal(other.kind === "rejected" && other.cause, "body_altered");
          const elsewhere = await verifier.verify({ ...received, url: `${url}x` }, now);
          assert.equal(elsewhere.kind === "rejected" && elsewhere.cause, "no_matching_signature");
        }),
      );
    });
  }
});
