import type { SourceProbe } from "../../domain/source-probe.ts";
import { type ProviderDescription, type Providers, providerTable } from "../providers/index.ts";
import type { ValueSource } from "./value-source.ts";

/** Facts about a provider other than its signature, for endpoints and their operators. */

type ProviderName = Exclude<keyof Providers, "zoomUrlValidation">;

/** How the provider verifies ownership of a URL. `meta` and `x` use GET, the others use a signed POST. */
export type ChallengeName = "discord" | "meta" | "slack" | "x" | "zoom";

export interface Preset {
  /** Location of a message id that stays the same when the message is sent again; empty if the provider has none. */
  readonly key: readonly ValueSource[];
  /** Location of the event type; the first location that exists is used. */
  readonly eventType: readonly ValueSource[];
  /**
   * Headers to forward to the program that processes the message. In the preset table, this list includes the proof
   * headers.
   */
  readonly forwardHeaders: readonly string[];
  readonly challenge: ChallengeName | null;
  /** Unauthenticated checks of the URL that are answered with success; none if omitted. */
  readonly probes?: readonly SourceProbe[];
  /**
   * Steps at the provider, in order, as sentences. `{url}` is replaced by the URL of the endpoint, and `{secret}` marks
   * where the secret is entered.
   */
  readonly steps: readonly string[];
  /** Peculiarities, such as a body that is only partly signed. */
  readonly remarks?: readonly string[];
}

// Email, chat, telephony and customer support.

