/** Code, identity and infrastructure. */
import type { Preset } from "./preset.ts";

const svixSteps =
  "Choose the events, create the endpoint, and copy its signing secret (whsec_…) into {secret}.";

export const developerPresets = {
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
      "Enter a long random text as the secret, and the same text into {secret}.",
      "Choose the events and save. GitHub sends a ping at once, which appears among the requests.",
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
      "A secret token is sent as it is: it proves who sent the message, but not that the body is unaltered.",
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
      "Choose a long random text of up to 128 characters and enter it as {secret}.",
      "Create the subscription by POST /v1.0/subscriptions with {url} as notificationUrl, and that text as clientState.",
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
      "Create the webhook by POST /1/webhooks with {url} as callbackURL; the signature covers it, so enter the same text as the public address here.",
      "Trello checks the address by HEAD, which Posthorn answers.",
    ],
  },
} as const satisfies Readonly<Record<string, Preset>>;
