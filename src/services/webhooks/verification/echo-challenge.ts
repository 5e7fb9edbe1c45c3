import { challengeBody, isEcho } from "../../../core/verification/challenge.ts";
import type { VerificationOutcome } from "../../../core/verification/verification-state.ts";
import { requestTo, type VerificationMeans, type VerificationTarget } from "./verification-means.ts";

/** The echo is short, so a longer response cannot be one. */
const answerBytesMax = 4_096;

/**
 * Sends a random text that the receiver must return with a 2xx (WDS-170). Like every message it has an id and a
 * timestamp, but no signature, because the receiver does not have the secret during registration.
 */
export async function sendChallenge(
  target: VerificationTarget,
  how: Pick<VerificationMeans, "transport" | "userAgent"> & {
    readonly challenge: string;
    readonly messageId: string;
    readonly now: number;
  },
): Promise<VerificationOutcome> {
  const headers = [
    "Content-Type",
    "application/json",
    "User-Agent",
    how.userAgent,
    "Webhook-ID",
    how.messageId,
    "Webhook-Timestamp",
    String(Math.floor(how.now / 1_000)),
  ];
  const body = Buffer.from(challengeBody(how.challenge));
  const request = { method: "POST", headers, body, responseBodyBytesMax: answerBytesMax } as const;
  const { observation, responseSample, errorMessage } = await how.transport.send(requestTo(target, request));
  if (observation.kind === "failure") {
    return {
      kind: "unreachable",
      detail: `the challenge got no response: ${errorMessage ?? "no connection"}`,
    };
  }
  const { status } = observation;
  if (status < 200 || status > 299) {
    return { kind: "refused", detail: `the receiver responded to the challenge with status ${status}` };
  }
  const answer = Buffer.from(responseSample ?? []).toString("utf8");
  if (!isEcho(answer, how.challenge)) {
    const seen = answer === "" ? "an empty body" : `${Buffer.byteLength(answer)} bytes other than its echo`;
    return {
      kind: "refused",
      detail: `the receiver responded to the challenge with status ${status} and ${seen}`,
    };
  }
  return { kind: "granted", detail: "the receiver echoed the challenge", allowedRatePerMinute: null };
}
