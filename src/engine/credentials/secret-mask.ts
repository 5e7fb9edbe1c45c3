/** Shorter texts are no secrets that hold, and would blot out half of an answer. */
const secretLengthMin = 8;

/**
 * Hides the secrets that a webhook showed to its receiver in what the receiver sent back: redirects repeat the query they
 * were asked with, error pages the path and headers. What is kept of an answer is read by more people than the secrets.
 * A secret is found as it is and percent-encoded, once or twice, as in `?next=` of a login page.
 */
export function maskSecrets(text: string, secrets: readonly string[]): string {
  let masked = text;
  for (const secret of secrets) {
    if (secret.length < secretLengthMin) continue;
    const encoded = encodeURIComponent(secret);
    for (const spelling of [secret, encoded, encodeURIComponent(encoded)]) {
      masked = masked.replaceAll(spelling, "***");
    }
  }
  return masked;
}

/** An address without its `access_token`, all other characters of it as they were. */
export function withoutAccessToken(url: string): string {
  const start = url.indexOf("?");
  if (start < 0) return url;
  const parameters = url.slice(start + 1).split("&");
  const kept = parameters.filter((parameter) => !parameter.startsWith("access_token="));
  return kept.length === 0 ? url.slice(0, start) : `${url.slice(0, start)}?${kept.join("&")}`;
}
