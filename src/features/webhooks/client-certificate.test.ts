/** Limits on the keys that are used in handshakes, because every signature is computed on the main thread. */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { validPair } from "../../../test/peers/certificates.ts";
import { readClientCertificate } from "./webhook-credentials.ts";
import { ProblemList } from "../input.ts";

function rsaKey(modulusLength: number): string {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength });
  return privateKey.export({ type: "pkcs8", format: "pem" });
}

function problemsOf(privateKeyPem: string): readonly string[] {
  const problems = new ProblemList();
  const pair = { certificatePem: validPair.cert, privateKeyPem };
  assert.equal(readClientCertificate(pair, Date.UTC(2026, 0, 1), problems), null);
  try {
    problems.throwIfAny("the webhook");
    return [];
  } catch (error) {
    return (error as { fields: readonly { message: string }[] }).fields.map(({ message }) => message);
  }
}

test("a key that is slow to sign with is rejected, because every handshake would delay all deliveries", () => {
  assert.deepEqual(problemsOf(rsaKey(4_160)), ["must have at most 4096 bits"]);
  assert.deepEqual(problemsOf(rsaKey(2_048)), ["does not belong to the certificate, or is too weak for TLS"]);
});
