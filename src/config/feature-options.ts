import { option } from "./option.ts";
import {
  cidr,
  flag,
  integer,
  optionalHeaderName,
  optionalText,
  portalOrigins,
  smtpUrl,
} from "./setting-kinds.ts";

/** Limits and trusted proxies of the role `gateway`. */
export const gateway = {
  gatewayInFlight: option({
    env: "POSTHORN_GATEWAY_IN_FLIGHT",
    group: "Gateway",
    description:
      "Maximum number of messages in flight in this process whose senders have waited for a webhook for less than a second (`pass_through`). " +
      "Tenants share these slots, and further messages get a 503. After one second, a message counts in " +
      "`POSTHORN_WAITING_REQUESTS`.",
    kind: integer({ min: 1, max: 10_000, unit: "messages" }),
    fallback: 100,
  }),
  gatewaySourceInFlight: option({
    env: "POSTHORN_GATEWAY_SOURCE_IN_FLIGHT",
    group: "Gateway",
    description:
      "Maximum number of messages in flight from one source, regardless of their waiting time, so that a hanging webhook leaves slots for others.",
    kind: integer({ min: 1, max: 10_000, unit: "messages" }),
    fallback: 20,
  }),
  sourcesPerTenant: option({
    env: "POSTHORN_SOURCES_PER_TENANT",
    group: "Gateway",
    description: "Maximum number of sources of a tenant.",
    kind: integer({ min: 0, max: 100_000, unit: "sources" }),
    fallback: 200,
  }),
  clientCertificateHeader: option<string | null>({
    env: "POSTHORN_CLIENT_CERTIFICATE_HEADER",
    group: "Gateway",
    description:
      "Header in which the proxy in front of the `gateway` role passes on the client certificate of a sender (mutual TLS): `Client-Cert` of RFC 9440, percent-encoded PEM, base64, or `X-Forwarded-Client-Cert`. Accepted only from `POSTHORN_TRUSTED_PROXIES`; the proxy must set it and overwrite any value from the sender.",
    kind: optionalHeaderName,
    fallback: null,
    fallbackText: "unset: sources cannot require client certificates",
  }),
  trustedProxies: option<readonly string[]>({
    env: "POSTHORN_TRUSTED_PROXIES",
    group: "Gateway",
    description:
      "Addresses of the proxies in front of the `gateway` role, as CIDR blocks such as `10.0.3.0/24`. Their `X-Forwarded-For` contains the sender's address, which is used to limit failed verifications, and their `POSTHORN_CLIENT_CERTIFICATE_HEADER` contains the sender's certificate. Only listed proxies are trusted, even on this machine.",
    kind: cidr,
    fallback: [],
    fallbackText: "none",
  }),
} as const;

/** Email, and the messages of notifications. */
export const notification = {
  smtpUrl: option({
    env: "POSTHORN_SMTP_URL",
    group: "Notifications",
    description:
      "Mail server for notifications, such as `smtps://user:password@mail.example.com` or `smtp://mail.example.com:587`, which must offer STARTTLS.",
    kind: smtpUrl,
    fallback: null,
    fallbackText: "unset: no email",
    secret: true,
  }),
  smtpPlain: option({
    env: "POSTHORN_SMTP_PLAIN",
    group: "Notifications",
    description:
      "Send email without encryption if the server does not offer it. This is always allowed on this machine (`localhost`, 127.0.0.1).",
    kind: flag,
    fallback: false,
  }),
  mailFrom: option({
    env: "POSTHORN_MAIL_FROM",
    group: "Notifications",
    description: "Sender of emails, such as `Webhooks <webhooks@example.com>`.",
    kind: optionalText,
    fallback: null,
    fallbackText: "unset; required with a mail server",
  }),
  mailBounces: option({
    env: "POSTHORN_MAIL_BOUNCES",
    group: "Notifications",
    description: "Address for bounce messages (envelope sender), such as `bounces@example.com`.",
    kind: optionalText,
    fallback: null,
    fallbackText: "unset: the address of POSTHORN_MAIL_FROM",
  }),
  notificationLink: option({
    env: "POSTHORN_NOTIFICATION_LINK",
    group: "Notifications",
    description:
      "Link to a webhook's page in notifications, with placeholders `{webhook_id}` and `{tenant_id}`, such as `https://app.example.com/webhooks/{webhook_id}`.",
    kind: optionalText,
    fallback: null,
    fallbackText: "unset: no link",
  }),
  notificationTexts: option({
    env: "POSTHORN_NOTIFICATION_TEXTS",
    group: "Notifications",
    description:
      'JSON file with custom wording, keyed by language and name: `{"en": {"recovered.subject": "…"}}`.',
    kind: optionalText,
    fallback: null,
    fallbackText: "unset: default wording",
  }),
} as const;

/** The customer portal. */
export const portal = {
  portal: option({
    env: "POSTHORN_PORTAL",
    group: "Server",
    description: "Serve the customer portal at `/portal`. Access requires a session created by your backend.",
    kind: flag,
    fallback: true,
  }),
  portalOrigins: option<readonly string[]>({
    env: "POSTHORN_PORTAL_ORIGINS",
    group: "Server",
    description:
      "Origins that may call the API with a portal session token, such as `https://app.example.com`, for a custom portal. Pages that embed the built-in portal in a frame are set in the session instead.",
    kind: portalOrigins,
    fallback: [],
    fallbackText: "none",
  }),
} as const;
