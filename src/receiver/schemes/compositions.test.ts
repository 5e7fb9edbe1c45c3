import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { describe, test } from "node:test";
import { cryptos } from "../crypto/cryptos.fixture.ts";
import type { MessageVerifier, Verification } from "../message/message.ts";
import { ReceiverError } from "../receiver-error.ts";
import { allOf, anyOf } from "./first-match.ts";
import { prepareHttpSignaturesVerifier } from "./http-signatures.ts";
import { prepareBearerVerifier } from "./plain-credentials.ts";
import {
  httpSignatureHeaders,
  messageId,
  newPair,
  newSecret,
  received,
  signedAt,
  signingKey,
  standardHeaders,
  xWebhookHeaders,
} from "./signed-messages.fixture.ts";
import { prepareStandardWebhooksVerifier } from "./standard-webhooks.ts";
import { prepareXWebhookVerifier } from "./x-webhook.ts";

const secret = newSecret();
const pair = newPair();
const pairKey = signingKey(pair.secret);
assert.ok(pairKey.kind === "asymmetric");
const now = { nowSeconds: signedAt };
const url = "/hooks?tenant=a";

for (const [name, crypto] of cryptos) {
  const standard = prepareStandardWebhooksVerifier(crypto, { keys: { shop: secret } });
  const xWebhook = prepareXWebhookVerifier(crypto, { secrets: { shop: secret } });
  const http = prepareHttpSignaturesVerifier(crypto, { keys: [{ key: pair.publicKey }] });
  const bearer = prepareBearerVerifier(crypto, { tokens: { caller: "token" } });

  const causeOf = async (
    verifier: MessageVerifier,
    ...input: Parameters<typeof received>
  ): Promise<string> => {
    const result = await verifier.verify(received(...input), now);
    return result.kind === "verified" ? result.scheme : result.cause;
  };

  describe(`several schemes on one endpoint, on ${name}`, () => {
    const any = anyOf([bearer, standard, xWebhook, http]);
    const signed = httpSignatureHeaders({ keys: [pairKey] });

    test("EDS-11.3-2 any of them is enough", async () => {
      assert.equal(await causeOf(any, { authorization: "Bearer token" }), "bearer");
      assert.equal(await causeOf(any, standardHeaders([secret])), "v1");
      assert.equal(await causeOf(any, xWebhookHeaders([secret])), "x-webhook-v1");
      assert.equal(await causeOf(any, signed, { url }), "rfc9421-ed25519");
      assert.equal(await causeOf(any, { ...standardHeaders([secret]), authorization: "Bearer no" }), "v1");
    });

    test("EDS-11.3-3 TS16-55 without any credential nothing is accepted", async () => {
      assert.equal(await causeOf(any, {}), "missing_header");
    });

    test("the cause from the verifier that got furthest is reported", async () => {
      const body = Buffer.from("altered");
      assert.equal(await causeOf(any, standardHeaders([secret]), { body }), "no_matching_signature");
      assert.equal(await causeOf(any, signed, { body, url }), "body_altered");
      assert.equal(await causeOf(any, { authorization: "Bearer no" }), "bad_token");
      const both = { ...signed, "x-webhook-signature": "nonsense" };
      assert.equal(await causeOf(any, both, { body, url }), "body_altered");
      const [old, late] = [standardHeaders([secret]), { nowSeconds: signedAt + 301 }];
      const result = await any.verify(received(old), late);
      assert.equal(result.kind === "rejected" && result.cause, "too_old");
    });

    test("all of them are required, and the first names the producer", async () => {
      const all = allOf([bearer, standard]);
      const headers = { ...standardHeaders([secret]), authorization: "Bearer token" };
      assert.deepEqual(await all.verify(received(headers), now), {
        kind: "verified",
        scheme: "bearer+v1",
        producer: "caller",
        messageId,
        timestampSeconds: signedAt,
        isKeyAuthentic: true,
      });
      assert.equal(await causeOf(all, standardHeaders([secret])), "missing_header");
      assert.equal(await causeOf(all, { authorization: "Bearer token" }), "missing_header");
      assert.equal(await causeOf(all, { ...headers, authorization: "Bearer no" }), "bad_token");
      assert.equal(await causeOf(all, headers, { body: Buffer.from("x") }), "no_matching_signature");
    });

    test("compositions can be nested", async () => {
      const either = anyOf([allOf([bearer, xWebhook]), allOf([standard])]);
      assert.equal(await causeOf(either, standardHeaders([secret])), "v1");
      assert.equal(await causeOf(either, xWebhookHeaders([secret])), "missing_header");
    });
  });
}

describe("compositions", () => {
  test("at least one verifier is required", () => {
    assert.throws(() => anyOf([]), ReceiverError);
    assert.throws(() => allOf([]), ReceiverError);
  });

  test("verifiers after the deciding one are not called", async () => {
    const asked: string[] = [];
    const answering = (name: string, answer: Verification, isLater: boolean): MessageVerifier => ({
      verify: () => {
        asked.push(name);
        return isLater ? Promise.resolve(answer) : answer;
      },
    });
    const yes: Verification = {
      kind: "verified",
      scheme: "s",
      producer: "p",
      messageId: null,
      timestampSeconds: null,
    };
    const no: Verification = { kind: "rejected", cause: "bad_token", detail: "no" };
    for (const isLater of [false, true]) {
      asked.length = 0;
      await anyOf([
        answering("a", no, isLater),
        answering("b", yes, isLater),
        answering("c", yes, isLater),
      ]).verify(received({}), now);
      await allOf([
        answering("d", yes, isLater),
        answering("e", no, isLater),
        answering("f", yes, isLater),
      ]).verify(received({}), now);
      assert.deepEqual(asked, ["a", "b", "d", "e"]);
    }
  });

  test("only verifiers that need a promise return one", () => {
    const yes: Verification = {
      kind: "verified",
      scheme: "s",
      producer: "p",
      messageId: null,
      timestampSeconds: null,
    };
    const atOnce: MessageVerifier = { verify: () => yes };
    assert.ok(!(anyOf([atOnce]).verify(received({}), now) instanceof Promise));
    assert.ok(!(allOf([atOnce, atOnce]).verify(received({}), now) instanceof Promise));
  });
});
