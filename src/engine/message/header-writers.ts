import { withRelayedPath } from "../../core/gateway/relayed.ts";
import type { RenderedContent } from "../../core/payload-formats/content.ts";
import type { HeaderValueSource, ProfileHeader } from "../../core/profile.ts";
import type { HttpSignatureFields } from "../../core/signing/http-signatures.ts";
import type { ComposedDelivery } from "./compose.ts";
import type { Signers } from "./signers.ts";

/** Data that is the same in every message of a webhook. */
export interface MessageContext {
  readonly signers: Signers;
  readonly userAgent: string;
  /** The DNS name of this system (CEW-4.1.2-1). */
  readonly requestOrigin: string;
  /** Absolute URL of the target, as in the request. */
  readonly targetUri: string;
}

/** One message while its headers are being written. */
export interface MessageDraft {
  readonly delivery: ComposedDelivery;
  readonly content: RenderedContent;
  /** Time of this attempt, Unix milliseconds. */
  readonly now: number;
  readonly headers: string[];
  /** Computed once, for the three headers that share it. */
  httpSignature: HttpSignatureFields | null;
}

/** Appends zero or more headers. */
export type HeaderWriter = (draft: MessageDraft) => void;

/** Compiles the headers of a profile for one webhook. Signature headers without a scheme are omitted. */
export function compileHeaders(headers: readonly ProfileHeader[], context: MessageContext): HeaderWriter[] {
  return headers.flatMap((header) => {
    if ("literal" in header) {
      const { name, literal } = header;
      return [({ headers: written }: MessageDraft) => void written.push(name, literal)];
    }
    const writer = writerOf(header.value, header.name, context);
    return writer === null ? [] : [writer];
  });
}

function writerOf(source: HeaderValueSource, name: string, context: MessageContext): HeaderWriter | null {
  const { signers, userAgent, requestOrigin } = context;
  switch (source) {
    case "content_format":
      return (draft) => void draft.headers.push(...draft.content.headers);
    case "user_agent":
      return write(name, () => userAgent);
    case "request_origin":
      return write(name, () => requestOrigin);
    case "webhook_signature":
      return signers.standard === null ? null : standardSignature(name, signers.standard);
    case "x_webhook_signature":
      return signers.xWebhook === null ? null : xWebhookSignature(name, signers.xWebhook);
    case "content_digest":
      return signers.http === null
        ? null
        : write(name, (draft) => httpSignature(draft, context).contentDigest);
    case "signature_input":
      return signers.http === null
        ? null
        : write(name, (draft) => httpSignature(draft, context).signatureInput);
    case "signature":
      return signers.http === null ? null : write(name, (draft) => httpSignature(draft, context).signature);
    default:
      return write(name, values[source]);
  }
}

function write(name: string, value: (draft: MessageDraft) => string): HeaderWriter {
  return (draft) => void draft.headers.push(name, value(draft));
}

/** Values that depend only on the message. */
const values = {
  content_type: ({ content }: MessageDraft) => content.contentType,
  event_id: ({ delivery }: MessageDraft) => messageId(delivery),
  idempotency_key: ({ delivery }: MessageDraft) => idempotencyKey(delivery),
  publisher_key: ({ delivery }: MessageDraft) => publisherKey(delivery),
  timestamp_unix: ({ now }: MessageDraft) => String(Math.floor(now / 1000)),
  timestamp_iso: ({ now }: MessageDraft) => new Date(now).toISOString(),
  webhook_id: ({ delivery }: MessageDraft) => delivery.webhookId,
  event_type: ({ delivery }: MessageDraft) => delivery.eventType,
  delivery_id: ({ delivery }: MessageDraft) => delivery.id,
  attempt_number: ({ delivery }: MessageDraft) => String(delivery.progress.attemptCount + 1),
} as const;

/** A structured-field string (IDK-2); IDs are UUIDs and need no escaping. A relayed key is unchanged (EDS-9.7-1). */
function idempotencyKey({ eventId, relayed }: ComposedDelivery): string {
  return relayed?.key ?? `"${eventId}"`;
}

/** The ID of the original sender, if it was verified; otherwise the event ID. */
function messageId({ eventId, relayed }: ComposedDelivery): string {
  return relayed?.webhookId ?? eventId;
}

/** The publisher's own key; for relayed messages, the received field. */
function publisherKey({ eventId, idempotencyKey: own, relayed }: ComposedDelivery): string {
  if (relayed === null) return own ?? eventId;
  return relayed.key ?? eventId;
}

function standardSignature(name: string, sign: NonNullable<Signers["standard"]>): HeaderWriter {
  return write(name, ({ delivery, content, now }) =>
    sign({
      messageId: messageId(delivery),
      timestampSeconds: Math.floor(now / 1000),
      body: content.body,
    }),
  );
}

function xWebhookSignature(name: string, sign: NonNullable<Signers["xWebhook"]>): HeaderWriter {
  return write(name, ({ content, now }) =>
    sign({ timestampSeconds: Math.floor(now / 1000), body: content.body }),
  );
}

function httpSignature(draft: MessageDraft, { signers, targetUri }: MessageContext): HttpSignatureFields {
  const { content, delivery, now } = draft;
  draft.httpSignature ??= (signers.http as NonNullable<Signers["http"]>)({
    method: "POST",
    targetUri: withRelayedPath(targetUri, delivery.relayed),
    contentType: content.contentType,
    idempotencyKey: idempotencyKey(delivery),
    createdSeconds: Math.floor(now / 1000),
    body: content.body,
  });
  return draft.httpSignature;
}
