import { option } from "./option.ts";
import { smtpUrl } from "./setting-kinds.ts";
import { flag, optionalText } from "./value-kinds.ts";

/** Mail, and the texts of notifications. */
export const notification = {
  smtpUrl: option({
    env: "POSTHORN_SMTP_URL",
    group: "Notifications",
    description:
      "Mail server for messages to people, such as `smtps://user:password@mail.example.com` or `smtp://mail.example.com:587`, which must offer STARTTLS.",
    kind: smtpUrl,
    fallback: null,
    fallbackText: "unset: no mail",
    secret: true,
  }),
  smtpPlain: option({
    env: "POSTHORN_SMTP_PLAIN",
    group: "Notifications",
    description:
      "Send mail without encryption where the server offers none. On this machine (`localhost`, 127.0.0.1) that is so in any case.",
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
    description:
      "Address that mail servers tell when a mail could not be delivered later, such as `bounces@example.com`: the sender of the envelope.",
    kind: optionalText,
    fallback: null,
    fallbackText: "unset: the address of POSTHORN_MAIL_FROM",
  }),
  notificationLink: option({
    env: "POSTHORN_NOTIFICATION_LINK",
    group: "Notifications",
    description:
      "Page of a webhook that messages lead to, with `{webhook_id}` and `{tenant_id}` in it, such as `https://app.example.com/webhooks/{webhook_id}`.",
    kind: optionalText,
    fallback: null,
    fallbackText: "unset: no link",
  }),
  notificationTexts: option({
    env: "POSTHORN_NOTIFICATION_TEXTS",
    group: "Notifications",
    description:
      'JSON file with texts in the place of ours, by language and name: `{"en": {"recovered.subject": "…"}}`.',
    kind: optionalText,
    fallback: null,
    fallbackText: "unset: our own texts",
  }),
} as const;
