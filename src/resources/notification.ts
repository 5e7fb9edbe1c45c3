import {
  channelKinds,
  channelStates,
  notificationFrequencies,
  notificationLanguages,
  notificationStates,
  notificationTopics,
} from "../features/notifications/notification.ts";
import {
  choice,
  type Fields,
  flag,
  id,
  type InputOf,
  integer,
  line,
  list,
  nullable,
  object,
  required,
  secret,
  time,
  url,
  word,
} from "./field.ts";
import { defineResource } from "./resource.ts";
import { closed, idParam, idSchema, oneOf, schemaOf, shownSchemaOf, Type } from "./schema.ts";

const clockTime = (doc: string) =>
  word({
    lengthMax: 5,
    pattern: "^([01][0-9]|2[0-3]):[0-5][0-9]$",
    rule: "a time of day such as 22:00",
    doc,
    examples: ["22:00"],
  });

const quietHoursFields = {
  from: required(clockTime("When quiet hours begin.")),
  until: required(clockTime("When quiet hours end; a time earlier than `from` is on the next day.")),
} satisfies Fields;

/** Stored as given. */
export const channelSettings = {
  name: line({ lengthMax: 100, default: "", doc: "Display name." }),
  topics: list(choice(notificationTopics), {
    countMin: 0,
    countMax: notificationTopics.length,
    isSet: true,
    default: ["failing", "disabled"] as const,
    doc: "Topics that the channel is notified of. `failing` warns halfway to the time when a webhook is disabled and again a day before, `first_problem` after 15 minutes. A recipient of one of these, or of `disabled`, is also notified when the webhook works again.",
  }),
  webhookIds: nullable(
    list(id(), {
      countMax: 100,
      isSet: true,
      doc: "Only notifications about these webhooks; null means all notifications of the tenant.",
    }),
  ),
  frequency: choice(notificationFrequencies, {
    default: "immediate",
    doc: "When messages are sent: immediately, or in a digest every full hour or at 8:00.",
  }),
  timeZone: line({
    lengthMin: 1,
    lengthMax: 64,
    default: "UTC",
    doc: "Time zone of the recipient as an IANA name, for dates, digests and quiet hours.",
    examples: ["Europe/Berlin"],
  }),
  quietHours: nullable(
    object(quietHoursFields, {
      title: "QuietHours",
      doc: "Nothing is sent during quiet hours; waiting messages are sent when they end.",
    }),
  ),
  language: choice(notificationLanguages, { default: "en", doc: "Language of the messages." }),
  enabled: flag({ default: true, doc: "If false, the channel is kept but nothing is sent." }),
} satisfies Fields;

/** White space, control and format characters, and characters with a meaning in mail headers. */
const notInAddress =
  '<>(),;:"\\\\[\\]\\s\\u0000-\\u0020\\u007f-\\u00a0\\u00ad\\u061c\\u180e\\u200b-\\u200f\\u2028-\\u202f\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb';

export const channelFields = {
  id: id({ doc: "Id of an existing channel; if omitted, a new channel is created." }),
  kind: required(choice(channelKinds, { doc: "Cannot be changed." })),
  address: word({
    lengthMax: 254,
    pattern: `^[^@${notInAddress}]{1,64}@[^@${notInAddress}]+\\.[^@.${notInAddress}]+$`,
    rule: "an email address such as ada@example.com",
    doc: "For `email`.",
    examples: ["ada@example.com"],
  }),
  url: secret(
    url({
      lengthMax: 2_048,
      doc: "URL that messages are posted to, as issued by the service. Never shown again; if omitted, the current value is kept. `pagerduty` has a fixed URL.",
    }),
  ),
  integrationKey: secret(
    word({
      lengthMin: 1,
      lengthMax: 128,
      pattern: "^[A-Za-z0-9_-]+$",
      rule: "letters, digits, _ and -",
      doc: "For `pagerduty`: the integration key of its Events API, version 2. Never shown again.",
      examples: ["R0UT1NGK3Y0123456789abcdef012345"],
    }),
  ),
  ...channelSettings,
} satisfies Fields;
export type ChannelInput = InputOf<typeof channelFields>;

export const channelSetFields = {
  channels: required(
    list(object(channelFields, { title: "NotificationChannelInput" }), {
      countMin: 0,
      countMax: 20,
      doc: "The complete list: channels that are omitted are removed.",
    }),
  ),
} satisfies Fields;

