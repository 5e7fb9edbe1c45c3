// Standard Webhooks, signed and verified by two other libraries.

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import fc from "fast-check";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import {
  generateEd25519Key,
  parseSecret,
  type SigningKey,
  symmetricSecretText,
} from "../../../src/domain/signing/signing-key.ts";
import { prepareSigner } from "../../../src/domain/signing/standard-webhooks.ts";
import { cryptos } from "../../../src/receiver/crypto/cryptos.fixture.ts";
import { receivedHeaders } from "../../../src/receiver/message/message.ts";
import { prepareStandardWebhooksVerifier } from "../../../src/receiver/schemes/standard-webhooks.ts";

const peers = [
  ["standardwebhooks", StandardWebhook],
  ["svix", SvixWebhook],
] as const;

const nowSeconds = (): number => Math.floor(Date.now() / 1000);
const secrets = fc.uint8Array({ minLength: 24, maxLength: 64 }).map(symmetricSecretText);
const ids = fc.stringMatching(/^[\x21-\x2d\x2f-\x7e]{1,60}$/);
// These libraries accept text, and svix does not parse it.
const payloads = fc.jsonValue().map((value) => JSON.stringify(value));

function keyOf(text: string): SigningKey {
  const key = parseSecret(text);
  assert.ok(key.kind !== "invalid");
  return key;
}

for (const [name, Peer] of peers) {
  describe(`Standard Webhooks and the package ${name}`, () => {
    test("TS16-59 TS16-63 it verifies our signatures, next to a v1a entry and during a rotation", () => {
      const pair = keyOf(generateEd25519Key(randomBytes).secret);
      fc.assert(
        fc.property(secrets, secrets, ids, payloads, (secret, other, id, payload) => {
          const sign = prepareSigner([keyOf(other), pair, keyOf(secret)]);
          const now = nowSeconds();
          const headers = {
            "webhook-id": id,
            "webhook-timestamp": String(now),
            "webhook-signature": sign({ messageId: id, timestampSeconds: now, body: Buffer.from(payload) }),
          };
          const peer = new Peer(secret);
          peer.verify(payload, headers);
          assert.throws(() => peer.verify(`${payload} `, headers));
        }),
      );
    });

    for (const [platform, crypto] of cryptos) {
      test(`TS16-59 TS16-66 the kit verifies its signatures, on ${platform}`, async () => {
        await fc.assert(
          fc.asyncProperty(secrets, ids, payloads, async (secret, id, payload) => {
            const now = nowSeconds();
            const signature = new Peer(secret).sign(id, new Date(now * 1000), payload);
            const headers = receivedHeaders([
              ["webhook-id", id],
              ["webhook-timestamp", String(now)],
              ["webhook-signature", signature],
            ]);
            const message = { method: "POST", url: "/", headers, body: Buffer.from(payload) };
            const verifier = prepareStandardWebhooksVerifier(crypto, { keys: secret });
            const result = await verifier.verify(message, { nowSeconds: now });
            assert.equal(result.kind, "verified");
            const altered = { ...message, body: Buffer.from(`${payload} `) };
            assert.equal((await verifier.verify(altered, { nowSeconds: now })).kind, "rejected");
          }),
        );
      });
    }
  });
}
