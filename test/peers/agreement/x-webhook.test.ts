// X-Webhook-Signature, verified by a library that uses a header of the same format.

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import fc from "fast-check";
import Stripe from "stripe";
import { generateSymmetricSecret } from "../../../src/domain/signing/signing-key.ts";
import { prepareXWebhookSigner } from "../../../src/domain/signing/x-webhook.ts";
import { cryptos } from "../../../src/receiver/crypto/cryptos.fixture.ts";
import { receivedHeaders } from "../../../src/receiver/message/message.ts";
import { prepareXWebhookVerifier } from "../../../src/receiver/schemes/x-webhook.ts";

const { webhooks } = Stripe;
const { signature: peer } = webhooks;
const now = (): number => Math.floor(Date.now() / 1000);
// That library treats an empty payload as an error.
const payloads = fc.string({ unit: "grapheme", minLength: 1 }).filter((text) => text.isWellFormed());
const secret = generateSymmetricSecret(randomBytes);

describe("X-Webhook-Signature and the package stripe", () => {
  test("WDS-153 WDS-155 it verifies our signatures, even during a rotation", () => {
    assert.ok(peer !== null);
    fc.assert(
      fc.property(payloads, (payload) => {
        const sign = prepareXWebhookSigner([generateSymmetricSecret(randomBytes), secret]);
        const header = sign(now(), Buffer.from(payload));
        assert.ok(peer.verifyHeader(payload, header, secret, 300));
        assert.throws(() => peer.verifyHeader(`${payload} `, header, secret, 300));
      }),
    );
  });

  test("WDS-154 both reject signatures older than five minutes", () => {
    assert.ok(peer !== null);
    const header = prepareXWebhookSigner([secret])(now() - 400, Buffer.from("{}"));
    assert.throws(() => peer.verifyHeader("{}", header, secret, 300), /tolerance/);
  });

  for (const [platform, crypto] of cryptos) {
    test(`WDS-155 the kit verifies its signatures, on ${platform}`, async () => {
      const verifier = prepareXWebhookVerifier(crypto, { secrets: secret });
      await fc.assert(
        fc.asyncProperty(payloads, async (payload) => {
          const header = webhooks.generateTestHeaderString({ payload, secret, timestamp: now() });
          const headers = receivedHeaders([["x-webhook-signature", header]]);
          const message = { method: "POST", url: "/", headers, body: Buffer.from(payload) };
          assert.equal((await verifier.verify(message, { nowSeconds: now() })).kind, "verified");
          const altered = { ...message, body: Buffer.from(`${payload} `) };
          assert.equal((await verifier.verify(altered, { nowSeconds: now() })).kind, "rejected");
        }),
      );
    });
  }
});
