import { option } from "./option.ts";
import { smtpUrl } from "./setting-kinds.ts";
import { flag, optionalText } from "./value-kinds.ts";

/** Mail, and the texts of notifications. */
export const notification = {
  smtpUrl: option({
    env: "POSTHORN_SMTP_URL",
    group: "Notifications",
    description:
      "Mail server for notifications, such as `smtps://user:password@mail.example.com` or `smtp://mail.example.com:587`, which must offer STARTTLS.",
    kind: smtpUrl,
    fallback: null,
    fallbackText: "unset: no mail",
    secret: true,
  }),
  smtpPlain: option({
    env: "POSTHORN_SMTP_PLAIN",
    group: "Notifications",
    description:
      "Send mail without encryption if the server does not offer it. This is always allowed on this machine (`localhost`, 127.0.0.1).",
    kind: flag,
    fallback: false,
  }),
  mailFrom: option({
    env: "POSTHORN_MAIL_FROM",
    group: "Notifications",
    description: "Sender of mails, such as `Webhooks <webhooks@example.com>`.",
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
    description: 'JSON file with custom texts, by language and name: `{"en": {"recovered.subject": "…"}}`.',
    kind: optionalText,
    fallback: null,
    fallbackText: "unset: default texts",
  }),
} as const;
