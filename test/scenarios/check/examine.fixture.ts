import { findProfile } from "../../../src/domain/profiles/index.ts";
import type { Finding } from "../../../src/check/finding.ts";
import { checkReceiver } from "../../../src/check/receiver/check-receiver.ts";
import type { ReceiverUnderCheck } from "../../../src/check/receiver/messages.ts";

export const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
export const bearerToken = "a-token-of-the-check";
export const keyId = "webhook-1";
export const origin = "sender.example.com";

/** Long enough that only a receiver that hangs reaches the timeout, even on a busy machine. */
const patientMs = 60_000;

export interface Examination {
  readonly url: string;
  readonly profile: string;
  readonly receiver?: Partial<ReceiverUnderCheck>;
  /** The default is true. */
  readonly allowValid?: boolean;
  readonly timeoutMs?: number;
}

/** Checks a receiver with every option set. */
export function examine({
  url,
  profile: name,
  receiver,
  allowValid = true,
  timeoutMs = patientMs,
}: Examination) {
  const profile = findProfile(name);
  if (profile === undefined) throw new Error(`there is no profile ${name}`);
  return checkReceiver({
    receiver: {
      url: new URL(url),
      profile,
      secret,
      scheme: null,
      keyId,
      origin,
      promptMs: patientMs,
      bearerToken: profile.registration.bearerTokenRequired ? bearerToken : null,
      eventType: "check.test",
      ...receiver,
    },
    allowValid,
    timeoutMs,
    trying: () => undefined,
    found: () => undefined,
  });
}

/** The IDs of the rules with a result, sorted. */
export function idsOf(findings: readonly Finding[], state: Finding["state"]): readonly string[] {
  return findings
    .filter((finding) => finding.state === state)
    .map(({ id }) => id)
    .toSorted();
}

/** Failed rules with their observations, used as the message of an assertion. */
export function failuresOf(findings: readonly Finding[]): string {
  return findings
    .filter(({ state }) => state === "failed")
    .map(({ id, detail }) => `${id}: ${detail}`)
    .join("\n");
}