const conversationPresets = {
  discord: {
    key: [{ pointer: "/id" }],
    eventType: [{ pointer: "/event/type" }, { pointer: "/type" }],
    forwardHeaders: [],
    challenge: "discord",
    steps: [
      "In the Developer Portal open the application and copy its public key into {secret}.",
      "Under Webhooks (events) or General Information (interactions) enter {url}.",
      "Save: Discord checks the address with a ping, which Posthorn answers.",
    ],
  },
  docusign: {
    key: [],
    eventType: [{ pointer: "/event" }],
    forwardHeaders: [],
    challenge: null,
    steps: [
      "In Settings open Connect, Connect Keys, add a key and copy it into {secret}; it is shown once.",
      "Add a custom configuration with {url}, the data format REST v2.1 (JSON), and Include HMAC Signature.",
      "Choose the events and save.",
    ],
    remarks: [
      "Messages have no id, so the body identifies them. A retry with a different `retryCount` counts as new.",
      "Signatures of up to eight keys of the account are checked.",
    ],
  },
  hubspot: {
    key: [],
    eventType: [{ pointer: "/0/subscriptionType" }, { pointer: "/subscriptionType" }],
    forwardHeaders: [],
    challenge: null,
    steps: [
      "In the settings of the app open Webhooks and enter {url} as the target URL; the signature covers it, so enter exactly the same address as the public address here.",
      "Create the subscriptions and activate them.",
      "Copy the client secret of the app, from its Auth page, into {secret}.",
    ],
    remarks: [
      "One message contains up to 100 events; its type is that of the first.",
      "Messages have no id. A retry has a different `attemptNumber` and counts as new.",
    ],
  },
  intercom: {
    key: [{ pointer: "/id" }],
    eventType: [{ pointer: "/topic" }],
    forwardHeaders: [],
    challenge: null,
    steps: [
      "In the Developer Hub open the app, Webhooks, and enter {url} as the endpoint.",
      "Choose the topics and save.",
      "Copy the client secret, from Basic information, into {secret}.",
    ],
  },
  mailgun: {
    key: [{ pointer: "/signature/token" }],
    eventType: [{ pointer: "/event-data/event" }],
    forwardHeaders: [],
    challenge: null,
    steps: [
      "In Mailgun open Send, Sending, Webhooks, and add {url} for each event.",
      "Copy the HTTP webhook signing key, from API security, into {secret}.",
    ],
    remarks: ["Only a timestamp and a token are signed, not the event data. Each token is accepted once."],
  },
  mailchimp: {
    key: [],
    eventType: [{ fixed: "mailchimp.audience" }],
    forwardHeaders: [],
    challenge: null,
    probes: ["head", "get"],
    steps: [
      "Choose a long random string and enter it as {secret}.",
      "In the audience open Settings, Webhooks, and create a webhook with {url}?secret= followed by that string.",
      "Mailchimp checks the address by GET, which Posthorn answers. Then choose the events and save.",
    ],
    remarks: [
      "Messages are forms and are not signed: anyone who knows the address with its secret can send.",
    ],
  },
  mandrill: {
    key: [],
    eventType: [{ fixed: "mandrill.events" }],
    forwardHeaders: [],
    challenge: null,
    probes: ["head"],
    steps: [
      "In Mandrill open Settings, Webhooks, and add a webhook with {url}; the signature covers it, so enter exactly the same address as the public address here.",
      "Mandrill checks the address by HEAD, which Posthorn answers.",
      "Copy the key of the webhook into {secret}.",
    ],
    remarks: [
      "Messages are forms; the parameter mandrill_events contains a JSON array of events.",
      "The first test of a new webhook is signed with the key test-webhook and is refused. To accept it, enter that key temporarily as the second secret.",
    ],
  },
  meta: {
    key: [],
    eventType: [{ pointer: "/object" }],
    forwardHeaders: ["X-Hub-Signature-256"],
    challenge: "meta",
    steps: [
      "In the App Dashboard copy the app secret, from App settings, Basic, into {secret}.",
      "Choose a verify token and enter it here.",
      "Under Webhooks (for WhatsApp: Configuration) enter {url} as the callback URL, and the same verify token.",
      "Save: Meta checks the address by GET, which Posthorn answers. Then subscribe to fields.",
    ],
    remarks: ["Messages have no id and may contain several changes."],
  },
  resend: {
    key: [{ header: "svix-id" }],
    eventType: [{ pointer: "/type" }],
    forwardHeaders: ["svix-id"],
    challenge: null,
    steps: [
      "In Resend open Webhooks and add a webhook with {url} and the events.",
      "Open it and copy the signing secret (whsec_…) into {secret}.",
    ],
  },
  sendgrid: {
    key: [],
    eventType: [{ pointer: "/0/event" }],
    forwardHeaders: [],
    challenge: null,
    steps: [
      "In SendGrid open Settings, Mail Settings, Event Webhooks, and create one with {url} as the post URL.",
      "Choose the events, enable Signed Event Webhook, and save.",
      "Copy the verification key, which is a public key, into {secret}.",
    ],
    remarks: ["One message contains many events; its type is that of the first."],
  },
  slack: {
    key: [{ pointer: "/event_id" }],
    eventType: [{ pointer: "/event/type" }, { pointer: "/type" }],
    forwardHeaders: ["X-Slack-Retry-Num", "X-Slack-Retry-Reason"],
    challenge: "slack",
    steps: [
      "In the settings of the app copy the signing secret, from Basic Information, into {secret}.",
      "Under Event Subscriptions enable events and enter {url} as the request URL.",
      "Slack checks the address with a challenge, which Posthorn answers. Then subscribe to events and save.",
    ],
    remarks: ["Slack waits three seconds for a response."],
  },
  twilio: {
    key: [{ header: "I-Twilio-Idempotency-Token" }],
    eventType: [{ fixed: "twilio.callback" }],
    forwardHeaders: ["I-Twilio-Idempotency-Token"],
    challenge: null,
    steps: [
      "In the Console open the number or the service, and enter {url} for the webhook, with POST; the signature covers it, so enter exactly the same address as the public address here.",
      "Copy the auth token of the account into {secret}.",
    ],
    remarks: [
      "Messages are forms, not JSON. Twilio expects a TwiML response for calls and text messages that wait for one.",
    ],
  },
  typeform: {
    key: [{ pointer: "/event_id" }],
    eventType: [{ pointer: "/event_type" }],
    forwardHeaders: [],
    challenge: null,
    steps: [
      "In the form open Connect, Webhooks, and add a webhook with {url}.",
      "Edit it, enter a new secret, and copy the secret into {secret}.",
      "Enable the webhook.",
    ],
  },
  x: {
    key: [],
    eventType: [{ pointer: "/data/event_type" }, { fixed: "x.activity" }],
    forwardHeaders: [],
    challenge: "x",
    steps: [
      "In the Developer Console copy the consumer secret (API secret key) of the app into {secret}.",
      "Register {url} by POST /2/webhooks. X checks the address by GET (CRC) now and every hour, which Posthorn answers.",
      "Subscribe the accounts or filters whose events you want.",
    ],
    remarks: ["Messages have no id and, in the Account Activity API, no field for their type."],
  },
  zendesk: {
    key: [{ pointer: "/id" }, { header: "X-Zendesk-Webhook-Invocation-Id" }],
    eventType: [{ pointer: "/type" }],
    forwardHeaders: ["X-Zendesk-Webhook-Id", "X-Zendesk-Webhook-Invocation-Id", "X-Zendesk-Account-Id"],
    challenge: null,
    steps: [
      "In Admin Center open Apps and integrations, Webhooks, and create a webhook with {url}, POST and JSON.",
      "Subscribe it to events, or name it in a trigger.",
      "Open it, reveal the signing secret and copy it into {secret}.",
    ],
    remarks: ["The body sent by a trigger is your own template, so its id and type are where you put them."],
  },
  zoom: {
    key: [],
    eventType: [{ pointer: "/event" }],
    forwardHeaders: [],
    challenge: "zoom",
    steps: [
      "In the App Marketplace open the app, Features, and copy the secret token into {secret}.",
      "Add an event subscription with {url} as the notification endpoint URL.",
      "Choose Validate: Zoom sends a token, and Posthorn answers with its hash. Then save.",
    ],
  },
} as const satisfies Readonly<Record<string, Preset>>;

