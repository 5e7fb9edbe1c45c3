import assert from "node:assert/strict";
import * as nodeCrypto from "node:crypto";
import { describe, test } from "node:test";
import type { ReceiverCrypto } from "./crypto.ts";
import { createNodeCrypto } from "./crypto-node.ts";
import { createWebCrypto } from "./default-crypto.ts";
import type { MessageVerifier, ReceivedMessage } from "../message/message.ts";
import { bindProviders } from "../providers/index.ts";
import { senders } from "../providers/senders.fixture.ts";
import { prepareBearerVerifier } from "../schemes/plain-credentials.ts";
import { prepareHttpSignaturesVerifier } from "../schemes/http-signatures.ts";
import {
  httpSignatureHeaders,
  newSecret,
  received,
  signedAt,
  signingKey,
  standardHeaders,
  xWebhookHeaders,
} from "../schemes/signed-messages.fixture.ts";
import { prepareStandardWebhooksVerifier } from "../schemes/standard-webhooks.ts";
import { prepareXWebhookVerifier } from "../schemes/x-webhook.ts";

/** Bytes that count how often they are read. */
function watched(bytes: readonly number[]): { readonly bytes: Uint8Array; readonly looks: () => number } {
  let looks = 0;
  const fake = { length: bytes.length };
  for (const [index, byte] of bytes.entries()) {
    Object.defineProperty(fake, index, {
      get: () => {
        looks += 1;
        return byte;
      },
    });
  }
  return { bytes: fake as unknown as Uint8Array, looks: () => looks };
}

describe("a comparison reads every byte, wherever the first difference is", () => {
  test("TS16-88 on WebCrypto", () => {
    const { equal } = createWebCrypto(globalThis.crypto.subtle);
    const expected = Uint8Array.from({ length: 32 }, () => 7);
    for (const different of [0, 15, 31, null]) {
      const given = watched([...expected].map((byte, index) => (index === different ? byte + 1 : byte)));
      assert.equal(equal(given.bytes, expected), different === null);
      assert.equal(given.looks(), 32, `the difference is at ${different}`);
    }
  });

  test("TS16-88 on node:crypto, whose comparison is used", () => {
    const compared: [unknown, unknown][] = [];
    const timingSafeEqual: typeof nodeCrypto.timingSafeEqual = (left, right) => {
      compared.push([left, right]);
      return nodeCrypto.timingSafeEqual(left, right);
    };
    const { equal } = createNodeCrypto({ ...nodeCrypto, timingSafeEqual });
    const expected = Uint8Array.of(1, 2, 3);
    for (const given of [Uint8Array.of(9, 2, 3), Uint8Array.of(1, 2, 9), Uint8Array.of(1, 2, 3)]) {
      assert.equal(equal(given, expected), given.join() === expected.join());
      assert.deepEqual(compared.pop(), [given, expected]);
    }
  });
});

const secret = newSecret();
const { kind, bytes } = signingKey(secret) as Extract<ReturnType<typeof signingKey>, { kind: "symmetric" }>;
const http = httpSignatureHeaders({ keys: [{ kind, bytes, keyId: "key-1" }] });

/** A scheme whose receiver and sender share a secret. */
interface SharedSecretScheme {
  readonly name: string;
  readonly verifier: (crypto: ReceiverCrypto) => MessageVerifier;
  readonly message: ReceivedMessage;
}

const schemes: readonly SharedSecretScheme[] = [
  {
    name: "v1",
    verifier: (crypto) => prepareStandardWebhooksVerifier(crypto, { keys: secret }),
    message: received(standardHeaders([secret])),
  },
  {
    name: "X-Webhook-Signature",
    verifier: (crypto) => prepareXWebhookVerifier(crypto, { secrets: secret }),
    message: received(xWebhookHeaders([secret])),
  },
  {
    name: "hmac-sha256 of RFC 9421",
    verifier: (crypto) => prepareHttpSignaturesVerifier(crypto, { keys: [{ key: secret, keyId: "key-1" }] }),
    message: received(http, { url: "/hooks?tenant=a" }),
  },
  {
    name: "bearer token",
    verifier: (crypto) => prepareBearerVerifier(crypto, { tokens: "token-4711" }),
    message: received({ authorization: "Bearer token-4711" }),
  },
  ...senders
    // These two schemes sign with a private key, so there is no shared secret to guess byte by byte.
    .filter(({ name }) => !["discord", "sendgrid"].includes(name))
    .map((sender) => ({
      name: sender.name,
      verifier: (crypto: ReceiverCrypto) => sender.verifier(bindProviders(crypto), [0]),
      message: sender.message({ body: sender.body, timestampSeconds: signedAt, key: 0 }),
    })),
];

describe("every shared-secret scheme uses that comparison", () => {
  for (const { name, verifier, message } of schemes) {
    test(`TS16-88 ${name}`, async () => {
      const crypto = createNodeCrypto(nodeCrypto);
      const kindWith = async (used: ReceiverCrypto): Promise<string> =>
        (await verifier(used).verify(message, { nowSeconds: signedAt })).kind;
      assert.equal(await kindWith(crypto), "verified");
      assert.equal(await kindWith({ ...crypto, equal: () => false }), "rejected");
    });
  }
});
