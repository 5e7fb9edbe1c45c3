/** What strangers can make a receiver compute: they know keyids, because these are public, and no key. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { contentDigest } from "../../core/signing/content-digest.ts";
import { createNodeCrypto } from "../crypto-node.ts";
import * as nodeCrypto from "node:crypto";
import { prepareHttpSignaturesVerifier } from "./http-signatures.ts";
import { type Headers, newSecret, orderBody, received, signedAt } from "./signed-messages.fixture.ts";

const crypto = createNodeCrypto(nodeCrypto);
const verifier = prepareHttpSignaturesVerifier(crypto, { keys: [{ key: newSecret(), keyId: "team-a" }] });

/** A sound message costs a twentieth of a millisecond; a slow machine under load is forgiven a lot. */
const timeMsMax = 400;

async function timeOf(components: string, headers: Headers, url = "/hooks"): Promise<number> {
  const labels = Array.from({ length: 16 }, (_, index) => `s${index}`);
  const covered = `("@method" "@target-uri" "content-type" "content-digest" "idempotency-key" ${components})`;
  const message = received(
    {
      "host": "hooks.example.com",
      "content-type": "application/json",
      "content-digest": contentDigest(orderBody),
      "idempotency-key": '"key-1"',
      "signature-input": labels
        .map((label) => `${label}=${covered};created=${signedAt};keyid="team-a"`)
        .join(", ")
        .slice(0, 16_384),
      "signature": labels.map((label) => `${label}=:AAAA:`).join(", "),
      ...headers,
    },
    { url },
  );
  const startedAt = performance.now();
  const { kind } = await verifier.verify(message, { nowSeconds: signedAt });
  assert.equal(kind, "rejected");
  return performance.now() - startedAt;
}

test("a field of many blanks costs time in proportion to its length", async () => {
  const blanks = `a${" ".repeat(13_000)}b`;
  assert.ok((await timeOf('"x-a" "x-a";bs', { "x-a": blanks })) < timeMsMax);
});

test("a signature that covers hundreds of parts is refused before any is read", async () => {
  const names = Array.from({ length: 450 }, (_, index) => index.toString(36).padStart(2, "0"));
  const parts = names.map((name) => `"@query-param";name="${name}"`).join(" ");
  const signatureInput = `s=("@method" "@target-uri" "content-type" "content-digest" "idempotency-key" ${parts});created=${signedAt};keyid="team-a"`;
  const headers = { "signature-input": signatureInput, "signature": "s=:AAAA:" };
  const { kind, ...rejection } = await verifier.verify(
    received(
      {
        "host": "hooks.example.com",
        "content-type": "application/json",
        "content-digest": contentDigest(orderBody),
        "idempotency-key": '"key-1"',
        ...headers,
      },
      { url: `/hooks?${names.join("&")}` },
    ),
    { nowSeconds: signedAt },
  );
  assert.equal(kind, "rejected");
  assert.deepEqual(rejection, {
    cause: "malformed_header",
    detail: "Signature-Input: s is not a list of components",
  });
});