// Code hosting, identity and infrastructure.

const svixSteps =
  "Choose the events, create the endpoint, and copy its signing secret (whsec_…) into {secret}.";

const developerPresets = {
  bitbucket: {
    key: [{ header: "X-Request-UUID" }],
    eventType: [{ header: "X-Event-Key" }],
    forwardHeaders: ["X-Event-Key", "X-Hook-UUID", "X-Request-UUID", "X-Attempt-Number"],
    challenge: null,
    steps: [
      "In the repository open Repository settings, Webhooks, and add a webhook.",
      "Enter {url}, then a new secret, and copy the secret into {secret}.",
      "Choose the triggers and save.",
    ],
  },
  clerk: {
    key: [{ header: "svix-id" }],
    eventType: [{ pointer: "/type" }],
    forwardHeaders: ["svix-id"],
    challenge: null,
    steps: ["In the Clerk Dashboard open Webhooks and add an endpoint with {url}.", svixSteps],
  },
  github: {
    key: [{ header: "X-GitHub-Delivery" }],
    eventType: [{ header: "X-GitHub-Event" }],
    forwardHeaders: [
      "X-GitHub-Event",
      "X-GitHub-Delivery",
      "X-GitHub-Hook-ID",
      "X-GitHub-Hook-Installation-Target-ID",
      "X-GitHub-Hook-Installation-Target-Type",
      "X-Hub-Signature-256",
    ],
    challenge: null,
    steps: [
      "In the repository or organisation open Settings, Webhooks, and choose Add webhook.",
      "Enter {url} as the payload URL, with application/json as the content type.",
      "Enter a long random string as the secret, and the same string into {secret}.",
      "Choose the events and save. GitHub immediately sends a ping, which appears among the requests.",
    ],
    remarks: ["The event type and the delivery id are in headers, which GitHub does not sign."],
  },
  gitlab: {
    key: [{ header: "webhook-id" }, { header: "Idempotency-Key" }, { header: "X-Gitlab-Event-UUID" }],
    eventType: [{ pointer: "/object_kind" }, { pointer: "/event_name" }, { header: "X-Gitlab-Event" }],
    forwardHeaders: [
      "X-Gitlab-Event",
      "X-Gitlab-Event-UUID",
      "X-Gitlab-Webhook-UUID",
      "X-Gitlab-Instance",
      "Idempotency-Key",
    ],
    challenge: null,
    steps: [
      "In the project or group open Settings, Webhooks, and add a webhook with {url}.",
      "Set a signing token (whsec_…) if your GitLab offers one, otherwise a secret token, and copy it into {secret}.",
      "Choose the triggers and save.",
    ],
    remarks: [
      "A secret token is sent unchanged: it proves who sent the message, but not that the body is unaltered.",
    ],
  },
  linear: {
    key: [{ header: "Linear-Delivery" }],
    eventType: [{ header: "Linear-Event" }, { pointer: "/type" }],
    forwardHeaders: ["Linear-Delivery", "Linear-Event"],
    challenge: null,
    steps: [
      "In Linear open Settings, API, Webhooks, and create a webhook with {url}.",
      "Choose the data change events, save, and copy the signing secret into {secret}.",
    ],
  },
  microsoft_graph: {
    key: [],
    eventType: [{ pointer: "/value/0/changeType" }, { pointer: "/value/0/lifecycleEvent" }],
    forwardHeaders: [],
    challenge: null,
    probes: ["validation_token"],
    steps: [
      "Choose a long random string of up to 128 characters and enter it as {secret}.",
      "Create the subscription by POST /v1.0/subscriptions with {url} as notificationUrl, and that string as clientState.",
      "Graph checks the address with a validationToken, which Posthorn answers.",
    ],
    remarks: [
      "Notifications are not signed: clientState is the proof. One message may contain several notifications.",
    ],
  },
  openai: {
    key: [{ header: "webhook-id" }],
    eventType: [{ pointer: "/type" }],
    forwardHeaders: ["webhook-id"],
    challenge: null,
    steps: [
      "In the OpenAI platform open the settings of the project, Webhooks, and create an endpoint with {url}.",
      "Choose the events and copy the signing secret (whsec_…), which is shown once, into {secret}.",
    ],
  },
  svix: {
    key: [{ header: "svix-id" }],
    eventType: [{ pointer: "/type" }, { pointer: "/eventType" }],
    forwardHeaders: ["svix-id"],
    challenge: null,
    steps: ["In the application portal of the sender add an endpoint with {url}.", svixSteps],
    remarks: ["For every sender that uses Svix and has no separate preset here."],
  },
  trello: {
    key: [{ pointer: "/action/id" }],
    eventType: [{ pointer: "/action/type" }],
    forwardHeaders: [],
    challenge: null,
    probes: ["head"],
    steps: [
      "Copy the secret of the application, from trello.com/power-ups/admin, API key, into {secret}.",
      "Create the webhook by POST /1/webhooks with {url} as callbackURL; the signature covers it, so enter exactly the same address as the public address here.",
      "Trello checks the address by HEAD, which Posthorn answers.",
    ],
  },
} as const satisfies Readonly<Record<string, Preset>>;

