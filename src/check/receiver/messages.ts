import { createHmac, randomBytes, sign } from "node:crypto";
import {
  type EventContent,
  renderStandardPayload,
  standardContentType,
} from "../../domain/payload-formats.ts";
import type { PayloadFormatName, Profile, SignatureSchemeName } from "../../domain/profile.ts";
import {
  generateEd25519Key,
  generateSymmetricSecret,
  parseSecret,
  privateKeyObject,
} from "../../domain/signing/signing-key.ts";
import { signatureSchemeKeys } from "../../domain/signing/schemes.ts";
import { createUuidV7Source } from "../../domain/uuid.ts";
import { type SigningKeys, prepareComposer, prepareSigners } from "../../engine/message/compose.ts";
import type { ClaimedDelivery } from "../../ports/store/deliveries.ts";

/** Headers as a flat name-value list; names are case-insensitive. */

/** The headers without the specified one. */
export function withoutHeader(headers: readonly string[], name: string): readonly string[] {
  const kept: string[] = [];
  for (let index = 0; index < headers.length; index += 2) {
    if (headers[index]?.toLowerCase() === name.toLowerCase()) continue;
    kept.push(headers[index] as string, headers[index + 1] as string);
  }
  return kept;
}

/** The headers with the specified one replaced, or appended if it was missing. */
export function withHeader(headers: readonly string[], name: string, value: string): readonly string[] {
  return [...withoutHeader(headers, name), name, value];
}

export function headerOf(headers: readonly string[], name: string): string | undefined {
  for (let index = 0; index < headers.length; index += 2) {
    if (headers[index]?.toLowerCase() === name.toLowerCase()) return headers[index + 1];
  }
  return undefined;
}

/** The receiver as configured by its owner. */
export interface ReceiverUnderCheck {
  readonly url: URL;
  readonly profile: Profile;
  /** `whsec_…` or `whsk_…`; null if only unauthenticated checks are possible. */
  readonly secret: string | null;
  /** One of the profile's schemes; null selects the first scheme that matches the secret. */
  readonly scheme: string | null;
  readonly bearerToken: string | null;
  readonly eventType: string;
  /** `keyid` of a shared secret in RFC 9421 signatures: the id of its webhook. */
  readonly keyId: string;
  /** The DNS name used to request permission (CloudEvents web hooks, section 4.1.2). */
  readonly origin: string;
  /** How quickly the receiver must respond to a message, in milliseconds (TS16-14). */
  readonly promptMs: number;
}

/** A message with its credentials, ready to be sent or altered. */
export interface SampleMessage {
  readonly eventId: string;
  /** Flat name-value list. */
  readonly headers: readonly string[];
  readonly body: Uint8Array;
}

/** Differences from a valid message created now. */
interface MessageChange {
  readonly eventId?: string;
  /** Bytes that are sent unchanged, regardless of the profile's payload format. */
  readonly raw?: { readonly contentType: string; readonly body: Uint8Array };
  /** When the message is sent, in Unix milliseconds; defaults to now. */
  readonly now?: number;
  /**
   * When the event occurred, in Unix milliseconds. It stays the same when the event is sent again; defaults to `now`.
   */
  readonly occurredAt?: number;
  /** Replaces {@link honestWord} in the body. */
  readonly word?: string;
  /**
   * Which keys sign the message. `wrong`: a key that the receiver does not have. `rotation`: both that key and the
   * right one.
   */
  readonly keys?: "right" | "wrong" | "rotation";
}

/** A word in every body, which can be replaced so that the altered body stays well-formed. */
export const honestWord = "honest";

/**
 * Creates messages exactly as Posthorn sends them under a profile, and invalid messages that a receiver must refuse.
 */
