/** Mail, chat, telephony and customer support. */
import type { Preset } from "./preset.ts";

export const conversationPresets = {
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
      "In the settings of the app open Webhooks and enter {url} as the target URL; the signature covers it, so enter the same text as the public address here.",
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
      "Choose a long random text and enter it as {secret}.",
      "In the audience open Settings, Webhooks, and create a webhook with {url}?secret= followed by that text.",
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
      "In Mandrill open Settings, Webhooks, and add a webhook with {url}; the signature covers it, so enter the same text as the public address here.",
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
      "In the Console open the number or the service, and enter {url} for the webhook, with POST; the signature covers it, so enter the same text as the public address here.",
      "Copy the auth token of the account into {secret}.",
    ],
    remarks: [
      "Messages are forms, not JSON. Twilio expects a TwiML response for calls and texts that wait for one.",
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
