/** Payments and shops. */
import type { Preset } from "./preset.ts";

export const paymentPresets = {
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
    // The webhook id, not the event id: one event can cause messages of several topics.
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
      "For one shop, open Settings, Notifications, Webhooks in its admin; for an app, subscribe by the API or in shopify.app.toml.",
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
      "Enter {url} as the notification URL; the signature covers it, so enter the same text as the public address here.",
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
      "When a secret is rolled, Stripe signs with both for up to 24 hours: enter both for that time.",
    ],
  },
} as const satisfies Readonly<Record<string, Preset>>;
