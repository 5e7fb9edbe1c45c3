import type { Profile, ProfileHeader } from "../../core/profile.ts";
import { isSigned } from "../../core/profiles/example-message.ts";

/** The first paragraph of both documents. */
export function describeProfile({ name, description, timeoutMs }: Profile): string {
  return (
    `Messages of the delivery profile \`${name}\`: ${description} ` +
    `Respond within ${timeoutMs / 1_000} seconds. The same message may arrive more than once, with the same id. ` +
    "Data schemas are JSON Schema 2020-12. An event may also be published as bytes of another media type, " +
    "which is then the Content-Type of the message."
  );
}

/** The header with the profile's default signature. */
export function schemeHeader({ headers, signatureSchemes }: Profile): string {
  const isSignature = (header: ProfileHeader): boolean =>
    isSigned(header, signatureSchemes) && !isSigned(header, []);
  const names = headers.filter(isSignature).map(({ name }) => name);
  return names.at(-1) ?? "Webhook-Signature";
}
