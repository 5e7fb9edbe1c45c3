import { type EventContent, type RenderedContent, renderPayload } from "../../domain/payload-formats.ts";
import type { HeaderValueSource, ProfileHeader, SignatureSchemeName } from "../../domain/profile.ts";
import {
  type HttpSignatureFields,
  type HttpSignatureSigner,
  prepareHttpSignatureSigner,
} from "../../domain/signing/http-signatures.ts";
import { signatureSchemeKeys } from "../../domain/signing/schemes.ts";
import type { AsymmetricKey, SigningKey, SymmetricKey } from "../../domain/signing/signing-key.ts";
import { prepareSigner, type Signer } from "../../domain/signing/standard-webhooks.ts";
import { prepareXWebhookSigner, type XWebhookSigner } from "../../domain/signing/x-webhook.ts";
import {
  attemptSpanId,
  randomFlag,
  sampledFlag,
  traceIdOf,
  traceparentOf,
} from "../../domain/tracing/trace-context.ts";
import type { TracePolicy } from "../../domain/webhook.ts";
import { withRelayedPath } from "../../features/gateway/relayed.ts";
import type { ClaimedDelivery } from "../../ports/store/deliveries.ts";

/** Dictionary headers (RFC 9421), to which the original sender's signature is added under its own label. */
const dictionaries = new Set(["signature", "signature-input"]);
const label = /^[a-z*][a-z0-9_.*-]*(?==)/;

/**
 * Adds the headers of a relayed message. Headers that the profile itself writes are not replaced. Both lists are flat
 * name-value lists.
 */
function addRelayed(headers: string[], relayed: readonly string[]): void {
  const places = new Map<string, number>();
  for (const [at, text] of headers.entries()) if (at % 2 === 0) places.set(text.toLowerCase(), at);
  for (const [at, name] of relayed.entries()) {
    if (at % 2 === 1) continue;
    const value = relayed[at + 1] ?? "";
    const written = places.get(name.toLowerCase());
    if (written === undefined) headers.push(name, value);
    else if (dictionaries.has(name.toLowerCase())) {
      const own = headers[written + 1] ?? "";
      const isTaken = value.includes(`${label.exec(own)?.[0] ?? ""}=`);
      if (!isTaken) headers[written + 1] = `${own}, ${value}`;
    }
  }
}

/**
 * `traceparent` of one attempt, whose span is the parent of the receiver's spans. Includes `tracestate` if that was
 * agreed.
 */
function traceHeaders(delivery: ComposedDelivery, policy: TracePolicy): readonly string[] {
  const { trace } = delivery;
  if (policy === "off" || (trace === null && policy !== "always")) return [];
  const traceparent = traceparentOf({
    traceId: traceIdOf(delivery.eventId, trace),
    spanId: attemptSpanId(delivery.id, delivery.progress.attemptCount + 1),
    flags: trace?.flags ?? sampledFlag | randomFlag,
  });
  const headers = ["traceparent", traceparent];
  const state = trace?.state ?? null;
  if (policy === "forward_with_state" && state !== null) headers.push("tracestate", state);
  return headers;
}

/** Headers and body of one attempt, ready for the transport. */
interface ComposedMessage {
  /** Flat name-value list. */
  readonly headers: string[];
  readonly body: Uint8Array;
}

/** Composes one attempt of a delivery for a given time (Unix milliseconds). */
export type MessageComposer = (delivery: ComposedDelivery, now: number) => ComposedMessage;

/** The delivery data from which a message is built. Contains only stored data. */
export type ComposedDelivery = Omit<
  ClaimedDelivery,
  "lease" | "webhookTenantId" | "priority" | "progress"
> & { readonly progress: Pick<ClaimedDelivery["progress"], "attemptCount"> };

/**
 * Prepares the messages of a webhook. ID, key, content type and body are the same in every attempt of the event;
 * timestamp and signatures are new each time (TS16-34, TS16-69, EDS-9.4-3). `fixedHeaders` are appended: credentials
 * and custom headers.
 */
export function prepareComposer(
  headers: readonly ProfileHeader[],
  webhook: MessageContext & { readonly fixedHeaders: readonly string[]; readonly traces: TracePolicy },
): MessageComposer {
  const writers = compileHeaders(headers, webhook);
  const { fixedHeaders, traces } = webhook;
  const invents = traces === "always";
  return (delivery, now) => {
    const content = renderPayload(delivery.format, contentOf(delivery));
    const draft: MessageDraft = { delivery, content, now, headers: [], httpSignature: null };
    for (const write of writers) write(draft);
    if (delivery.relayed !== null) addRelayed(draft.headers, delivery.relayed.headers);
    if (delivery.trace !== null || invents) draft.headers.push(...traceHeaders(delivery, traces));
    draft.headers.push(...fixedHeaders);
    return { headers: draft.headers, body: content.body };
  };
}

