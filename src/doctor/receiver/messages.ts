import { randomBytes } from "node:crypto";
import type { EventContent } from "../../core/payload-formats/content.ts";
import { renderStandardPayload, standardContentType } from "../../core/payload-formats/standard.ts";
import type { Profile, SignatureSchemeName } from "../../core/profile.ts";
import { signatureSchemeKeys } from "../../core/signing/schemes.ts";
import { generateEd25519Key, generateSymmetricSecret, parseSecret } from "../../core/signing/signing-key.ts";
import { createUuidV7Source } from "../../core/uuid.ts";
import { prepareComposer } from "../../engine/message/compose.ts";
import { prepareSigners } from "../../engine/message/signers.ts";
import type { SigningKeys } from "../../engine/message/signers.ts";
import type { ClaimedDelivery } from "../../ports/store/deliveries.ts";

/** What the owner of a receiver says about it. */
export interface ReceiverUnderCheck {
  readonly url: URL;
  readonly profile: Profile;
  /** `whsec_…` or `whsk_…`; null when only unauthenticated checks can be made. */
  readonly secret: string | null;
  readonly bearerToken: string | null;
  readonly eventType: string;
  /** `keyid` of a shared secret in RFC 9421 signatures: the id of the webhook it belongs to. */
  readonly keyId: string;
  /** The DNS name under which permission is asked for (CEW-4.1.2-1). */
  readonly origin: string;
}

/** A signed message, ready to be sent or spoiled. */
export interface SampleMessage {
  readonly eventId: string;
  /** Flat name-value list. */
  readonly headers: readonly string[];
  readonly body: Uint8Array;
}

/** What may differ from an honest message made now. */
export interface MessageChange {
  readonly eventId?: string;
  readonly data?: Readonly<Record<string, unknown>>;
  /** Bytes of a media type of their own instead of JSON `data`. */
  readonly raw?: { readonly contentType: string; readonly body: Uint8Array };
  /** Unix milliseconds of the sending. */
  readonly now?: number;
  /** Sign with a key that the receiver does not know. */
  readonly wrongKey?: boolean;
}

/** Makes messages exactly as Posthorn sends them under a profile, and the wrong ones that a receiver must refuse. */
export class SampleMessages {
  readonly schemes: readonly SignatureSchemeName[];
  readonly #receiver: ReceiverUnderCheck;
  readonly #ids = createUuidV7Source({ now: () => Date.now(), randomBytes: (count) => randomBytes(count) });
  readonly #keys: SigningKeys;
  readonly #wrongKeys: SigningKeys;

  /** Throws a `RangeError` that says what is wrong with the secret, never what it is. */
  constructor(receiver: ReceiverUnderCheck) {
    this.#receiver = receiver;
    const { secret, profile } = receiver;
    this.#keys = secret === null ? noKeys : keysOf(secret);
    this.#wrongKeys = otherKeys(this.#keys);
    this.schemes = profile.signatureSchemesAllowed.filter((scheme) =>
      signatureSchemeKeys[scheme] === "symmetric"
        ? this.#keys.symmetric.length > 0
        : this.#keys.ed25519.length > 0,
    );
    if (secret !== null && this.schemes.length === 0)
      throw new RangeError(
        `profile ${profile.name} signs with ${profile.signatureSchemesAllowed.join(", ")}`,
      );
  }

  /** True when messages can be made that the receiver should accept. */
  get canSign(): boolean {
    return this.schemes.length > 0;
  }

  newEventId(): string {
    return this.#ids.next();
  }

  make(change: MessageChange = {}): SampleMessage {
    const { profile, url, origin, keyId } = this.#receiver;
    const now = change.now ?? Date.now();
    const eventId = change.eventId ?? this.newEventId();
    const keys = change.wrongKey === true ? this.#wrongKeys : this.#keys;
    const compose = prepareComposer(profile.headers, {
      signers: prepareSigners(this.schemes.slice(0, 1), { id: keyId, keys }),
      userAgent: "Posthorn/check",
      requestOrigin: origin,
      targetUri: url.href,
      fixedHeaders: this.credentials(),
    });
    const { headers, body } = compose(this.#delivery(eventId, { ...change, now }), now);
    return { eventId, headers, body };
  }

  /** The headers that carry a token rather than a signature. */
  credentials(): readonly string[] {
    const { bearerToken } = this.#receiver;
    return bearerToken === null ? [] : ["Authorization", `Bearer ${bearerToken}`];
  }

  #delivery(eventId: string, change: MessageChange & { readonly now: number }): ClaimedDelivery {
    const { eventType, profile } = this.#receiver;
    const content = contentOf(change, { eventId, eventType });
    return {
      ...content,
      ...{ lease: { ref: 0, fence: 0 }, id: eventId, webhookId: eventId, priority: "normal" },
      progress: {
        ...{ state: "pending", attemptCount: 0, createdAt: change.now, firstAttemptAt: null },
        ...{ dueAt: change.now, reason: null },
      },
      format: profile.payloadFormats[0],
    };
  }
}

function contentOf(
  change: MessageChange & { readonly now: number },
  event: { readonly eventId: string; readonly eventType: string },
): EventContent {
  const timestamp = change.now;
  const data = change.data ?? { check: event.eventId };
  const { contentType, body } = change.raw ?? {
    contentType: standardContentType,
    body: renderStandardPayload({
      ...{ eventType: event.eventType, timestamp, dataJson: JSON.stringify(data) },
      ...{ metadata: null, links: null },
    }),
  };
  return {
    ...event,
    ...{ tenantId: "check", timestamp, source: null, idempotencyKey: null },
    ...{ eventPriority: "normal", sequenceNumber: 1, raw: change.raw !== undefined, contentType, body },
  };
}

const noKeys: SigningKeys = { symmetric: [], ed25519: [] };

function keysOf(text: string): SigningKeys {
  const key = parseSecret(text);
  if (key.kind === "invalid") throw new RangeError(key.detail);
  if (key.kind === "symmetric") return { symmetric: [{ key, text }], ed25519: [] };
  return { symmetric: [], ed25519: [key] };
}

/** Keys of the same kind that the receiver cannot know. */
function otherKeys(keys: SigningKeys): SigningKeys {
  const random = (count: number): Uint8Array => randomBytes(count);
  if (keys.symmetric.length > 0) return keysOf(generateSymmetricSecret(random));
  return keys.ed25519.length > 0 ? keysOf(generateEd25519Key(random).secret) : noKeys;
}
