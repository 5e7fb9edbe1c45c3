/** Slack: `X-Slack-Signature: v0=…` over `v0:{X-Slack-Request-Timestamp}:{body}`, with the app's signing secret. */
import type { ReceiverCrypto } from "../crypto.ts";
import type { MessageVerifier } from "../message.ts";
import type { SecretOptions, ToleranceOptions } from "./options.ts";
import { fieldOf, messageIdFrom } from "./reading.ts";
import { createV0Verifier } from "./v0-signature.ts";

export interface SlackOptions extends SecretOptions, ToleranceOptions {}

/** Message id: `event_id` of the Events API; null for commands and interactions, which are forms. */
export function createSlackVerifier(crypto: ReceiverCrypto, options: SlackOptions): MessageVerifier {
  return createV0Verifier(crypto, options, {
    name: "slack",
    signatureHeader: "X-Slack-Signature",
    timestampHeader: "X-Slack-Request-Timestamp",
    messageIdOf: ({ body }) => messageIdFrom(fieldOf(body, "event_id")),
  });
}

const challengeLengthMax = 1_024;

/**
 * The text to answer (status 200, `text/plain`) when Slack checks the address of an app, else null. Give it the body of
 * a verified message only.
 */
export function slackChallenge(body: Uint8Array): string | null {
  if (fieldOf(body, "type") !== "url_verification") return null;
  const challenge = fieldOf(body, "challenge");
  return typeof challenge === "string" && challenge.length <= challengeLengthMax ? challenge : null;
}
