/** Limits the computation that attackers can cause. They know the keyid, which is public, but not the key. */
import assert from "node:assert/strict";
import * as nodeCrypto from "node:crypto";
import { test } from "node:test";
import { contentDigest } from "../../domain/signing/http-signatures.ts";
import { createNodeCrypto } from "../crypto/crypto-node.ts";
import type { Verification } from "../message/message.ts";
import { prepareHttpSignaturesVerifier } from "./http-signatures.ts";
import { type Headers, newSecret, orderBody, received, signedAt } from "./signed-messages.fixture.ts";
import { processorMs } from "../../../test/services/processor-time.fixture.ts";

const verifier = prepareHttpSignaturesVerifier(createNodeCrypto(nodeCrypto), {
  keys: [{ key: newSecret(), keyId: "team-a" }],
});
const required = `"@method" "@target-uri" "content-type" "content-digest" "idempotency-key"`;

/** Verifies a message with signatures that cover the required components and `components`, but do not match any key. */
async function verified(forged: {
  readonly labels: number;
  readonly components: string;
  readonly headers?: Headers;
  readonly url?: string;
}): Promise<Verification> {
  const labels = Array.from({ length: forged.labels }, (_, index) => `s${index}`);
  const params = `(${required} ${forged.components});created=${signedAt};keyid="team-a"`;
  const headers = {
    "host": "hooks.example.com",
    "content-type": "application/json",
    "content-digest": contentDigest(orderBody),
    "idempotency-key": '"key-1"',
    "signature-input": labels.map((label) => `${label}=${params}`).join(", "),
    "signature": labels.map((label) => `${label}=:AAAA:`).join(", "),
    ...forged.headers,
  };
  return verifier.verify(received(headers, { url: forged.url ?? "/hooks" }), { nowSeconds: signedAt });
}

/**
 * A valid message takes a fraction of a millisecond. With quadratic complexity, messages of these lengths would take
 * many seconds.
 */
const timeMsMax = 1_000;

test("a field with many blanks takes linear time", async () => {
  const startedAt = processorMs();
  const blanks = { "x-a": `a${" ".repeat(13_000)}b` };
  const { kind } = await verified({ labels: 16, components: '"x-a" "x-a";bs', headers: blanks });
  assert.equal(kind, "rejected");
  assert.ok(processorMs() - startedAt < timeMsMax);
});

test("a signature that covers hundreds of components is rejected before any is read", async () => {
  const names = Array.from({ length: 450 }, (_, index) => index.toString(36).padStart(2, "0"));
  const components = names.map((name) => `"@query-param";name="${name}"`).join(" ");
  assert.deepEqual(await verified({ labels: 1, components, url: `/hooks?${names.join("&")}` }), {
    kind: "rejected",
    cause: "malformed_header",
    detail: "Signature-Input: s0 is not a list of components",
  });
});
