/**
 * What each provider signs, and where it is documented. Most differ only in data and are verified by
 * scheme-verifier.ts. The others have separate verifiers:
 *
 *   body-signatures.ts   Adyen and Mailgun, whose signature is a member of the body
 *   form-signatures.ts   Twilio and Mandrill, which sign the URL and the parameters of a form
 *   sent-secrets.ts      Mailchimp and Microsoft Graph, which send a secret instead of a signature; GitLab, which does
 *                        either
 */
import { discordKey, sendgridKey, svixKey } from "./provider-keys.ts";
import { isTimed, type ProviderScheme } from "./scheme-verifier.ts";
import { utf8 } from "./reading.ts";

/** One row of the provider table. */
export interface ProviderDescription {
  /** The name of the provider's function, and `scheme` of verified messages. */
  readonly name: string;
  readonly title: string;
  /** Header fields that the verification reads. */
  readonly headers: readonly string[];
  /** What the signature covers, with `{…}` as placeholders. */
  readonly signed: string;
  readonly algorithm: string;
  /** What to use as secret or key. */
  readonly key: string;
  /** What prevents an old message from being accepted again. */
  readonly replayProtection: string;
  /** Source of `messageId`. */
  readonly messageId: string;
  readonly documentation: string;
}

/** Facts about a provider that cannot be derived from its scheme. */
type Documented = Pick<ProviderDescription, "title" | "key" | "messageId" | "documentation">;

export interface Provider extends ProviderScheme, Documented {
  readonly name: string;
}

const sharedSecret = { option: "secrets", keyOf: utf8 } as const;

/** Svix signs for many senders; only the first word of the header names differs. */
function svixScheme<Word extends string>(word: Word) {
  return {
    algorithm: "HMAC-SHA256",
    headers: { id: `${word}-id`, timestamp: `${word}-timestamp`, signature: `${word}-signature` },
    signature: { encoding: "base64", bytes: 32, separator: " ", prefix: "v1," },
    signed: "{id}.{timestamp}.{body}",
    keys: { option: "secrets", keyOf: svixKey },
    signedId: "header",
    messageId: `\`${word}-id\``,
  } as const;
}

