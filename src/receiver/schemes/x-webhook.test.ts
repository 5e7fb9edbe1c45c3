import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHash, createHmac } from "node:crypto";
import { describe, test } from "node:test";
import fc from "fast-check";
import { cryptos } from "../crypto/cryptos.fixture.ts";
import type { ReceivedMessage, Verification } from "../message/message.ts";
import { ReceiverError } from "../receiver-error.ts";
import type { ByProducer } from "./first-match.ts";
import {
  newPair,
  newSecret,
  orderBody,
  received,
  signedAt,
  strangeMessages,
  xWebhookHeaders,
} from "./signed-messages.fixture.ts";
import { prepareXWebhookVerifier } from "./x-webhook.ts";

const secret = newSecret();
const valid = xWebhookHeaders([secret]);
const header = valid["x-webhook-signature"] ?? "";
const hex = header.split("v1=")[1] ?? "";

for (const [name, crypto] of cryptos) {
  const verify = async (
    message: ReceivedMessage,
    options: { readonly secrets?: ByProducer; readonly nowSeconds?: number } = {},
  ): Promise<Verification> => {
    const { secrets = secret, nowSeconds = signedAt } = options;
    return prepareXWebhookVerifier(crypto, { secrets }).verify(message, { nowSeconds });
  };
  const causeOf = async (...input: Parameters<typeof verify>): Promise<string> => {
    const result = await verify(...input);
    return result.kind === "verified" ? "verified" : result.cause;
  };

  describe(`X-Webhook-Signature in the kit, on ${name}`, () => {
    test("WDS-153 WDS-155 messages signed by the sender are accepted", async () => {
      assert.deepEqual(await verify(received(valid)), {
        kind: "verified",
        scheme: "x-webhook-v1",
        producer: "default",
        messageId: null,
        timestampSeconds: signedAt,
        replayId: createHash("sha256").update(`${signedAt}.`).update(orderBody).digest("hex"),
      });
    });

    test("WDS-172 the signed key of an event is its id, whatever keys an attacker adds", async () => {
      const body = Buffer.from(
        '{"id":"e1","event_type":"order.paid","data":{},"idempotency_key":"order-4711"}',
      );
      const v1 = createHmac("sha256", secret).update(`${signedAt}.`).update(body).digest("hex");
      const headers = { "x-webhook-signature": `t=${signedAt},v1=${v1}`, "x-idempotency-key": "other" };
      const result = await verify({ ...received(headers), body });
      assert.ok(result.kind === "verified");
      assert.deepEqual(
        [result.messageId, result.replayId, result.isKeyAuthentic],
        ["order-4711", undefined, undefined],
      );
    });

    test("a secret without its prefix is the same secret", async () => {
      assert.equal(await causeOf(received(valid), { secrets: secret.slice("whsec_".length) }), "verified");
    });

    test("a secret that never had a prefix is used unchanged", async () => {
      const v1 = createHmac("sha256", "short").update(`${signedAt}.`).update(orderBody).digest("hex");
      const message = received({ "x-webhook-signature": `t=${signedAt},v1=${v1}` });
      assert.equal(await causeOf(message, { secrets: "short" }), "verified");
    });

    test("during a rotation either secret verifies, old or new, on either side", async () => {
      const both = received(xWebhookHeaders([newSecret(), secret]));
      assert.equal(await causeOf(both), "verified");
      const result = await verify(received(valid), {
        secrets: { shop: [newSecret()], bank: [newSecret(), secret] },
      });
      assert.equal(result.kind === "verified" && result.producer, "bank");
    });

    test("WDS-154 a signature is valid for five minutes", async () => {
      for (const [nowSeconds, cause] of [
        [signedAt + 300, "verified"],
        [signedAt + 301, "too_old"],
        [signedAt - 300, "verified"],
        [signedAt - 301, "too_new"],
      ] as const) {
        assert.equal(await causeOf(received(valid), { nowSeconds }), cause);
      }
    });

    const altered: readonly (readonly [value: string, cause: string])[] = [
      ["", "missing_header"],
      ["nonsense", "malformed_header"],
      [`v1=${hex}`, "malformed_header"],
      [`t=${signedAt}`, "malformed_header"],
      [`t=${signedAt},t=${signedAt},v1=${hex}`, "malformed_header"],
      [`t=${signedAt},v0=${hex}`, "malformed_header"],
      [`t=${signedAt},v1=${hex.slice(1)}`, "malformed_header"],
      [`t=${signedAt},v1=${hex}0`, "malformed_header"],
      [`t=soon,v1=${hex}`, "bad_timestamp"],
      [`t=${signedAt + 1},v1=${hex}`, "no_matching_signature"],
      [
        `t=${signedAt},v1=${hex.replace(/.$/, (last) => (last === "0" ? "1" : "0"))}`,
        "no_matching_signature",
      ],
      [`t=${signedAt},v1=${"0".repeat(64)},v1=${hex}`, "verified"],
      [`t=${signedAt}, v1=${hex}`, "verified"],
    ];
    for (const [value, cause] of altered) {
      test(`WDS-155 EDS-11.3-1 ${value.replaceAll(hex, "…").slice(0, 60)}: ${cause}`, async () => {
        assert.equal(await causeOf(received({ "x-webhook-signature": value })), cause);
      });
    }

    test("every flipped byte of the body is detected", async () => {
      for (let index = 0; index < orderBody.length; index++) {
        const body = Buffer.from(orderBody);
        body[index] = (body[index] ?? 0) ^ 1;
        assert.equal(await causeOf(received(valid, { body })), "no_matching_signature");
      }
    });

    test("the verifier answers any hostile input", async () => {
      const verifier = prepareXWebhookVerifier(crypto, { secrets: secret });
      await fc.assert(
        fc.asyncProperty(strangeMessages(valid), async (message) => {
          const result = await verifier.verify(message, { nowSeconds: signedAt });
          assert.ok(result.kind === "verified" ? orderBody.equals(message.body) : result.detail !== "");
        }),
      );
    });
  });
}

describe("setting up X-Webhook-Signature", () => {
  const [, crypto] = cryptos[0] ?? assert.fail();

  test("TS16-66 a key of another kind is rejected at once, naming the required kind", () => {
    const { publicKey, secret: privateKey } = newPair();
    assert.throws(
      () => prepareXWebhookVerifier(crypto, { secrets: publicKey }),
      /needs the shared secret \(whsec_\)/,
    );
    assert.throws(() => prepareXWebhookVerifier(crypto, { secrets: privateKey }), /private key/);
    for (const secrets of ["", [], {}]) {
      assert.throws(() => prepareXWebhookVerifier(crypto, { secrets }), ReceiverError);
    }
  });
});
