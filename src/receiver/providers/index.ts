/** Verifiers for well-known senders of webhooks. What each signs and where it is documented stands in one table. */
import type { ReceiverCrypto } from "../crypto.ts";
import type { MessageVerifier } from "../message.ts";
import { createDiscordVerifier } from "./discord.ts";
import type { DiscordOptions } from "./discord.ts";
import { createGithubVerifier } from "./github.ts";
import type { GithubOptions } from "./github.ts";
import { createLinearVerifier } from "./linear.ts";
import type { LinearOptions } from "./linear.ts";
import { createPaddleVerifier } from "./paddle.ts";
import type { PaddleOptions } from "./paddle.ts";
import { createSendgridVerifier } from "./sendgrid.ts";
import type { SendgridOptions } from "./sendgrid.ts";
import { createShopifyVerifier } from "./shopify.ts";
import type { ShopifyOptions } from "./shopify.ts";
import { createSlackVerifier } from "./slack.ts";
import type { SlackOptions } from "./slack.ts";
import { createSquareVerifier } from "./square.ts";
import type { SquareOptions } from "./square.ts";
import { createStripeVerifier } from "./stripe.ts";
import type { StripeOptions } from "./stripe.ts";
import { createSvixVerifier } from "./svix.ts";
import type { SvixOptions } from "./svix.ts";
import { createTwilioVerifier } from "./twilio.ts";
import type { TwilioOptions } from "./twilio.ts";
import { createZoomVerifier, zoomUrlValidation } from "./zoom.ts";
import type { ZoomOptions } from "./zoom.ts";

export { discordPing } from "./discord.ts";
export { slackChallenge } from "./slack.ts";
export type {
  DiscordOptions,
  GithubOptions,
  LinearOptions,
  PaddleOptions,
  SendgridOptions,
  ShopifyOptions,
  SlackOptions,
  SquareOptions,
  StripeOptions,
  SvixOptions,
  TwilioOptions,
  ZoomOptions,
};

/** One line of the provider table. */
export interface ProviderDescription {
  /** The name of its function, and `scheme` of what it verifies. */
  readonly name: string;
  readonly title: string;
  /** Header fields that the verification reads. */
  readonly headers: readonly string[];
  /** What the signature covers, with `{…}` for what is inserted. */
  readonly signed: string;
  readonly algorithm: string;
  /** What to give as secret or key. */
  readonly key: string;
  /** What keeps an old message from being accepted again. */
  readonly replayProtection: string;
  /** Where `messageId` comes from. */
  readonly messageId: string;
  readonly documentation: string;
}

const inTolerance = "the signed time, 300 s";
const noTime = "none: no time is signed";