/** In alphabetical order. */
const schemes = {
  bitbucket: {
    title: "Bitbucket",
    algorithm: "HMAC-SHA256",
    headers: { signature: "X-Hub-Signature" },
    signature: { encoding: "hex", bytes: 32, prefix: "sha256=" },
    signed: "{body}",
    keys: sharedSecret,
    key: "the secret of the webhook",
    unsignedIdHeader: "X-Request-UUID",
    messageId: "none signed (`X-Request-UUID`)",
    documentation: "https://support.atlassian.com/bitbucket-cloud/docs/manage-webhooks/",
  },
  clerk: {
    title: "Clerk",
    ...svixScheme("svix"),
    key: "the signing secret of the endpoint, including whsec_",
    documentation: "https://clerk.com/docs/webhooks/sync-data",
  },
  discord: {
    title: "Discord",
    algorithm: "Ed25519",
    headers: { signature: "X-Signature-Ed25519", timestamp: "X-Signature-Timestamp" },
    signature: { encoding: "hex", bytes: 64 },
    signed: "{timestamp}{body}",
    keys: { option: "publicKeys", keyOf: discordKey },
    key: "64 hexadecimal digits from the developer portal",
    // Webhook events have no id.
    signedId: { field: "id" },
    messageId: "`id` of an interaction",
    documentation: "https://discord.com/developers/docs/interactions/overview",
  },
  docusign: {
    title: "DocuSign Connect",
    algorithm: "HMAC-SHA256",
    headers: { signature: "X-DocuSign-Signature-1" },
    // One header for each active key of the account.
    moreSignatureHeaders: [2, 3, 4, 5, 6, 7, 8].map((number) => `X-DocuSign-Signature-${number}`),
    signature: { encoding: "base64", bytes: 32 },
    signed: "{body}",
    keys: sharedSecret,
    key: "a Connect key of the account",
    messageId: "none",
    documentation: "https://developers.docusign.com/platform/webhooks/connect/hmac/",
  },
  github: {
    title: "GitHub",
    algorithm: "HMAC-SHA256",
    // The old SHA-1 header is ignored.
    headers: { signature: "X-Hub-Signature-256" },
    signature: { encoding: "hex", bytes: 32, prefix: "sha256=" },
    signed: "{body}",
    keys: sharedSecret,
    key: "the secret of the webhook",
    unsignedIdHeader: "X-GitHub-Delivery",
    messageId: "none signed (`X-GitHub-Delivery`)",
    documentation: "https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries",
  },
  gitlab: {
    title: "GitLab",
    ...svixScheme("webhook"),
    key: "the signing token (whsec_…), or the secret token that is sent in `X-Gitlab-Token`",
    documentation: "https://docs.gitlab.com/user/project/integrations/webhooks/",
  },
  hubspot: {
    title: "HubSpot",
    algorithm: "HMAC-SHA256",
    headers: { signature: "X-HubSpot-Signature-v3", timestamp: "X-HubSpot-Request-Timestamp" },
    timestampForm: "milliseconds",
    signature: { encoding: "base64", bytes: 32 },
    signed: "{method}{notification URL}{body}{timestamp}",
    keys: sharedSecret,
    key: "the client secret of the app; publicUrl",
    messageId: "none (each event in the body has an id)",
    documentation:
      "https://developers.hubspot.com/docs/apps/developer-platform/build-apps/authentication/request-validation",
  },
  intercom: {
    title: "Intercom",
    algorithm: "HMAC-SHA1",
    headers: { signature: "X-Hub-Signature" },
    signature: { encoding: "hex", bytes: 20, prefix: "sha1=" },
    signed: "{body}",
    keys: sharedSecret,
    key: "the client secret of the app",
    signedId: { field: "id" },
    messageId: "`id` of the notification",
    documentation: "https://developers.intercom.com/docs/webhooks/setting-up-webhooks",
  },
  linear: {
    title: "Linear",
    algorithm: "HMAC-SHA256",
    // Linear-Timestamp is not signed and is ignored. The timestamp comes from the body, after the signature was
    // verified.
    headers: { signature: "Linear-Signature" },
    signature: { encoding: "hex", bytes: 32 },
    signed: "{body}",
    timestampField: "webhookTimestamp",
    keys: sharedSecret,
    key: "the signing secret of the webhook",
    unsignedIdHeader: "Linear-Delivery",
    messageId: "none signed (`Linear-Delivery`)",
    documentation: "https://linear.app/developers/webhooks",
  },
  meta: {
    title: "Meta (Facebook, Instagram, WhatsApp)",
    algorithm: "HMAC-SHA256",
    headers: { signature: "X-Hub-Signature-256" },
    signature: { encoding: "hex", bytes: 32, prefix: "sha256=" },
    signed: "{body}",
    keys: sharedSecret,
    key: "the app secret",
    messageId: "none",
    documentation: "https://developers.facebook.com/docs/graph-api/webhooks/getting-started",
  },
  openai: {
    title: "OpenAI",
    ...svixScheme("webhook"),
    key: "the signing secret of the endpoint, including whsec_",
    documentation: "https://platform.openai.com/docs/guides/webhooks",
  },
  paddle: {
    title: "Paddle",
    algorithm: "HMAC-SHA256",
    headers: { signature: "Paddle-Signature" },
    signature: { encoding: "hex", bytes: 32, separator: ";", prefix: "h1=", timestampPrefix: "ts=" },
    signed: "{ts}:{body}",
    keys: sharedSecret,
    key: "the secret key of the notification destination",
    // Repeats and replays of one event have the same id.
    signedId: { field: "event_id" },
    messageId: "`event_id`",
    documentation: "https://developer.paddle.com/webhooks/signature-verification",
  },
  resend: {
    title: "Resend",
    ...svixScheme("svix"),
    key: "the signing secret of the webhook, including whsec_",
    documentation: "https://resend.com/docs/dashboard/webhooks/verify-webhooks-requests",
  },
  sendgrid: {
    title: "SendGrid",
    algorithm: "ECDSA P-256 with SHA-256",
    headers: {
      signature: "X-Twilio-Email-Event-Webhook-Signature",
      timestamp: "X-Twilio-Email-Event-Webhook-Timestamp",
    },
    // The DER encoding of two integers of up to 33 bytes each.
    signature: { encoding: "DER in base64", bytes: 72 },
    signed: "{timestamp}{body}",
    keys: { option: "publicKeys", keyOf: sendgridKey },
    key: "the verification key, base64",
    messageId: "none (each event in the body has an id)",
    documentation:
      "https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features",
  },
  shopify: {
    title: "Shopify",
    algorithm: "HMAC-SHA256",
    headers: { signature: "X-Shopify-Hmac-SHA256" },
    signature: { encoding: "base64", bytes: 32 },
    signed: "{body}",
    keys: sharedSecret,
    key: "the client secret of the app",
    unsignedIdHeader: "X-Shopify-Webhook-Id",
    messageId: "none signed (`X-Shopify-Webhook-Id`)",
    documentation: "https://shopify.dev/docs/apps/build/webhooks/verify-deliveries",
  },
  slack: {
    title: "Slack",
    algorithm: "HMAC-SHA256",
    headers: { signature: "X-Slack-Signature", timestamp: "X-Slack-Request-Timestamp" },
    signature: { encoding: "hex", bytes: 32, prefix: "v0=" },
    signed: "v0:{timestamp}:{body}",
    keys: sharedSecret,
    key: "the signing secret of the app",
    // Commands and interactions are forms and have no message id.
    signedId: { field: "event_id" },
    messageId: "`event_id` of the Events API",
    documentation: "https://docs.slack.dev/authentication/verifying-requests-from-slack",
  },
  square: {
    title: "Square",
    algorithm: "HMAC-SHA256",
    headers: { signature: "x-square-hmacsha256-signature" },
    signature: { encoding: "base64", bytes: 32 },
    signed: "{notification URL}{body}",
    keys: sharedSecret,
    key: "the signature key of the subscription; publicUrl",
    signedId: { field: "event_id" },
    messageId: "`event_id`",
    documentation: "https://developer.squareup.com/docs/webhooks/step3validate",
  },
  stripe: {
    title: "Stripe",
    algorithm: "HMAC-SHA256",
    headers: { signature: "Stripe-Signature" },
    signature: { encoding: "hex", bytes: 32, separator: ",", prefix: "v1=", timestampPrefix: "t=" },
    signed: "{t}.{body}",
    // The key is the whole string, including `whsec_`.
    keys: sharedSecret,
    key: "the signing secret of the endpoint, including whsec_",
    signedId: { field: "id" },
    messageId: "`id` of the event",
    documentation: "https://docs.stripe.com/webhooks/signature",
  },
  svix: {
    title: "Svix",
    ...svixScheme("svix"),
    key: "the signing secret of the endpoint, including whsec_",
    documentation: "https://docs.svix.com/receiving/verifying-payloads/how-manual",
  },
  trello: {
    title: "Trello",
    algorithm: "HMAC-SHA1",
    headers: { signature: "X-Trello-Webhook" },
    signature: { encoding: "base64", bytes: 20 },
    signed: "{body}{notification URL}",
    keys: sharedSecret,
    key: "the secret of the application; publicUrl",
    messageId: "none (`action.id` of the body)",
    documentation: "https://developer.atlassian.com/cloud/trello/guides/rest-api/webhooks/",
  },
  typeform: {
    title: "Typeform",
    algorithm: "HMAC-SHA256",
    headers: { signature: "Typeform-Signature" },
    signature: { encoding: "base64", bytes: 32, prefix: "sha256=" },
    signed: "{body}",
    keys: sharedSecret,
    key: "the secret of the webhook",
    signedId: { field: "event_id" },
    messageId: "`event_id`",
    documentation: "https://www.typeform.com/developers/webhooks/secure-your-webhooks/",
  },
  x: {
    title: "X (Twitter)",
    algorithm: "HMAC-SHA256",
    headers: { signature: "x-twitter-webhooks-signature" },
    signature: { encoding: "base64", bytes: 32, prefix: "sha256=" },
    signed: "{body}",
    keys: sharedSecret,
    key: "the consumer secret (API secret key) of the app",
    messageId: "none",
    documentation: "https://docs.x.com/x-api/webhooks/quickstart",
  },
  zendesk: {
    title: "Zendesk",
    algorithm: "HMAC-SHA256",
    headers: {
      signature: "X-Zendesk-Webhook-Signature",
      timestamp: "X-Zendesk-Webhook-Signature-Timestamp",
    },
    timestampForm: "iso8601",
    signature: { encoding: "base64", bytes: 32 },
    signed: "{timestamp}{body}",
    keys: sharedSecret,
    key: "the signing secret of the webhook",
    unsignedIdHeader: "X-Zendesk-Webhook-Invocation-Id",
    messageId: "none signed (`X-Zendesk-Webhook-Invocation-Id`)",
    documentation: "https://developer.zendesk.com/documentation/webhooks/verifying/",
  },
  zoom: {
    title: "Zoom",
    algorithm: "HMAC-SHA256",
    headers: { signature: "x-zm-signature", timestamp: "x-zm-request-timestamp" },
    signature: { encoding: "hex", bytes: 32, prefix: "v0=" },
    signed: "v0:{timestamp}:{body}",
    keys: sharedSecret,
    key: "the secret token of the app",
    messageId: "none",
    documentation: "https://developers.zoom.us/docs/api/webhooks/",
  },
} as const satisfies Readonly<Record<string, ProviderScheme & Documented>>;

