import type { HeaderValueSource } from "../profile.ts";

/** Describes a header to readers, with an example value. */
export interface HeaderDescription {
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
