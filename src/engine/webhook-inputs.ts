/** What callers may set on a webhook, under the names of the library. */
export type { WebhookInput, VerificationInput } from "../core/fields/webhook.ts";
export type { RetryInput } from "../core/fields/webhook-retry.ts";
export type { ClientCertificateInput, OAuth2Input } from "../core/fields/webhook-credentials.ts";