export type SchemeName = keyof typeof schemes;

export const schemeNames: readonly string[] = Object.keys(schemes);

export function schemeOf(name: SchemeName): Provider {
  return { name, ...schemes[name] };
}

const twilio: ProviderDescription = {
  name: "twilio",
  title: "Twilio",
  headers: ["X-Twilio-Signature"],
  signed: "{URL}{sorted form parameters}, or {URL} with bodySHA256",
  algorithm: "HMAC-SHA1, base64",
  key: "secrets: the auth token of the account; publicUrl",
  replayProtection: "none: no time is signed",
  messageId: "none signed (`I-Twilio-Idempotency-Token`)",
  documentation: "https://www.twilio.com/docs/usage/webhooks/webhooks-security",
};

const adyen: ProviderDescription = {
  name: "adyen",
  title: "Adyen",
  headers: [],
  signed:
    "{pspReference}:{originalReference}:{merchantAccountCode}:{merchantReference}:{value}:{currency}:{eventCode}:{success}",
  algorithm: "HMAC-SHA256, base64, in `additionalData.hmacSignature` of the body",
  key: "secrets: the HMAC key of the webhook, hexadecimal",
  replayProtection: "none: no time is signed",
  messageId: "`{pspReference}:{eventCode}:{success}`",
  documentation:
    "https://docs.adyen.com/development-resources/webhooks/secure-webhooks/verify-hmac-signatures/",
};

