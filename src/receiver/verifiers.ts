/**
 * Makes verifiers on the cryptography of this platform. A second argument chooses another one: `createWebCrypto` where
 * `node:crypto` is only imitated, for example.
 */
import type { ReceiverCrypto } from "./crypto/crypto.ts";
import { defaultCrypto } from "./crypto/default-crypto.ts";
import type { MessageVerifier } from "./message/message.ts";
import { bindProviders } from "./providers/index.ts";
import type { Providers } from "./providers/index.ts";
import { type BearerOptions, prepareBearerVerifier } from "./schemes/bearer.ts";
import { type HttpSignaturesOptions, prepareHttpSignaturesVerifier } from "./schemes/http-signatures.ts";
import {
  prepareStandardWebhooksVerifier,
  type StandardWebhooksOptions,
} from "./schemes/standard-webhooks.ts";
import { prepareXWebhookVerifier, type XWebhookOptions } from "./schemes/x-webhook.ts";

/** Standard Webhooks, `v1` and `v1a`: what Posthorn and many others send. */
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

/** HTTP Message Signatures (RFC 9421). */
export function httpSignatures(
  options: HttpSignaturesOptions,
  crypto: ReceiverCrypto = defaultCrypto,
): MessageVerifier {
  return prepareHttpSignaturesVerifier(crypto, options);
}

/** A bearer token in `Authorization` (RFC 6750). It proves who called, not that the message is unaltered. */
export function bearer(options: BearerOptions, crypto: ReceiverCrypto = defaultCrypto): MessageVerifier {
  return prepareBearerVerifier(crypto, options);
}

/** Verifiers for well-known senders, such as `providers.stripe({ secrets })`. Bundlers leave them out where unused. */
export const providers: Providers = /* @__PURE__ */ bindProviders(defaultCrypto);
