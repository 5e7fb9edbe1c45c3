import type { EventContent } from "../payload-formats/content.ts";
import { renderPayload } from "../payload-formats/index.ts";
import { renderStandardPayload, standardContentType } from "../payload-formats/standard.ts";
import type { PayloadFormatName, Profile, ProfileHeader, SignatureSchemeName } from "../profile.ts";
import { headerDescriptions } from "./header-descriptions.ts";

/** A message as a receiver might get it. Ids, times and signatures are made up; the body is rendered like any other. */
export interface ExampleMessage {
  /** In the order they are sent. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** UTF-8 text: the examples are JSON. */
  readonly body: string;
}

export interface ExampleInput {
  readonly format: PayloadFormatName;
  readonly eventType: string;
  readonly data: unknown;
}

/** An example of a profile's messages, signed with the schemes that it uses by default. Pure: always the same. */
export function exampleMessage(profile: Profile, { format, eventType, data }: ExampleInput): ExampleMessage {
  const { contentType, headers, body } = renderPayload(format, exampleContent(eventType, data));
  const own: Partial<Record<string, string>> = {
    content_type: contentType,
    event_type: eventType,
    webhook_signature: profile.signatureSchemes
      .flatMap((scheme) => webhookSignatures[scheme] ?? [])
      .join(" "),
  };
  const lines = profile.headers.flatMap((header): (readonly [string, string])[] => {
    if ("literal" in header) return [[header.name, header.literal]];
    if (header.value === "content_format") return pairsOf(headers);
    if (!isSigned(header, profile.signatureSchemes)) return [];
    return [[header.name, own[header.value] ?? headerDescriptions[header.value].example]];
  });
  return { headers: lines, body: Buffer.from(body).toString("utf8") };
}

/** What each scheme adds to `Webhook-Signature`. */
const webhookSignatures: Readonly<Partial<Record<SignatureSchemeName, string>>> = {
  v1: headerDescriptions.webhook_signature.example,
  v1a: "v1a,wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==",
};

/** True unless the header is a signature that none of the schemes makes. */
export function isSigned(header: ProfileHeader, schemes: readonly SignatureSchemeName[]): boolean {
  if ("literal" in header) return true;
  switch (header.value) {
    case "webhook_signature":
      return schemes.includes("v1") || schemes.includes("v1a");
    case "x_webhook_signature":
      return schemes.includes("x-webhook-v1");
    case "content_digest":
    case "signature_input":
    case "signature":
      return schemes.includes("rfc9421-ed25519") || schemes.includes("rfc9421-hmac-sha256");
    default:
      return true;
  }
}

function exampleContent(eventType: string, data: unknown): EventContent {
  const timestamp = Date.parse(headerDescriptions.timestamp_iso.example);
  const dataJson = JSON.stringify(data);
  return {
    eventId: headerDescriptions.event_id.example,
    tenantId: "default",
    eventType,
    timestamp,
    source: "shop",
    idempotencyKey: headerDescriptions.publisher_key.example,
    eventPriority: "normal",
    sequenceNumber: 42,
    contentType: standardContentType,
    raw: false,
    body: renderStandardPayload({ eventType, timestamp, dataJson, metadataJson: null, links: null }),
  };
}

function pairsOf(flat: readonly string[]): (readonly [string, string])[] {
  return flat.flatMap((name, index) => (index % 2 === 0 ? [[name, flat[index + 1] ?? ""] as const] : []));
}