export class SampleMessages {
  /** The scheme that signs the messages; null if they carry only a token, or no credentials. */
  readonly scheme: SignatureSchemeName | null;
  readonly #receiver: ReceiverUnderCheck;
  readonly #ids = createUuidV7Source(
    () => Date.now(),
    (count) => randomBytes(count),
  );
  readonly #keys: Readonly<Record<NonNullable<MessageChange["keys"]>, SigningKeys>>;

  /** Throws a `RangeError` that says what is wrong with the secret or the scheme, without revealing the secret. */
  constructor(receiver: ReceiverUnderCheck) {
    this.#receiver = receiver;
    const right = receiver.secret === null ? noKeys : keysOf(receiver.secret);
    const wrong = otherKeys(right);
    const rotation = {
      symmetric: [...wrong.symmetric, ...right.symmetric],
      ed25519: [...wrong.ed25519, ...right.ed25519],
    };
    this.#keys = { right, wrong, rotation };
    this.scheme = schemeFor(receiver, right);
  }

  /** Whether this can create messages that the receiver should accept. */
  get canAuthenticate(): boolean {
    return this.scheme !== null || this.#receiver.bearerToken !== null;
  }

  newEventId(): string {
    return this.#ids.next();
  }

  make(change: MessageChange = {}): SampleMessage {
    const { profile, url, origin, keyId, bearerToken } = this.#receiver;
    const now = change.now ?? Date.now();
    const eventId = change.eventId ?? this.newEventId();
    const compose = prepareComposer(profile.headers, {
      traces: "off",
      signers: prepareSigners(
        this.scheme === null ? [] : [this.scheme],
        keyId,
        this.#keys[change.keys ?? "right"],
      ),
      userAgent: "Posthorn/check",
      requestOrigin: origin,
      targetUri: url.href,
      fixedHeaders: bearerToken === null ? [] : ["Authorization", `Bearer ${bearerToken}`],
    });
    const { headers, body } = compose(this.#delivery(eventId, { ...change, now }), now);
    return { eventId, headers, body };
  }

  /**
   * The message with an RFC 9421 signature that is made with the right key but covers only the method and the URL; null
   * for other schemes.
   */
  withNarrowSignature(message: SampleMessage): SampleMessage | null {
    const input = headerOf(message.headers, "Signature-Input");
    if (input === undefined) return null;
    const narrow = input.replace(/\(.*?\)/, '("@method" "@target-uri")');
    const base = [
      '"@method": POST',
      `"@target-uri": ${this.#receiver.url.href}`,
      `"@signature-params": ${narrow.replace(/^sig1=/, "")}`,
    ].join("\n");
    const signed = withHeader(message.headers, "Signature-Input", narrow);
    const signature = { name: "Signature", value: `sig1=:${signText(base, this.#keys.right)}:` };
    return { ...message, headers: withHeader(signed, signature.name, signature.value) };
  }

  #delivery(eventId: string, change: MessageChange & { readonly now: number }): ClaimedDelivery {
    const { eventType, profile } = this.#receiver;
    const content = contentOf(change, eventId, eventType);
    const format: PayloadFormatName = change.raw === undefined ? profile.payloadFormats[0] : "data";
    return {
      ...content,
      lease: { ref: 0, deliveryId: eventId, leaseToken: 0 },
      id: eventId,
      webhookId: eventId,
      priority: "normal",
      format,
      trace: null,
      relayed: null,
      webhookTenantId: content.tenantId,
      progress: {
        state: "pending",
        attemptCount: 0,
        createdAt: change.now,
        firstAttemptAt: null,
        dueAt: change.now,
        reason: null,
        retried: null,
      },
    };
  }
}

function signText(text: string, { symmetric, ed25519 }: SigningKeys): string {
  const [shared] = symmetric;
  if (shared !== undefined) return createHmac("sha256", shared.key.bytes).update(text).digest("base64");
  const [pair] = ed25519;
  if (pair === undefined) throw new Error("signing requires a key");
  return sign(null, Buffer.from(text), privateKeyObject(pair.seed)).toString("base64");
}

function schemeFor({ profile, scheme }: ReceiverUnderCheck, keys: SigningKeys): SignatureSchemeName | null {
  const allowed = profile.signatureSchemesAllowed;
  const wanted = allowed.filter((name) => scheme === null || name === scheme);
  const kinds = { symmetric: keys.symmetric.length > 0, ed25519: keys.ed25519.length > 0 };
  if (!kinds.symmetric && !kinds.ed25519) return null;
  const found = wanted.find((name) => kinds[signatureSchemeKeys[name]]);
  if (found !== undefined) return found;
  const needed = kinds.symmetric ? "whsk_… (Ed25519)" : "whsec_… (shared)";
  throw new RangeError(`${wanted.join(" and ")} of profile ${profile.name} needs a secret ${needed}`);
}

function contentOf(
  change: MessageChange & { readonly now: number },
  eventId: string,
  eventType: string,
): EventContent {
  const timestamp = change.occurredAt ?? change.now;
  const data = { check: eventId, word: change.word ?? honestWord };
  const { contentType, body } = change.raw ?? {
    contentType: standardContentType,
    body: renderStandardPayload(eventType, timestamp, JSON.stringify(data), null, null),
  };
  return {
    eventId,
    eventType,
    tenantId: "check",
    timestamp,
    source: null,
    idempotencyKey: null,
    eventPriority: "normal",
    sequenceNumber: 1,
    raw: change.raw !== undefined,
    contentType,
    body,
  };
}

const noKeys: SigningKeys = { symmetric: [], ed25519: [] };

function keysOf(text: string): SigningKeys {
  const key = parseSecret(text);
  if (key.kind === "invalid") throw new RangeError(key.detail);
  if (key.kind === "symmetric") return { symmetric: [{ key, text }], ed25519: [] };
  return { symmetric: [], ed25519: [key] };
}

/** Keys of the same kind that the receiver cannot have. */
function otherKeys(keys: SigningKeys): SigningKeys {
  const random = (count: number): Uint8Array => randomBytes(count);
  if (keys.symmetric.length > 0) return keysOf(generateSymmetricSecret(random));
  return keys.ed25519.length > 0 ? keysOf(generateEd25519Key(random).secret) : noKeys;
}
