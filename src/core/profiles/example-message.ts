import type { EventContent } from "../payload-formats/content.ts";
import { renderPayload } from "../payload-formats/index.ts";
import { renderStandardPayload, standardContentType } from "../payload-formats/standard.ts";
import type {
  HeaderValueSource,
  PayloadFormatName,
  Profile,
  ProfileHeader,
  SignatureSchemeName,
} from "../profile.ts";
import { type HttpMessageToSign, prepareHttpSignatureSigner } from "../signing/http-signatures.ts";
import {
  type AsymmetricKey,
  generateEd25519Key,
  parseSecret,
  type SymmetricKey,
  symmetricSecretText,
} from "../signing/signing-key.ts";
import { prepareSigner } from "../signing/standard-webhooks.ts";
import { prepareXWebhookSigner } from "../signing/x-webhook.ts";
import { headerDescriptions } from "./header-descriptions.ts";

/**
 * An example of a message that a receiver might get. Ids and times are fixed; body and signatures are created by the
 * normal code.
 */
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

const pair = generateEd25519Key((count) => Buffer.alloc(count, "an example of Posthorn, no secret"));

/** Signing keys of the examples. They are public, so that readers can test their verification with them. */
export const exampleKeys = {
  secret: symmetricSecretText(Buffer.from("an example of Posthorn, no secret")),
  publicKey: pair.publicKey,
  url: "https://receiver.example.com/webhooks",
} as const;

/** The event in the examples of the documentation and the portal. */
export const exampleEvent = {
  eventType: "order.completed",
  data: { order_id: "4711", total: 19.9 },
} as const;

/** An example message of a profile, signed with its default schemes. Pure: always the same. */
export function exampleMessage(profile: Profile, { format, eventType, data }: ExampleInput): ExampleMessage {
  const { contentType, headers, body } = renderPayload(format, exampleContent(eventType, data));
  const own: Partial<Record<HeaderValueSource, string>> = {
    content_type: contentType,
    event_type: eventType,
    ...signatures(profile.signatureSchemes, contentType, body),
  };
  const lines = profile.headers.flatMap((header): (readonly [string, string])[] => {
    if ("literal" in header) return [[header.name, header.literal]];
    if (header.value === "content_format") return pairsOf(headers);
    if (!isSigned(header, profile.signatureSchemes)) return [];
    return [[header.name, own[header.value] ?? headerDescriptions[header.value].example]];
  });
  return { headers: lines, body: Buffer.from(body).toString("utf8") };
}

/** The headers that these schemes create. */
function signatures(
  schemes: readonly SignatureSchemeName[],
  contentType: string,
  body: Uint8Array,
): Partial<Record<HeaderValueSource, string>> {
  const timestampSeconds = Number(headerDescriptions.timestamp_unix.example);
  const symmetric = parseSecret(exampleKeys.secret) as SymmetricKey;
  const asymmetric = parseSecret(pair.secret) as AsymmetricKey;
  const standardKeys = [
    ...(schemes.includes("v1a") ? [asymmetric] : []),
    ...(schemes.includes("v1") ? [symmetric] : []),
  ];
  const message = { timestampSeconds, body, messageId: headerDescriptions.event_id.example };
  return {
    ...(standardKeys.length > 0 && { webhook_signature: prepareSigner(standardKeys)(message) }),
    ...(schemes.includes("x-webhook-v1") && {
      x_webhook_signature: prepareXWebhookSigner([exampleKeys.secret])({ timestampSeconds, body }),
    }),
    ...(schemes.includes("rfc9421-ed25519") &&
      httpSignature(asymmetric, { contentType, body, createdSeconds: timestampSeconds })),
  };
}

function httpSignature(
  key: AsymmetricKey,
  message: Pick<HttpMessageToSign, "contentType" | "body" | "createdSeconds">,
): Partial<Record<HeaderValueSource, string>> {
  const { contentDigest, signatureInput, signature } = prepareHttpSignatureSigner({ keys: [key] })({
    ...message,
    method: "POST",
    targetUri: exampleKeys.url,
    idempotencyKey: headerDescriptions.idempotency_key.example,
  });
  return { content_digest: contentDigest, signature_input: signatureInput, signature };
}

/** True unless the header is a signature that none of the schemes creates. */
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
