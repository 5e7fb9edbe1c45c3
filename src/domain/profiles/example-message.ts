import {
  type EventContent,
  renderPayload,
  renderStandardPayload,
  standardContentType,
} from "../payload-formats.ts";
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

/** Describes a header, with an example value. */
interface HeaderDescription {
  readonly description: string;
  readonly example: string;
}

const eventId = "0198c3f2-7a4e-7c11-9d3e-5b0a6f1e2d3c";

/** One entry for each source of a header's value, so that new ones cannot stay undocumented. */
export const headerDescriptions: Readonly<Record<HeaderValueSource, HeaderDescription>> = {
  content_type: { description: "Media type of the body.", example: "application/json" },
  content_format: {
    description: "Attributes of a CloudEvent in binary mode; absent in structured mode.",
    example: "1.0",
  },
  user_agent: { description: "Name of the sending program.", example: "Posthorn/1" },
  event_id: { description: "Id of the event: the same in every attempt and replay.", example: eventId },
  idempotency_key: {
    description: "Id of the event as a structured-field string: the same in every attempt and replay.",
    example: `"${eventId}"`,
  },
  publisher_key: {
    description: "The publisher's key, or the event's id.",
    example: "order-4711-completed",
  },
  timestamp_unix: {
    description: "When this attempt was sent, in Unix seconds; covered by the signature.",
    example: "1773578096",
  },
  timestamp_iso: {
    description: "When this attempt was sent, as RFC 3339.",
    example: "2026-03-15T12:34:56.789Z",
  },
  webhook_id: { description: "Id of the webhook.", example: "0198c3f0-1111-7a22-8b33-9c44d5e6f708" },
  event_type: { description: "Type of the event.", example: "order.completed" },
  delivery_id: {
    description: "Id of the delivery: the same in all its attempts.",
    example: "0198c3f2-8b5f-7d22-8e4f-6c1b7a2f3e4d",
  },
  attempt_number: { description: "Number of this attempt, from 1.", example: "1" },
  request_origin: {
    description: "DNS name of the sending system, as in the permission handshake.",
    example: "events.example.com",
  },
  webhook_signature: {
    description:
      "Signatures over `{id}.{timestamp}.{body}`, separated by spaces: `v1` HMAC-SHA256, `v1a` Ed25519, both in base64.",
    example: "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
  },
  x_webhook_signature: {
    description: "Unix seconds and HMAC-SHA256 over `{t}.{body}` in lower-case hex.",
    example: "t=1773578096,v1=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd",
  },
  content_digest: {
    description: "SHA-256 of the body (RFC 9530).",
    example: "sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:",
  },
  signature_input: {
    description: "The signed components, the key and the time (RFC 9421).",
    example:
      'sig1=("@method" "@target-uri" "content-type" "content-digest" "idempotency-key");created=1773578096' +
      ';keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";alg="ed25519";tag="posthorn"',
  },
  signature: {
    description: "The signatures themselves (RFC 9421).",
    example:
      "sig1=:wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==:",
  },
};

/**
 * An example of a message that a receiver might get. IDs and times are fixed; the regular code creates body and
 * signatures.
 */
interface ExampleMessage {
  /** In the order in which they are sent. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** UTF-8 text, because the examples are JSON. */
  readonly body: string;
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

/** An example message of a profile, signed with its default schemes. Pure, so the result is always the same. */
export function exampleMessage(
  profile: Profile,
  format: PayloadFormatName,
  eventType: string,
  data: unknown,
): ExampleMessage {
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

/** The signature headers that these schemes create. */
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
      x_webhook_signature: prepareXWebhookSigner([exampleKeys.secret])(timestampSeconds, body),
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
    body: renderStandardPayload(eventType, timestamp, dataJson, null, null),
  };
}

function pairsOf(flat: readonly string[]): (readonly [string, string])[] {
  return flat.flatMap((name, index) => (index % 2 === 0 ? [[name, flat[index + 1] ?? ""] as const] : []));
}
