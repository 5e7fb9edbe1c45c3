import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHmac, randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import fc from "fast-check";
import { generateSymmetricSecret } from "./signing-key.ts";
import { UnsignableMessageError } from "./schemes.ts";
import { prepareXWebhookSigner } from "./x-webhook.ts";

const body = Buffer.from('{"order":"42"}');

function expectedHex(secret: string, signed: string): string {
  return createHmac("sha256", Buffer.from(secret, "utf8")).update(signed).digest("hex");
}

describe("signing for X-Webhook-Signature", () => {
  test("WDS-153 WDS-155 the header holds the time and the HMAC of time and body in hex", () => {
    const secret = generateSymmetricSecret(randomBytes);
    const header = prepareXWebhookSigner([secret])(1_234_567_890, body);
    assert.equal(header, `t=1234567890,v1=${expectedHex(secret, `1234567890.${body.toString()}`)}`);
    assert.match(header, /^t=\d+,v1=[0-9a-f]{64}$/);
  });

  test("a published value: the hex HMAC of GitHub's example, without the time", () => {
    // From github/docs, "Validating webhook deliveries": the same primitive without a timestamp.
    const secret = "It's a Secret to Everybody";
    const published = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    assert.equal(expectedHex(secret, "Hello, World!"), published);
    const header = prepareXWebhookSigner([secret])(5, Buffer.from("Hello, World!"));
    assert.equal(header, `t=5,v1=${expectedHex(secret, "5.Hello, World!")}`);
  });

  test("WDS-154 the signature covers the time", () => {
    const sign = prepareXWebhookSigner(["whsec_secret"]);
    const [first, second] = [10, 11].map((timestampSeconds) => sign(timestampSeconds, body));
    assert.notEqual(first?.split("v1=")[1], second?.split("v1=")[1]);
  });

  test("during a rotation there is one v1 for each secret, newest first", () => {
    const secrets = [generateSymmetricSecret(randomBytes), generateSymmetricSecret(randomBytes)];
    const header = prepareXWebhookSigner(secrets)(9, body);
    const expected = secrets.map((secret) => `v1=${expectedHex(secret, `9.${body.toString()}`)}`);
    assert.equal(header, `t=9,${expected.join(",")}`);
  });

  test("any secret text of any length and alphabet, and any body, give the result of createHmac", () => {
    const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 120 });
    fc.assert(
      fc.property(text, fc.uint8Array({ maxLength: 200 }), fc.nat(), (secret, bytes, timestampSeconds) => {
        const header = prepareXWebhookSigner([secret])(timestampSeconds, bytes);
        const hmac = createHmac("sha256", Buffer.from(secret, "utf8"));
        const expected = hmac.update(`${timestampSeconds}.`).update(bytes).digest("hex");
        assert.equal(header, `t=${timestampSeconds},v1=${expected}`);
      }),
    );
  });

  test("bodies of sizes around that of the scratch buffer are signed correctly", () => {
    for (const size of [0, 63, 64, 65, 16_384, 16_385, 300_000]) {
      const bytes = randomBytes(size);
      const hmac = createHmac("sha256", "whsec_x").update("7.").update(bytes).digest("hex");
      const header = prepareXWebhookSigner(["whsec_x"])(7, bytes);
      assert.equal(header, `t=7,v1=${hmac}`, `${size} bytes`);
    }
  });

  test("a missing secret, an empty one or an invalid time is rejected", () => {
    for (const secrets of [[], [""], ["whsec_a", ""]]) {
      assert.throws(() => prepareXWebhookSigner(secrets), UnsignableMessageError);
    }
    const sign = prepareXWebhookSigner(["whsec_a"]);
    for (const timestampSeconds of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      assert.throws(() => sign(timestampSeconds, body), UnsignableMessageError);
    }
  });
});
