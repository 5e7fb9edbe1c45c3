/** The echo challenge of a registration (WDS-170): the message, and the check of the response. */

/** Type of the message with the challenge. It is a system event that applications cannot publish. */
const challengeType = "posthorn.webhook.verification";

export function challengeBody(challenge: string): string {
  return JSON.stringify({ type: challengeType, challenge });
}

/**
 * Accepts the challenge as the whole text, or as the member `challenge` of a JSON object; surrounding white space is
 * ignored.
 */
export function isEcho(body: string, challenge: string): boolean {
  const text = body.trim();
  if (text === challenge) return true;
  try {
    const value: unknown = JSON.parse(text);
    if (value === challenge) return true;
    return (
      typeof value === "object" && value !== null && "challenge" in value && value.challenge === challenge
    );
  } catch {
    return false;
  }
}