export const channelShown = {
  id: id({ doc: "Does not change." }),
  kind: choice(channelKinds, { doc: "Kind of channel." }),
  address: line({
    lengthMax: 254,
    doc: "For email, the address; for other kinds, the host that messages are sent to.",
  }),
  ...channelSettings,
  webhookId: nullable(
    id({
      doc: "The webhook of the tenant `posthorn-operator` that carries the messages; null for email, for PagerDuty and for tenants.",
    }),
  ),
  secret: nullable(
    line({
      lengthMax: 255,
      doc: "For `webhook`: the signing secret, only in the response that created the channel; otherwise null.",
    }),
  ),
  lastSentAt: nullable(time({ doc: "When the last message was sent." })),
  lastErrorAt: nullable(time({ doc: "When sending last failed." })),
  lastError: nullable(line({ lengthMax: 400, doc: "The error from the mail server or the network." })),
  refusedAt: nullable(
    time({
      doc: "When the mail server refused the address. Nothing is sent until the channel is tested or saved.",
    }),
  ),
  state: choice(channelStates, {
    doc: "`unconfirmed`: the owner of the email address has not followed the link in the confirmation email, so nothing else is sent. `limited`: too many messages in this hour; the rest follow as one digest.",
  }),
  confirmationSentAt: nullable(time({ doc: "When the confirmation email was sent; there is only one." })),
  confirmedAt: nullable(
    time({
      doc: "When the owner of the email address confirmed it; the operator's channels need no confirmation.",
    }),
  ),
  unsubscribedAt: nullable(
    time({
      doc: "When the recipient unsubscribed with the link in an email. Only the recipient can subscribe again, with the same link.",
    }),
  ),
  limitedUntil: nullable(
    time({ doc: "When the messages collected since the hourly limit was reached will be sent." }),
  ),
  createdAt: time({ doc: "When it was created." }),
  updatedAt: time({ doc: "When it was last changed." }),
} satisfies Fields;

export const notificationFilters = {
  channelId: id({ doc: "Only messages of this channel." }),
  state: choice(notificationStates, { doc: "Only messages in this state." }),
} satisfies Fields;

export const notificationShown = {
  id: id({ doc: "Id of the message." }),
  channelId: id({ doc: "Kind of channel." }),
  topic: line({ lengthMax: 32, doc: "Topic of the message." }),
  subject: line({ lengthMax: 300, doc: "First line of the message." }),
  state: choice(notificationStates, {
    doc: "`handed_over`: the event that carries the message is delivered like any other. `dropped`: the channel was removed or disabled.",
  }),
  attempts: integer({ min: 0, max: 10_000, doc: "Number of attempts to send it." }),
  dueAt: time({ doc: "When it will be sent or retried." }),
  createdAt: time({ doc: "When it was created." }),
  endedAt: nullable(time({ doc: "When it was sent or sending was abandoned." })),
  error: nullable(line({ lengthMax: 400, doc: "Error of the last attempt." })),
  eventId: nullable(id({ doc: "Id of the event that carries it, for administrators." })),
} satisfies Fields;

export const channelSetInputSchema = schemaOf(channelSetFields, {
  title: "NotificationChannelsInput",
  examples: [
    {
      channels: [
        { kind: "email", address: "ada@example.com", time_zone: "Europe/Berlin", language: "de" },
        {
          kind: "slack",
          url: "https://hooks.slack.com/services/T0/B0/secret",
          topics: ["disabled", "circuit"],
        },
      ],
    },
  ],
});

export const channelSchema = shownSchemaOf(channelShown, { title: "NotificationChannel" });
export const channelListSchema = closed(
  {
    data: Type.Array(channelSchema),
    kinds: Type.Array(oneOf(channelKinds), {
      description: "Channel kinds that this deployment supports; `email` requires a mail server.",
    }),
  },
  { title: "NotificationChannelList" },
);
export const channelTestSchema = closed(
  { notification_id: idSchema("the message") },
  { title: "NotificationTest" },
);
export const notificationResource = defineResource({
  noun: "notification",
  title: "Notification",
  path: "/v1/notifications",
  tag: "Notifications",
  key: idParam("the message"),
  input: {},
  shown: notificationShown,
  filters: notificationFilters,
});