// Payments and shops.

const paymentPresets = {
  adyen: {
    key: [],
    eventType: [{ pointer: "/notificationItems/0/NotificationRequestItem/eventCode" }],
    forwardHeaders: [],
    challenge: null,
    steps: [
      "In the Customer Area open Developers, Webhooks, and create a Standard webhook.",
      "Enter {url} as the server address, with JSON as the format.",
      "Under Security generate an HMAC key and copy it into {secret}; it is hexadecimal and shown once.",
      "Save, then send a test notification.",
    ],
    remarks: [
      "Eight fields of the notification are signed; the others, such as `eventDate` and `reason`, are not.",
      "Only the standard webhook is covered. Platform webhooks sign the whole body: use `hmac` with the header `HmacSignature`, base64 and `key_encoding` hex.",
    ],
  },
  paddle: {
    key: [{ pointer: "/event_id" }],
    eventType: [{ pointer: "/event_type" }],
    forwardHeaders: [],
    challenge: null,
    steps: [
      "In Paddle open Developer tools, Notifications, and add a destination of the type URL.",
      "Enter {url} and choose the events.",
      "Save, open the destination again and copy its secret key into {secret}.",
    ],
  },
  shopify: {
    // The webhook id, not the event id: one event can cause messages on several topics.
    key: [{ header: "X-Shopify-Webhook-Id" }, { header: "X-Shopify-Event-Id" }],
    eventType: [{ header: "X-Shopify-Topic" }],
    forwardHeaders: [
      "X-Shopify-Topic",
      "X-Shopify-Shop-Domain",
      "X-Shopify-API-Version",
      "X-Shopify-Webhook-Id",
      "X-Shopify-Event-Id",
      "X-Shopify-Triggered-At",
    ],
    challenge: null,
    steps: [
      "For one shop, open Settings, Notifications, Webhooks in its admin; for an app, subscribe through the API or in shopify.app.toml.",
      "Create a webhook with the format JSON and {url} as the address.",
      "Copy the key that the page shows below the webhooks, or the client secret of the app, into {secret}.",
    ],
  },
  square: {
    key: [{ pointer: "/event_id" }],
    eventType: [{ pointer: "/type" }],
    forwardHeaders: ["square-environment", "square-initial-delivery-timestamp", "square-retry-number"],
    challenge: null,
    steps: [
      "In the Developer Console open the application, Webhooks, Subscriptions, and add a subscription.",
      "Enter {url} as the notification URL; the signature covers it, so enter exactly the same address as the public address here.",
      "Copy the signature key of the subscription into {secret}.",
    ],
  },
  stripe: {
    key: [{ pointer: "/id" }],
    eventType: [{ pointer: "/type" }],
    forwardHeaders: ["Stripe-Signature"],
    challenge: null,
    steps: [
      "In the Stripe Dashboard open Workbench, Webhooks, and add a destination of the type webhook endpoint.",
      "Choose the events, and enter {url}.",
      "Reveal the signing secret (whsec_…) and copy it into {secret}, prefix included.",
    ],
    remarks: [
      "When a secret is rolled, Stripe signs with both for up to 24 hours: enter both during that time.",
    ],
  },
} as const satisfies Readonly<Record<string, Preset>>;