/** Every provider, in the order of the alphabet. */
export const providerTable: readonly ProviderDescription[] = [
  {
    name: "discord",
    title: "Discord",
    headers: ["X-Signature-Ed25519", "X-Signature-Timestamp"],
    signed: "{timestamp}{body}",
    algorithm: "Ed25519, hex",
    key: "publicKeys: 64 hexadecimal digits from the developer portal",
    replayProtection: inTolerance,
    messageId: "`id` of an interaction",
    documentation: "https://discord.com/developers/docs/interactions/overview",
  },
  {
    name: "github",
    title: "GitHub",
    headers: ["X-Hub-Signature-256"],
    signed: "{body}",
    algorithm: "HMAC-SHA256, hex after sha256=",
    key: "secrets: the secret of the webhook",
    replayProtection: noTime,
    messageId: "none signed (`X-GitHub-Delivery`)",
    documentation: "https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries",
  },
  {
    name: "linear",
    title: "Linear",
    headers: ["Linear-Signature"],
    signed: "{body}",
    algorithm: "HMAC-SHA256, hex",
    key: "secrets: the signing secret of the webhook",
    replayProtection: "webhookTimestamp in the signed body, 300 s",
    messageId: "none signed (`Linear-Delivery`)",
    documentation: "https://linear.app/developers/webhooks",
  },
  {
    name: "paddle",
    title: "Paddle",
    headers: ["Paddle-Signature"],
    signed: "{ts}:{body}",
    algorithm: "HMAC-SHA256, hex",
    key: "secrets: the secret key of the notification destination",
    replayProtection: inTolerance,
    messageId: "`event_id`",
    documentation: "https://developer.paddle.com/webhooks/signature-verification",
  },
  {
    name: "sendgrid",
    title: "SendGrid",
    headers: ["X-Twilio-Email-Event-Webhook-Signature", "X-Twilio-Email-Event-Webhook-Timestamp"],
    signed: "{timestamp}{body}",
    algorithm: "ECDSA P-256 with SHA-256, DER in base64",
    key: "publicKeys: the verification key, base64",
    replayProtection: inTolerance,
    messageId: "none (each event in the body has its own)",
    documentation:
      "https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features",
  },
  {
    name: "shopify",
    title: "Shopify",
    headers: ["X-Shopify-Hmac-SHA256"],
    signed: "{body}",
    algorithm: "HMAC-SHA256, base64",
    key: "secrets: the client secret of the app",
    replayProtection: noTime,
    messageId: "none signed (`X-Shopify-Webhook-Id`)",
    documentation: "https://shopify.dev/docs/apps/build/webhooks/verify-deliveries",
  },
  {
    name: "slack",
    title: "Slack",
    headers: ["X-Slack-Signature", "X-Slack-Request-Timestamp"],
    signed: "v0:{timestamp}:{body}",
    algorithm: "HMAC-SHA256, hex after v0=",
    key: "secrets: the signing secret of the app",
    replayProtection: inTolerance,
    messageId: "`event_id` of the Events API",
    documentation: "https://docs.slack.dev/authentication/verifying-requests-from-slack",
  },
  {
    name: "square",
    title: "Square",
    headers: ["x-square-hmacsha256-signature"],
    signed: "{notification URL}{body}",
    algorithm: "HMAC-SHA256, base64",
    key: "secrets: the signature key of the subscription; publicUrl",
    replayProtection: noTime,
    messageId: "`event_id`",
    documentation: "https://developer.squareup.com/docs/webhooks/step3validate",
  },
  {
    name: "stripe",
    title: "Stripe",
    headers: ["Stripe-Signature"],
    signed: "{t}.{body}",
    algorithm: "HMAC-SHA256, hex",
    key: "secrets: the signing secret of the endpoint, with its whsec_",
    replayProtection: inTolerance,
    messageId: "`id` of the event",
    documentation: "https://docs.stripe.com/webhooks/signature",
  },
  {
    name: "svix",
    title: "Svix",
    headers: ["svix-id", "svix-timestamp", "svix-signature"],
    signed: "{id}.{timestamp}.{body}",
    algorithm: "HMAC-SHA256, base64 after v1,",
    key: "secrets: the signing secret of the endpoint, with its whsec_",
    replayProtection: inTolerance,
    messageId: "`svix-id`",
    documentation: "https://docs.svix.com/receiving/verifying-payloads/how-manual",
  },
  {
    name: "twilio",
    title: "Twilio",
    headers: ["X-Twilio-Signature"],
    signed: "{URL}{sorted form parameters}, or {URL} with bodySHA256",
    algorithm: "HMAC-SHA1, base64",
    key: "secrets: the auth token of the account; publicUrl",
    replayProtection: noTime,
    messageId: "none signed (`I-Twilio-Idempotency-Token`)",
    documentation: "https://www.twilio.com/docs/usage/webhooks/webhooks-security",
  },
  {
    name: "zoom",
    title: "Zoom",
    headers: ["x-zm-signature", "x-zm-request-timestamp"],
    signed: "v0:{timestamp}:{body}",
    algorithm: "HMAC-SHA256, hex after v0=",
    key: "secrets: the secret token of the app",
    replayProtection: inTolerance,
    messageId: "none",
    documentation: "https://developers.zoom.us/docs/api/webhooks/",
  },
];

/** One function for each provider; all throw ReceiverError `misconfigured` for options that cannot work. */
export type Providers = ReturnType<typeof bindProviders>;

/** The providers on one implementation of cryptography. The entries of the package have done this already. */
export function bindProviders(crypto: ReceiverCrypto) {
  return {
    discord: (options: DiscordOptions): MessageVerifier => createDiscordVerifier(crypto, options),
    github: (options: GithubOptions): MessageVerifier => createGithubVerifier(crypto, options),
    linear: (options: LinearOptions): MessageVerifier => createLinearVerifier(crypto, options),
    paddle: (options: PaddleOptions): MessageVerifier => createPaddleVerifier(crypto, options),
    sendgrid: (options: SendgridOptions): MessageVerifier => createSendgridVerifier(crypto, options),
    shopify: (options: ShopifyOptions): MessageVerifier => createShopifyVerifier(crypto, options),
    slack: (options: SlackOptions): MessageVerifier => createSlackVerifier(crypto, options),
    square: (options: SquareOptions): MessageVerifier => createSquareVerifier(crypto, options),
    stripe: (options: StripeOptions): MessageVerifier => createStripeVerifier(crypto, options),
    svix: (options: SvixOptions): MessageVerifier => createSvixVerifier(crypto, options),
    twilio: (options: TwilioOptions): MessageVerifier => createTwilioVerifier(crypto, options),
    zoom: (options: ZoomOptions): MessageVerifier => createZoomVerifier(crypto, options),
    /** The JSON with which an address is proved to Zoom, or null; for the body of a verified message. */
    zoomUrlValidation: (input: { readonly secret: string; readonly body: Uint8Array }) =>
      zoomUrlValidation(crypto, input),
  };
}
