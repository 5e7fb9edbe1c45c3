import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { unicodeText } from "../../../test/services/unicode-text.fixture.ts";
import {
  type HttpSignatureOptions,
  prepareHttpSignatureSigner,
} from "../../domain/signing/http-signatures.ts";
import {
  generateEd25519Key,
  generateSymmetricSecret,
  parseSecret,
} from "../../domain/signing/signing-key.ts";
import { prepareSigner } from "../../domain/signing/standard-webhooks.ts";
import { prepareXWebhookSigner } from "../../domain/signing/x-webhook.ts";
import { receivedHeaders, type ReceivedMessage } from "../message/message.ts";

/** Signing time of all messages here, in Unix seconds. */
export const signedAt = 1_700_000_000;
export const messageId = "0190a4d5-1c9e-7c5e-9b9a-3f8e3b3f1a2e";
export const orderBody = Buffer.from('{"order":"42"}');

export type Headers = Readonly<Record<string, string>>;

export function newSecret(): string {
  return generateSymmetricSecret(randomBytes);
}

export function newPair(): { readonly secret: string; readonly publicKey: string } {
  return generateEd25519Key(randomBytes);
}

export function signingKey(text: string): Exclude<ReturnType<typeof parseSecret>, { kind: "invalid" }> {
  const key = parseSecret(text);
  if (key.kind === "invalid") throw new TypeError(key.detail);
  return key;
}

/** A request as it was received. */
export function received(
  headers: Headers,
  more: Partial<Omit<ReceivedMessage, "headers">> = {},
): ReceivedMessage {
  return {
    method: "POST",
    url: "/hooks",
    body: orderBody,
    ...more,
    headers: receivedHeaders(Object.entries(headers)),
  };
}

/** The three Standard Webhooks headers of a body. */
export function standardHeaders(secrets: readonly string[], body: Uint8Array = orderBody): Headers {
  const sign = prepareSigner(secrets.map(signingKey));
  return {
    "webhook-id": messageId,
    "webhook-timestamp": String(signedAt),
    "webhook-signature": sign({ messageId, timestampSeconds: signedAt, body }),
  };
}

export function xWebhookHeaders(secrets: readonly string[]): Headers {
  const sign = prepareXWebhookSigner(secrets);
  return { "x-webhook-signature": sign(signedAt, orderBody) };
}

export const targetUri = "https://hooks.example.com/hooks?tenant=a";

/** The headers of {@link orderBody}, sent to {@link targetUri}. */
export function httpSignatureHeaders(options: HttpSignatureOptions): Headers {
  const contentType = "application/json";
  const idempotencyKey = `"${messageId}"`;
  const fields = prepareHttpSignatureSigner(options)({
    method: "POST",
    targetUri,
    contentType,
    idempotencyKey,
    createdSeconds: signedAt,
    body: orderBody,
  });
  return {
    "host": "hooks.example.com",
    "content-type": contentType,
    "idempotency-key": idempotencyKey,
    "content-digest": fields.contentDigest,
    "signature-input": fields.signatureInput,
    "signature": fields.signature,
  };
}

const headerNames = [
  "webhook-id",
  "webhook-timestamp",
  "webhook-signature",
  "x-webhook-signature",
  "authorization",
  "content-type",
  "content-digest",
  "idempotency-key",
  "signature-input",
  "signature",
  "host",
];

/** Requests that an attacker might send: arbitrary header values, some of them derived from valid ones. */
export function strangeMessages(valid: Headers): fc.Arbitrary<ReceivedMessage> {
  const noise = fc.oneof(
    unicodeText({ maxLength: 60 }),
    fc.string({ unit: fc.constantFrom(...Array.from('tv1a=,.;:"( )?@%\\sig0Aa+/\t')), maxLength: 60 }),
  );
  const cut = fc.tuple(fc.nat(400), fc.nat(400), noise);
  const values = fc.dictionary(fc.constantFrom(...headerNames), fc.tuple(fc.nat(3), cut));
  return fc.tuple(values, noise, fc.uint8Array()).map(([changes, url, body]) => {
    const headers = new Map(Object.entries(valid));
    for (const [name, [kind, [start, end, text]]] of Object.entries(changes)) {
      const before = headers.get(name) ?? "";
      if (kind === 0) headers.set(name, text);
      else if (kind === 1) headers.set(name, before.slice(0, start) + text + before.slice(end));
      else if (kind === 2) headers.set(name, `${before}${text}`.repeat(50));
      else headers.delete(name);
    }
    return { method: "POST", url, body, headers: receivedHeaders(headers) };
  });
}