/** One entry for every provider. */
const presets: Readonly<Record<ProviderName, Preset>> = {
  ...conversationPresets,
  ...developerPresets,
  ...paymentPresets,
};

/** All information about a provider. */
export interface PresetDescription extends Preset, Omit<ProviderDescription, "key"> {
  /** Human-readable description of what to enter as the secret. */
  readonly secret: string;
}

/** All providers in alphabetical order, for pages, forms and lists. */
export const presetTable: readonly PresetDescription[] = providerTable.map(withPreset);

function withPreset({ key, ...description }: ProviderDescription): PresetDescription {
  const preset = presets[description.name as ProviderName];
  const forwardHeaders = [...preset.forwardHeaders, ...proofs(description)].filter(isFirst);
  return { ...description, ...preset, forwardHeaders, secret: key };
}

/**
 * The headers with which a provider proves that a message is authentic. Forwarding them lets the provider's own library
 * verify messages behind a gateway, too. Standard Webhooks headers are left out, because each hop has its own.
 */
function proofs({ headers }: Pick<ProviderDescription, "headers">): readonly string[] {
  return headers.filter((name) => !name.startsWith("webhook-"));
}

function isFirst(name: string, at: number, all: readonly string[]): boolean {
  return all.findIndex((one) => one.toLowerCase() === name.toLowerCase()) === at;
}