const mailgun: ProviderDescription = {
  name: "mailgun",
  title: "Mailgun",
  headers: [],
  signed: "{timestamp}{token} of the body; the event data are not signed",
  algorithm: "HMAC-SHA256, hex, in `signature` of the body",
  key: "secrets: the HTTP webhook signing key",
  replayProtection: "the signed time, 300 s",
  messageId: "`signature.token`",
  documentation: "https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/securing-webhooks",
};

const mailchimp: ProviderDescription = {
  name: "mailchimp",
  title: "Mailchimp",
  headers: [],
  signed: "nothing: a secret that you chose is in the query of the address",
  algorithm: "the secret is compared",
  key: "secrets: a long random string that you choose",
  replayProtection: "none: no time is signed",
  messageId: "none",
  documentation: "https://mailchimp.com/developer/marketing/guides/sync-audience-data-webhooks/",
};

const mandrill: ProviderDescription = {
  name: "mandrill",
  title: "Mandrill (Mailchimp Transactional)",
  headers: ["X-Mandrill-Signature"],
  signed: "{URL}{sorted form parameters}",
  algorithm: "HMAC-SHA1, base64",
  key: "secrets: the key of the webhook; publicUrl",
  replayProtection: "none: no time is signed",
  messageId: "none (each event in the form has an id)",
  documentation:
    "https://mailchimp.com/developer/transactional/guides/track-respond-activity-webhooks/#authenticating-webhook-requests",
};

const microsoftGraph: ProviderDescription = {
  name: "microsoft_graph",
  title: "Microsoft Graph",
  headers: [],
  signed: "nothing: each notification has the `clientState` of its subscription",
  algorithm: "clientState is compared",
  key: "secrets: the clientState of the subscriptions, a long random string that you choose",
  replayProtection: "none: no time is signed",
  messageId: "none",
  documentation: "https://learn.microsoft.com/en-us/graph/change-notifications-delivery-webhooks",
};

/** All providers in alphabetical order. */
export const providerTable: readonly ProviderDescription[] = [
  ...schemeNames.map((name) => describe(schemeOf(name as SchemeName))),
  adyen,
  mailchimp,
  mailgun,
  mandrill,
  microsoftGraph,
  twilio,
].toSorted((left, right) => (left.name < right.name ? -1 : 1));

function describe(provider: Provider): ProviderDescription {
  const { name, title, headers, signed, algorithm, signature, keys, key, messageId, documentation } =
    provider;
  // A prefix that names a list entry is part of the header's format; a prefix of a single value is specific to the
  // provider.
  const isNamed = signature.prefix !== undefined && signature.timestampPrefix === undefined;
  return {
    name,
    title,
    headers: Object.values(headers),
    signed,
    algorithm: `${algorithm}, ${signature.encoding}${isNamed ? ` after ${signature.prefix}` : ""}`,
    key: `${keys.option}: ${key}`,
    replayProtection: replayProtectionOf(provider),
    messageId,
    documentation,
  };
}

function replayProtectionOf(provider: ProviderScheme): string {
  if (!isTimed(provider)) return "none: no time is signed";
  const { timestampField } = provider;
  return timestampField === undefined
    ? "the signed time, 300 s"
    : `${timestampField} in the signed body, 300 s`;
}
