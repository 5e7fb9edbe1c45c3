import type { ProfileHeader } from "../profile.ts";

/** RFC 9421 with RFC 9530; sent only if a webhook signs with one of its algorithms. */
export const messageSignatureHeaders: readonly ProfileHeader[] = [
  { name: "Content-Digest", value: "content_digest" },
  { name: "Signature-Input", value: "signature_input" },
  { name: "Signature", value: "signature" },
];

/** Standard Webhooks with the key of EDS-9.4-1 (TS16-28). No header carries payload data (TS16-39). */
export const standardHeaders: readonly ProfileHeader[] = [
  { name: "Content-Type", value: "content_type" },
  { name: "User-Agent", value: "user_agent" },
  { name: "Webhook-ID", value: "event_id" },
  { name: "Webhook-Timestamp", value: "timestamp_unix" },
  { name: "Webhook-Signature", value: "webhook_signature" },
  { name: "Idempotency-Key", value: "idempotency_key" },
  ...messageSignatureHeaders,
];

/** WDS-157 to 162. */
export const xWebhookHeaders: readonly ProfileHeader[] = [
  { name: "X-Webhook-ID", value: "webhook_id" },
  { name: "X-Webhook-Signature", value: "x_webhook_signature" },
  { name: "X-Webhook-Event", value: "event_type" },
  { name: "X-Webhook-Delivery", value: "delivery_id" },
  { name: "X-Webhook-Attempt", value: "attempt_number" },
  { name: "X-Webhook-Timestamp", value: "timestamp_iso" },
  { name: "X-Idempotency-Key", value: "publisher_key" },
];