function contentOf(delivery: ComposedDelivery): EventContent {
  if (delivery.body === null) throw new Error(`delivery ${delivery.id} has no body any more`);
  return delivery as ComposedDelivery & EventContent;
}

/** Data that is the same in every message of a webhook. */
interface MessageContext {
  readonly signers: Signers;
  readonly userAgent: string;
  /** The DNS name of this system (CEW-4.1.2-1). */
  readonly requestOrigin: string;
  /** Absolute URL of the target, as in the request. */
  readonly targetUri: string;
}

/** One message whose headers are being written. */
interface MessageDraft {
  readonly delivery: ComposedDelivery;
  readonly content: RenderedContent;
  /** Time of this attempt, Unix milliseconds. */
  readonly now: number;
  readonly headers: string[];
  /** Computed once, for the three headers that share it. */
  httpSignature: HttpSignatureFields | null;
}

/** Appends zero or more headers. */
type HeaderWriter = (draft: MessageDraft) => void;

/** Compiles the headers of a profile for one webhook. Signature headers without a scheme are omitted. */
function compileHeaders(headers: readonly ProfileHeader[], context: MessageContext): HeaderWriter[] {
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

/**
 * A structured-field string (IDK-2); IDs are UUIDs and need no escaping. A relayed key is sent unchanged (EDS-9.7-1).
 */
function idempotencyKey({ eventId, relayed }: ComposedDelivery): string {
  return relayed?.key ?? `"${eventId}"`;
}

/** The ID of the original sender, if it was verified; otherwise the event ID. */
function messageId({ eventId, relayed }: ComposedDelivery): string {
  return relayed?.webhookId ?? eventId;
}

/** The publisher's key; the event ID if it gave none. For relayed messages, the value of the received field. */
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
  return write(name, ({ content, now }) => sign(Math.floor(now / 1000), content.body));
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

/** The current keys of a webhook, newest first within each kind. */
export interface SigningKeys {
  /** `text` is the secret as a string, which is the key of `x-webhook-v1`. */
  readonly symmetric: readonly { readonly key: SymmetricKey; readonly text: string }[];
  readonly ed25519: readonly AsymmetricKey[];
}

/** The signers of a webhook's signature headers. A signer is null if no scheme of the webhook needs it. */
export interface Signers {
  readonly standard: Signer | null;
  readonly xWebhook: XWebhookSigner | null;
  readonly http: HttpSignatureSigner | null;
}

/** Schemes grouped by signature header. */
const families: readonly (readonly SignatureSchemeName[])[] = [
  ["v1a", "v1"],
  ["x-webhook-v1"],
  ["rfc9421-ed25519", "rfc9421-hmac-sha256"],
];

/** Whether each signature header in use has a key for one of its schemes. */
export function canSign(schemes: readonly SignatureSchemeName[], keys: SigningKeys): boolean {
  return families.every((family) => {
    const used = family.filter((scheme) => schemes.includes(scheme));
    return used.length === 0 || used.some((scheme) => keys[signatureSchemeKeys[scheme]].length > 0);
  });
}

/** Prepares the keys once; throws if a scheme has no key, because unsigned messages must never be sent (TS16-57). */
export function prepareSigners(
  schemes: readonly SignatureSchemeName[],
  id: string,
  keys: SigningKeys,
): Signers {
  const uses = (scheme: SignatureSchemeName): boolean => schemes.includes(scheme);
  const symmetric = keys.symmetric.map(({ key }) => key);
  const standardKeys: SigningKey[] = [...(uses("v1a") ? keys.ed25519 : []), ...(uses("v1") ? symmetric : [])];
  const httpKeys = [
    ...(uses("rfc9421-ed25519") ? keys.ed25519 : []),
    // The key ID is the webhook ID, by which the receiver identifies the secret.
    ...(uses("rfc9421-hmac-sha256") ? symmetric.map(({ kind, bytes }) => ({ kind, bytes, keyId: id })) : []),
  ];
  return {
    standard: uses("v1a") || uses("v1") ? prepareSigner(standardKeys) : null,
    xWebhook: uses("x-webhook-v1") ? prepareXWebhookSigner(keys.symmetric.map(({ text }) => text)) : null,
    http:
      uses("rfc9421-ed25519") || uses("rfc9421-hmac-sha256")
        ? prepareHttpSignatureSigner({ keys: httpKeys })
        : null,
  };
}
