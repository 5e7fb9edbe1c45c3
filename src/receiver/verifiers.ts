/**
 * Creates verifiers with the cryptography of this platform. A second argument selects a different implementation, for
 * example `createWebCrypto` where `node:crypto` is only emulated.
 */
import type { ReceiverCrypto } from "./crypto/crypto.ts";
import { defaultCrypto } from "./crypto/default-crypto.ts";
import type { MessageVerifier } from "./message/message.ts";
import { bindProviders, type Providers } from "./providers/index.ts";
import { type HmacOptions, prepareHmacVerifier } from "./schemes/hmac.ts";
import { type HttpSignaturesOptions, prepareHttpSignaturesVerifier } from "./schemes/http-signatures.ts";
import {
  type ApiKeyOptions,
  type BasicOptions,
  type BearerOptions,
  prepareApiKeyVerifier,
  prepareBasicVerifier,
  prepareBearerVerifier,
} from "./schemes/plain-credentials.ts";
import {
  prepareStandardWebhooksVerifier,
  type StandardWebhooksOptions,
} from "./schemes/standard-webhooks.ts";
import { prepareXWebhookVerifier, type XWebhookOptions } from "./schemes/x-webhook.ts";

/** {@link https://www.standardwebhooks.com/ | Standard Webhooks}, `v1` and `v1a`, which Posthorn and many others send. */
export function standardWebhooks(
  options: StandardWebhooksOptions,
  crypto: ReceiverCrypto = defaultCrypto,
): MessageVerifier {
  return prepareStandardWebhooksVerifier(crypto, options);
}

/** `X-Webhook-Signature` with its id and timestamp. */
export function xWebhook(options: XWebhookOptions, crypto: ReceiverCrypto = defaultCrypto): MessageVerifier {
  return prepareXWebhookVerifier(crypto, options);
}

/** HTTP Message Signatures ({@link https://www.rfc-editor.org/rfc/rfc9421 | RFC 9421}). */
export function httpSignatures(
  options: HttpSignaturesOptions,
  crypto: ReceiverCrypto = defaultCrypto,
): MessageVerifier {
  return prepareHttpSignaturesVerifier(crypto, options);
}

/**
 * A bearer token in `Authorization` (RFC 6750). It authenticates the sender, but does not protect against alteration.
 */
export function bearer(options: BearerOptions, crypto: ReceiverCrypto = defaultCrypto): MessageVerifier {
  return prepareBearerVerifier(crypto, options);
}

/** HMAC in a header, for a sender without a function in `providers`. */
export function hmac(options: HmacOptions, crypto: ReceiverCrypto = defaultCrypto): MessageVerifier {
  return prepareHmacVerifier(crypto, options);
}

/** Name and password (RFC 7617). They authenticate the sender, but do not protect against alteration. */
export function basic(options: BasicOptions, crypto: ReceiverCrypto = defaultCrypto): MessageVerifier {
  return prepareBasicVerifier(crypto, options);
}

/** A key in a header or in the query. It authenticates the sender, but does not protect against alteration. */
export function apiKey(options: ApiKeyOptions, crypto: ReceiverCrypto = defaultCrypto): MessageVerifier {
  return prepareApiKeyVerifier(crypto, options);
}

/** Verifiers for well-known senders, such as `providers.stripe({ secrets })`. Bundlers remove unused ones. */
export const providers: Providers = /* @__PURE__ */ bindProviders(defaultCrypto);
