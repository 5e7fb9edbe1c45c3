import type { Buffer } from "node:buffer";
import { Webhook } from "standardwebhooks";
import { defaultCrypto } from "../../src/receiver/crypto/default-crypto.ts";
import { receivedHeaders, type ReceivedMessage } from "../../src/receiver/message/message.ts";
import { prepareStandardWebhooksVerifier } from "../../src/receiver/schemes/standard-webhooks.ts";
import { atLeast, median } from "../measure.ts";
import { messageBody, messageHeaders, messageSigner, secretTexts } from "../message.ts";
import type { Row } from "../row.ts";

/** Number of verifications between two clock readings. */
const batch = 500;
const roundMs = 250;
const roundMsQuick = 120;
const roundsPerRun = 5;
const roundsPerRunQuick = 3;

/**
 * Measures how fast one core verifies a `v1` message of 1 KiB, compared with the package `standardwebhooks` (which
 * computes SHA-256 in JavaScript). Both receive the raw bytes and the headers and verify the message. Neither parses
 * the JSON.
 */
export const verify: Row = {
  name: "verify",
  run(context) {
    const message = signedMessage();
    const ours = verifierOfTheKit(message);
    const theirs = verifierOfThePackage(message);
    const durationMs = context.quick ? roundMsQuick : roundMs;
    // Warms up both, which compiles the code and shows that both accept the message.
    for (const run of [ours, theirs]) rateOf(run, durationMs);
    const rates: number[] = [];
    const baselines: number[] = [];
    const ratios: number[] = [];
    const rounds = context.runs * (context.quick ? roundsPerRunQuick : roundsPerRun);
    for (let round = 0; round < rounds; round += 1) {
      const before = rateOf(theirs, durationMs);
      const rate = rateOf(ours, durationMs);
      const after = rateOf(theirs, durationMs);
      rates.push(rate);
      baselines.push(before, after);
      ratios.push((2 * rate) / (before + after));
    }
    const value = median(rates);
    context.note(
      `verify: ${(1_000_000 / value).toFixed(1)} µs a message, standardwebhooks ${(1_000_000 / median(baselines)).toFixed(1)} µs`,
    );
    const line = { name: "verify", value, unit: "verifications/s", baseline: median(baselines) };
    return Promise.resolve([atLeast({ ...line, ratio: median(ratios) }, 1, "standardwebhooks")]);
  },
};

function signedMessage(): { readonly fields: Readonly<Record<string, string>>; readonly body: Buffer } {
  const body = messageBody();
  const flat = messageHeaders("0198c3f2-7a4e-7c11-9d3e-5b0a6f1e2d3c", body, messageSigner(["v1"]));
  const fields = Array.from({ length: flat.length / 2 }, (_, index) => flat.slice(index * 2, index * 2 + 2));
  return { fields: Object.fromEntries(fields) as Record<string, string>, body };
}

type Message = ReturnType<typeof signedMessage>;

function verifierOfTheKit({ fields, body }: Message): () => void {
  const verifier = prepareStandardWebhooksVerifier(defaultCrypto, { keys: secretTexts.v1 });
  const nowSeconds = Math.floor(Date.now() / 1_000);
  return () => {
    const headers = receivedHeaders(Object.entries(fields));
    const message: ReceivedMessage = { method: "POST", url: "/", headers, body };
    const answer = verifier.verify(message, { nowSeconds });
    if (answer instanceof Promise || answer.kind !== "verified") throw new Error("not verified");
  };
}

/** The package throws if it does not accept the message. */
function verifierOfThePackage({ fields, body }: Message): () => void {
  const webhook = new Webhook(secretTexts.v1);
  return () => {
    webhook.verify(body, fields, { jsonParse: false });
  };
}

function rateOf(run: () => void, durationMs: number): number {
  const startedAt = performance.now();
  let count = 0;
  let elapsedMs = 0;
  do {
    for (let index = 0; index < batch; index += 1) run();
    count += batch;
    elapsedMs = performance.now() - startedAt;
  } while (elapsedMs < durationMs);
  return (count * 1_000) / elapsedMs;
}
