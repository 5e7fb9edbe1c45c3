import {
  channelKinds,
  channelStates,
  notificationFrequencies,
  notificationLanguages,
  notificationStates,
  notificationTopics,
} from "../notifications/notification.ts";
import {
  choice,
  flag,
  id,
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
import type { Fields, InputOf } from "./field.ts";

const clockTime = (doc: string) =>
  word({
    lengthMax: 5,
    pattern: "^([01][0-9]|2[0-3]):[0-5][0-9]$",
    rule: "a time of the day such as 22:00",
    doc,
    examples: ["22:00"],
  });

const quietHoursFields = {
  from: required(clockTime("When they begin.")),
  until: required(clockTime("When they end; earlier than `from` over midnight.")),
} satisfies Fields;

const settable = {
  name: line({ lengthMax: 100, default: "", doc: "For people." }),
  topics: list(choice(notificationTopics), {
    countMin: 0,
    countMax: notificationTopics.length,
    isSet: true,
    default: ["failing", "disabled"] as const,
    doc: "What it is told. `failing` warns at half of the time to the end of a webhook and a day before, `first_problem` after a quarter of an hour; whoever got one of these, or `disabled`, hears when the webhook works again.",
  }),
  webhookIds: nullable(
    list(id(), {
      countMax: 100,
      isSet: true,
      doc: "Only about these webhooks, and about nothing that is no webhook's; null is about all of the tenant.",
    }),
  ),
  frequency: choice(notificationFrequencies, {
    default: "immediate",
    doc: "At once, or together: at each full hour, or at 8:00.",
  }),
  timeZone: line({
    lengthMin: 1,
    lengthMax: 64,
    default: "UTC",
    doc: "The reader's, as an IANA name: of dates, digests and quiet hours.",
    examples: ["Europe/Berlin"],
  }),
  quietHours: nullable(
    object(quietHoursFields, {
      title: "QuietHours",
      doc: "Nothing is sent then; what waits follows at their end.",
    }),
  ),
  language: choice(notificationLanguages, { default: "en", doc: "Of what people read." }),
  enabled: flag({ default: true, doc: "False keeps it, and sends nothing." }),
} satisfies Fields;

/** White space, control and format characters, and what means something in a header of a mail. */
const notInAddress =
  '<>(),;:"\\\\[\\]\\s\\u0000-\\u0020\\u007f-\\u00a0\\u00ad\\u061c\\u180e\\u200b-\\u200f\\u2028-\\u202f\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb';

export const channelFields = {
  id: id({ doc: "Of a channel that is kept; without it a new one is made." }),
  kind: required(choice(channelKinds, { doc: "Cannot be changed." })),
  address: word({
    lengthMax: 254,
    pattern: `^[^@${notInAddress}]{1,64}@[^@${notInAddress}]+\\.[^@.${notInAddress}]+$`,
    rule: "a mail address such as ada@example.com",
    doc: "Of `email`.",
    examples: ["ada@example.com"],
  }),
  url: secret(
    url({
      lengthMax: 2_048,
      doc: "Where the others post to, as the service gave it. Never shown again; what was set stays where it is left out. `pagerduty` has its own.",
    }),
  ),
  integrationKey: secret(
    word({
      lengthMin: 1,
      lengthMax: 128,
      pattern: "^[A-Za-z0-9_-]+$",
      rule: "letters, digits, _ and -",
      doc: "Of `pagerduty`: the integration key of its Events API, version 2. Never shown again.",
      examples: ["R0UT1NGK3Y0123456789abcdef012345"],
    }),
  ),
  ...settable,
} satisfies Fields;
export type ChannelInput = InputOf<typeof channelFields>;

export const channelSetFields = {
  channels: required(
    list(object(channelFields, { title: "NotificationChannelInput" }), {
      countMin: 0,
      countMax: 20,
      doc: "All of them: what is left out is removed.",
    }),
  ),
} satisfies Fields;

export const channelShown = {
  id: id({ doc: "Stays the same." }),
  kind: choice(channelKinds, { doc: "Where it goes." }),
  address: line({ lengthMax: 254, doc: "Of a mail; of the others the host that they go to." }),
  ...settable,
  webhookId: nullable(
    id({
      doc: "The webhook of the tenant `posthorn-operator` that carries it; null for mail and PagerDuty, and for tenants.",
    }),
  ),
  secret: nullable(
    line({
      lengthMax: 255,
      doc: "Of `webhook`: what its requests are signed with, in the answer that made it; null everywhere else.",
    }),
  ),
  lastSentAt: nullable(time({ doc: "When the last message went out." })),
  lastErrorAt: nullable(time({ doc: "When sending failed last." })),
  lastError: nullable(line({ lengthMax: 400, doc: "What the mail server or the network said then." })),
  refusedAt: nullable(
    time({
      doc: "Since when the mail server refuses the address; nothing is sent until it is tested, or saved.",
    }),
  ),
  state: choice(channelStates, {
    doc: "`unconfirmed`: the reader of a mail address has not followed the link of the confirmation mail, so nothing else is sent. `limited`: too many messages in this hour; the others follow as one.",
  }),
  confirmationSentAt: nullable(time({ doc: "When the one mail left that asks the reader to confirm." })),
  confirmedAt: nullable(
    time({ doc: "When the reader of a mail address confirmed it; the operator's need none." }),
  ),
  unsubscribedAt: nullable(
    time({
      doc: "When its reader stopped it with the link in a mail. Only the reader can start it again, with the same link.",
    }),
  ),
  limitedUntil: nullable(
    time({ doc: "When what was gathered since the limit of an hour was reached is sent." }),
  ),
  createdAt: time({ doc: "When it was made." }),
  updatedAt: time({ doc: "When it was changed last." }),
} satisfies Fields;

export const notificationFilters = {
  channelId: id({ doc: "Only of this channel." }),
  state: choice(notificationStates, { doc: "Only those that stand there." }),
} satisfies Fields;

export const notificationShown = {
  id: id({ doc: "Of the message." }),
  channelId: id({ doc: "Where it goes." }),
  topic: line({ lengthMax: 32, doc: "What it is about." }),
  subject: line({ lengthMax: 300, doc: "Its first line." }),
  state: choice(notificationStates, {
    doc: "`handed_over`: the event that carries it is delivered like any other. `dropped`: its channel is gone or closed.",
  }),
  attempts: integer({ min: 0, max: 10_000, doc: "How often it was tried." }),
  dueAt: time({ doc: "When it is sent, or tried again." }),
  createdAt: time({ doc: "When it was made." }),
  endedAt: nullable(time({ doc: "When it was sent or given up." })),
  error: nullable(line({ lengthMax: 400, doc: "Of the last try." })),
  eventId: nullable(id({ doc: "The event that carries it, for administrators." })),
} satisfies Fields;
