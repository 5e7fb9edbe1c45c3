import { exampleEvent, exampleKeys, exampleMessage } from "../../core/profiles/example-message.ts";
import { headerDescriptions } from "../../core/profiles/header-descriptions.ts";
import type { PayloadFormatName, Profile, ProfileHeader } from "../../core/profile.ts";
import { markdownTable } from "./markdown.ts";

/** Headers, signatures and payloads, with an example for each payload format. */
export function messageSections(profile: Profile): string {
  const { headers, migrationHeaders, payloadFormats } = profile;
  const migration =
    migrationHeaders.length === 0
      ? "There are no migration headers."
      : `With \`migration_headers\` also ${migrationHeaders.map(({ name }) => `\`${name}\``).join(", ")}.`;
  return [
    "### Headers",
    "In this order. A signature header is sent if the webhook uses one of its schemes; credentials and custom headers follow.",
    markdownTable(["Header", "Value"], headers.map(headerRow)),
    migration,
    "### Signatures",
    signatureLines(profile),
    "### Payload",
    ...(profile.emptyDataRefused ? [emptyDataLine] : []),
    `The examples are signed with the secret \`${exampleKeys.secret}\` and the key pair of \`${exampleKeys.publicKey}\`.`,
    ...payloadFormats.map((format, index) => formatSection(profile, format, index === 0)),
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
  return `The default is ${list(signatureSchemes)}; a webhook may choose from ${list(signatureSchemesAllowed)}.`;
}

function formatSection(profile: Profile, format: PayloadFormatName, isDefault: boolean): string {
  const { headers, body } = exampleMessage(profile, { format, ...exampleEvent });
  const { pathname, host } = new URL(exampleKeys.url);
  const lines = [`POST ${pathname} HTTP/1.1`, `Host: ${host}`];
  for (const [name, value] of headers) lines.push(`${name}: ${value}`);
  const title = `\`${format}\`${isDefault ? ", the default" : ""}: ${formatTitles[format]}`;
  return `${title}\n\n\`\`\`http\n${[...lines, "", body].join("\n")}\n\`\`\``;
}

const formatTitles: Readonly<Record<PayloadFormatName, string>> = {
  standard: "an object with `type`, `timestamp` and `data`, and `metadata` and `links` if they were given.",
  "standard-thin":
    "the same with minimal data: only the identifiers in `data` (`id`, `uuid`, and names that end in `_id`, `_ids`, `Id` or `Ids`), or the event ID if there are none, and `links`.",
  data: "the published data without an envelope.",
  "x-webhook": "an object of eight fields.",
  "cloudevents-structured": "a CloudEvent as one JSON object.",
  "cloudevents-binary": "a CloudEvent with its attributes in headers and its data as the body.",
};

const verificationTitles: Readonly<Record<Profile["registration"]["verification"], string>> = {
  none: "None by default.",
  challenge: "The receiver must echo a challenge.",
  cloudevents: "The receiver must grant permission with the CloudEvents handshake.",
  dns: "A DNS record must prove ownership.",
};

/** Requirements for webhooks of the profile. */
export function registrationSection({ registration }: Profile): string {
  const { verification, verificationRequired, bearerTokenRequired, permanentRedirectAllowed } = registration;
  const lines = [
    `Verification: ${verificationTitles[verification]} ${verificationRequired ? "It cannot be disabled." : "A webhook may choose another method."}`,
    bearerTokenRequired
      ? "A bearer token or an OAuth 2.0 client is required."
      : "A bearer token is optional.",
    permanentRedirectAllowed
      ? "A 308 changes the stored URL if owner and receiver agreed on it."
      : "A redirect never changes the stored URL.",
  ];
  return ["### Registration", lines.map((line) => `- ${line}`).join("\n")].join("\n\n");
}
