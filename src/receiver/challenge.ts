import type { ReceiverAnswer } from "./receiver-answer.ts";

/**
 * The form of a challenge: long enough for any random text, without characters that a browser could interpret as a
 * page.
 */
const challengeText = /^[\w.~+/=-]{1,512}$/;
const bodyBytesMax = 4_096;

/**
 * The echo of a Posthorn registration challenge (`verify_url`), or null for any other message. The challenge is not
 * signed, because the receiver has no secret yet. The echo only confirms that deliveries are wanted here.
 */
export function echoChallenge(body: Uint8Array): ReceiverAnswer | null {
  const challenge = body.length <= bodyBytesMax ? challengeOf(body) : null;
  if (challenge === null) return null;
  const headers = { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" };
  return { status: 200, headers, body: challenge };
}

function challengeOf(body: Uint8Array): string | null {
  try {
    const message: unknown = JSON.parse(new TextDecoder().decode(body));
    if (typeof message !== "object" || message === null) return null;
    const { type, challenge } = message as { readonly type?: unknown; readonly challenge?: unknown };
    const isQuestion = type === "posthorn.webhook.verification" && typeof challenge === "string";
    return isQuestion && challengeText.test(challenge) ? challenge : null;
  } catch {
    return null;
  }
}
