/**
 * The package `@posthorn/receiver`: everything an application needs to receive webhooks reliably. Frameworks, stores
 * and the inbox have separate entry points, so that unused ones are not loaded.
 */
export type { OverloadRules, RateLimit } from "./admission.ts";
export {
  verificationTypes,
  verifierFromConfiguration,
  withSecrets,
} from "./configured/configured-verifier.ts";
export type { ConfiguredVerifier } from "./configured/configured-verifier.ts";
export type { ConfigurationField, ConfigurationProblem } from "./configured/fields.ts";
export type { ChallengeAnswer, Received, SourceVerifier } from "./configured/source-verifier.ts";
export type { ReceiverCrypto } from "./crypto/crypto.ts";
export { createWebCrypto } from "./crypto/default-crypto.ts";
export type {
  ClaimOutcome,
  DeduplicationClaim,
  DeduplicationCompletion,
  DeduplicationStore,
  InTransaction,
} from "./deduplication.ts";
export type { HandlerAnswer, HandlerStatus, MessageHandler } from "./answers.ts";
export { grantByCallback } from "./handshake.ts";
export type { CallbackGrant, HandshakeDecision, HandshakeOptions, HandshakeRequest } from "./handshake.ts";
export type { KeySource } from "./message/message-key.ts";
export type {
  MessageHeaders,
  MessageVerifier,
  ReceivedMessage,
  RejectionCause,
  Verification,
} from "./message/message.ts";
export { buildWebhookPath, parseWebhookPath, WebhookPathError } from "./path.ts";
export type {
  ParsedWebhookPath,
  WebhookPath,
  WebhookPathOptions,
  WebhookPathParts,
  WebhookPathProblem,
} from "./path.ts";
export { bindProviders, discordPing, providerTable, slackChallenge } from "./providers/index.ts";
export type {
  AdyenOptions,
  BitbucketOptions,
  ClerkOptions,
  DiscordOptions,
  DocusignOptions,
  GithubOptions,
  GitlabOptions,
  HubspotOptions,
  IntercomOptions,
  LinearOptions,
  MailgunOptions,
  MetaOptions,
  MailchimpOptions,
  MandrillOptions,
  MicrosoftGraphOptions,
  OpenaiOptions,
  PaddleOptions,
  ProviderDescription,
  Providers,
  ResendOptions,
  SendgridOptions,
  ShopifyOptions,
  SlackOptions,
  SquareOptions,
  StripeOptions,
  SvixOptions,
  TrelloOptions,
  TwilioOptions,
  TypeformOptions,
  XOptions,
  ZendeskOptions,
  ZoomOptions,
} from "./providers/index.ts";
export { presetTable } from "./presets/presets.ts";
export type { PresetDescription } from "./presets/presets.ts";
export { firstValue, valueReader } from "./presets/value-source.ts";
export type { ValueSource } from "./presets/value-source.ts";
export { receivedHeaders } from "./message/message.ts";
export type { ReceiverAnswer, StatusOverrides } from "./answers.ts";
export { ReceiverError, receiverErrors } from "./receiver-error.ts";
export type { ReceiverErrorCode } from "./receiver-error.ts";
export type { DeduplicationOptions, ReceiverOptions } from "./receiver-options.ts";
export { createReceiver } from "./receiver.ts";
export type { Receiver } from "./receiver.ts";
export { allOf, anyOf } from "./schemes/first-match.ts";
export type { ApiKeyOptions, BasicOptions, BearerOptions } from "./schemes/plain-credentials.ts";
export type { ByProducer } from "./schemes/first-match.ts";
export type { HmacOptions } from "./schemes/hmac.ts";
export type { HttpSignatureKey, HttpSignaturesOptions } from "./schemes/http-signatures.ts";
export type { StandardWebhooksOptions } from "./schemes/standard-webhooks.ts";
export type { XWebhookOptions } from "./schemes/x-webhook.ts";
export { reportIncident } from "./receiver-options.ts";
export type { IncidentReport, SecurityIncident } from "./receiver-options.ts";
export type { VerifiedMessage } from "./message/message.ts";
export {
  apiKey,
  basic,
  bearer,
  hmac,
  httpSignatures,
  providers,
  standardWebhooks,
  xWebhook,
} from "./verifiers.ts";
