import { exampleEvent, exampleKeys, exampleMessage } from "../../core/profiles/example-message.ts";
import { headerDescriptions } from "../../core/profiles/header-descriptions.ts";
import type { PayloadFormatName, Profile, ProfileHeader } from "../../core/profile.ts";
import { markdownTable } from "./markdown.ts";

/** Headers, signatures and payloads, with an example for each payload format. */
export function messageSections(profile: Profile): string {
  const { headers, migrationHeaders, payloadFormats } = profile;
  const migration =
    migrationHeaders.length === 0
      ? "It has no headers for migrations."
      : `With \`migration_headers\` also ${migrationHeaders.map(({ name }) => `\`${name}\``).join(", ")}.`;
  return [
    "### Headers",
    "In this order. A signature is sent when a scheme of the webhook makes it; credentials and custom headers follow.",
    markdownTable(["Header", "Value"], headers.map(headerRow)),
    migration,
    "### Signatures",
    signatureLines(profile),
    "### Payload",
    ...(profile.emptyDataRefused ? [emptyDataLine] : []),
    `The examples are signed with the secret \`${exampleKeys.secret}\` and the pair of \`${exampleKeys.publicKey}\`.`,
    ...payloadFormats.map((format, index) => formatSection(profile, { format, isDefault: index === 0 })),
  ].join("\n\n");
}

const emptyDataLine =
  "An event whose `data` is `{}` is not sent under this profile: it becomes a dead letter with the reason `empty_data`.";

function headerRow(header: ProfileHeader): readonly string[] {
  if ("literal" in header) return [`\`${header.name}\``, `always \`${header.literal}\``];
  return [`\`${header.name}\``, headerDescriptions[header.value].description];
}

function signatureLines({ signatureSchemes, signatureSchemesAllowed }: Profile): string {
  const list = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(", ");
  return `Signs with ${list(signatureSchemes)} by default; a webhook may choose from ${list(signatureSchemesAllowed)}.`;
}

function formatSection(
  profile: Profile,
  { format, isDefault }: { readonly format: PayloadFormatName; readonly isDefault: boolean },
): string {
  const { headers, body } = exampleMessage(profile, { format, ...exampleEvent });
  const { pathname, host } = new URL(exampleKeys.url);
  const lines = [`POST ${pathname} HTTP/1.1`, `Host: ${host}`];
  for (const [name, value] of headers) lines.push(`${name}: ${value}`);
  const title = `\`${format}\`${isDefault ? ", the default" : ""}: ${formatTitles[format]}`;
  return `${title}\n\n\`\`\`http\n${[...lines, "", body].join("\n")}\n\`\`\``;
}

const formatTitles: Readonly<Record<PayloadFormatName, string>> = {
  standard: "an object with `type`, `timestamp` and `data`, and `metadata` and `links` when they were given.",
  "standard-thin":
    "the same with as little as possible: of `data` the identifiers (`id`, `uuid`, and what ends in `_id`, `_ids`, `Id` or `Ids`), or else the id of the event, and `links`.",
  data: "what was published and nothing around it.",
  "x-webhook": "an object of eight fields.",
  "cloudevents-structured": "a CloudEvent as one JSON object.",
  "cloudevents-binary": "a CloudEvent with its attributes in headers and its data as the body.",
};

const verificationTitles: Readonly<Record<Profile["registration"]["verification"], string>> = {
  none: "None is asked for by default.",
  challenge: "The receiver must echo a challenge.",
  cloudevents: "The receiver must give permission by the CloudEvents handshake.",
  dns: "A DNS record must name the owner.",
};

/** Requirements for webhooks of the profile. */
export function registrationSection({ registration }: Profile): string {
  const { verification, verificationRequired, bearerTokenRequired, permanentRedirectAllowed } = registration;
  const lines = [
    `Verification: ${verificationTitles[verification]} ${verificationRequired ? "It cannot be switched off." : "A webhook may choose another way."}`,
    bearerTokenRequired
      ? "A bearer token or an OAuth 2.0 client must be given."
      : "A bearer token is optional.",
    permanentRedirectAllowed
      ? "A 308 changes the stored URL when owner and receiver agreed on it."
      : "A redirect never changes the stored URL.",
  ];
  return ["### Registration", lines.map((line) => `- ${line}`).join("\n")].join("\n\n");
}
