/** The echo challenge of a registration (WDS-170): what is sent, and whether what came back is its echo. */

/** The message that carries a challenge. Its type is a system event that nobody can publish. */
const challengeType = "posthorn.webhook.verification";

export function challengeBody(challenge: string): string {
  return JSON.stringify({ type: challengeType, challenge });
}

/** The challenge as the whole text, or as the member `challenge` of a JSON object; white space around it is forgiven. */
export function isEcho(seen: { readonly body: string; readonly challenge: string }): boolean {
  const { body, challenge } = seen;
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
