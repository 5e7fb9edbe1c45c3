/** Sources, connections and requests of the gateway: what callers may set, and what they are shown. */
import { gatewayOutcomes, type GatewayOutcome, recentRequestsMax } from "../gateway/request.ts";
import { gatewayModes, inactiveAnswers, sourceDefaults, sourceProbes } from "../gateway/source.ts";
import {
  choice,
  document,
  flag,
  id,
  integer,
  line,
  list,
  nullable,
  object,
  onlyForCreation,
  required,
  requiredToCreate,
  secret,
  text,
  time,
  timeOrDate,
  word,
} from "./field.ts";
import type { Fields, InputOf } from "./field.ts";
import { eventTypeField, tenantIdField } from "./names.ts";
import { rateLimitFields } from "./tenant.ts";

const headerName = word({
  lengthMax: 128,
  pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$",
  rule: "the name of a header",
  examples: ["X-GitHub-Event"],
});

export const pointer = word({
  lengthMax: 255,
  pattern: "^(/[^/\\u0000-\\u001f]*)+$",
  rule: "a JSON pointer such as /data/id",
  examples: ["/data/id"],
});

const mediaType = word({
  lengthMax: 128,
  pattern: "^[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+(; ?[A-Za-z0-9_-]+=[A-Za-z0-9_.-]+)*$",
  rule: "a media type such as application/json",
  examples: ["application/json"],
});

const eventTypeSourceFields = {
  fixed: { ...eventTypeField, doc: "The same for every message." },
  header: { ...headerName, doc: "Read from this header." },
  pointer: { ...pointer, doc: "Read from the body, at this JSON pointer." },
  query: line({ lengthMin: 1, lengthMax: 128, doc: "Read from this parameter of the query." }),
  path: flag({ doc: "Read from `/_webhooks/{party}/…/{event_type}`." }),
  allowUnsigned: flag({
    default: false,
    doc: "Also where the sender's signature does not cover it: whoever captured a message can then change it.",
  }),
} satisfies Fields;

const customResponseFields = {
  status: required(integer({ min: 200, max: 299, doc: "Never a redirect, never an error." })),
  contentType: nullable(mediaType),
  body: nullable(text({ lengthMax: 4_096 })),
} satisfies Fields;

const originPattern = word({
  lengthMax: 253,
  pattern: "^(\\*|[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?)$",
  rule: "a DNS name or *",
  examples: ["events.example.com"],
});

const handshakeFields = {
  allowedOrigins: required(
    list(originPattern, {
      countMin: 0,
      countMax: 100,
      isSet: true,
      doc: "Names that senders give themselves in `WebHook-Request-Origin`; `*` for everybody. Nothing proves them: messages are verified all the same.",
    }),
  ),
  ratePerMinuteMax: nullable(
    integer({
      min: 1,
      max: 1_000_000,
      doc: "What is granted at most, in requests per minute; the rate limit of the source when null.",
    }),
  ),
} satisfies Fields;

const handshakeNotes = {
  doc: "Answers senders of CloudEvents that ask by OPTIONS whether they may deliver. Without it OPTIONS is answered 405.",
};

export const sourceFields = {
  name: requiredToCreate(line({ lengthMin: 1, lengthMax: 255, doc: "For people.", examples: ["GitHub"] })),
  tenantId: onlyForCreation(tenantIdField),
  description: text({ lengthMax: 1_024, doc: "For people." }),
  verification: requiredToCreate(
    secret(
      document({
        bytesMax: 32_768,
        doc: "How messages are verified: `type` names a provider such as `github`, a scheme such as `hmac`, or `none`, which has to be written out. Secrets are sealed and never shown again; a change gives them all anew, two while they are rotated.",
        examples: [{ type: "github", secrets: ["a long random text"] }],
      }),
      ["type"],
    ),
  ),
  party: nullable(
    word({
      lengthMax: 63,
      pattern: "^[a-z0-9][a-z0-9_-]*$",
      rule: "a name of a-z, 0-9, _ and -, beginning with a letter or digit",
      doc: "Also takes messages at `/_webhooks/{party}/…`. The name is taken once in a deployment.",
      examples: ["github"],
    }),
  ),
  mode: choice(gatewayModes, {
    default: "pass_through",
    doc: "`pass_through` answers after the destination accepted; `store_and_forward` once the message is stored, which needs an acknowledgement of the service description.",
  }),
  eventType: nullable(
    object(eventTypeSourceFields, {
      title: "EventTypeSourceInput",
      doc: "Where the kind of event stands, one of these; what the provider is known for when null.",
    }),
  ),
  keyPointers: nullable(
    list(pointer, {
      countMax: 8,
      isSet: true,
      doc: "Members of the body that together tell one message from another, for senders that give no id.",
    }),
  ),
  forwardHeaders: list(headerName, {
    countMin: 0,
    countMax: 32,
    isSet: true,
    doc: "Handed on beside those that the provider is known for. Credentials and what belongs to a connection never are.",
  }),
  forwardPath: flag({ doc: "Appends the rest of path and query to the URL of the webhook." }),
  passSignatures: flag({
    doc: "Hands on `Signature`, `Signature-Input` and `Content-Digest` of the sender (RFC 9421), where the webhook has no such signature of its own.",
  }),
  allowPut: flag({ doc: "Takes PUT as well as POST." }),
  allowProbes: list(choice(sourceProbes), {
    countMin: 0,
    countMax: sourceProbes.length,
    isSet: true,
    doc: "Checks of the address that are answered with 200 in addition to those of the provider: `head`, `get`, and `validation_token` (POST with `?validationToken=…`, which is sent back as plain text). Nothing of them is stored.",
  }),
  customResponse: nullable(
    object(customResponseFields, {
      title: "CustomResponseInput",
      doc: "What senders are answered in `store_and_forward`; 202 when null.",
    }),
  ),
  active: flag({ doc: "False takes nothing." }),
  whenInactive: choice(inactiveAnswers, {
    default: "unavailable",
    doc: "While not active: `unavailable` answers 503, `gone` 410.",
  }),
  rateLimit: nullable(
    object(rateLimitFields, { title: "SourceRateLimitInput", doc: "Of each process; more is answered 429." }),
  ),
  bodyBytesMax: nullable(
    integer({ min: 1, max: 67_108_864, doc: "Smaller than the limit of the server; more is answered 413." }),
  ),
  budgetMs: integer({
    min: 1_000,
    max: 60_000,
    default: sourceDefaults.budgetMs,
    doc: "`pass_through`: until the sender is answered. Keep it below the sender's own timeout.",
  }),
  retriesWithinBudget: flag({
    doc: "`pass_through`: what failed for now is tried again while `budget_ms` lasts. Without it there is one attempt.",
  }),
  statusOverrides: document({
    bytesMax: 1_024,
    doc: "`pass_through`: what senders are told otherwise, by what the webhook answered: a status, `timeout`, `not_reached` or `oversized`. A success stays a success and an error an error; nothing becomes a redirect.",
    examples: [{ "404": 503, "410": 410 }],
  }),
  handshake: nullable(object(handshakeFields, { ...handshakeNotes, title: "SourceHandshakeInput" })),
  dedupWindowMs: integer({
    min: 86_400_000,
    max: 31 * 86_400_000,
    default: sourceDefaults.dedupMs,
    doc: "How long a repeat is recognised.",
  }),
} satisfies Fields;
export type SourceInput = InputOf<typeof sourceFields>;

/** Neither secrets nor the address; `verification` has its secrets masked. */
export const sourceShown = {
  id: id({ doc: "Id of the source." }),
  tenantId: tenantIdField,
  name: line({ lengthMax: 255 }),
  description: text({ lengthMax: 1_024 }),
  party: sourceFields.party,
  verification: document({ doc: "With its secrets masked." }),
  warnings: list(text({ lengthMax: 255 }), { countMax: 16, doc: "What somebody should look at." }),
  mode: choice(gatewayModes, { doc: "As it is configured." }),
  effectiveMode: choice(gatewayModes, {
    doc: "As it is in force: `pass_through` while an acknowledgement is missing or of an older description.",
  }),
  acknowledgedBy: nullable(line({ lengthMax: 255 })),
  acknowledgedAt: nullable(time({ doc: "When the service description was acknowledged." })),
  eventType: nullable(
    object(
      {
        fixed: nullable(line({ lengthMax: 128 })),
        header: nullable(line({ lengthMax: 128 })),
        pointer: nullable(line({ lengthMax: 255 })),
        query: nullable(line({ lengthMax: 128 })),
        path: nullable(flag()),
        allowUnsigned: nullable(flag()),
      },
      { title: "EventTypeSource" },
    ),
  ),
  keyPointers: sourceFields.keyPointers,
  forwardHeaders: sourceFields.forwardHeaders,
  forwardPath: sourceFields.forwardPath,
  passSignatures: sourceFields.passSignatures,
  allowPut: sourceFields.allowPut,
  allowProbes: sourceFields.allowProbes,
  customResponse: sourceFields.customResponse,
  active: sourceFields.active,
  whenInactive: sourceFields.whenInactive,
  rateLimit: sourceFields.rateLimit,
  bodyBytesMax: sourceFields.bodyBytesMax,
  budgetMs: sourceFields.budgetMs,
  retriesWithinBudget: sourceFields.retriesWithinBudget,
  statusOverrides: sourceFields.statusOverrides,
  handshake: nullable(object(handshakeFields, { ...handshakeNotes, title: "SourceHandshake" })),
  dedupWindowMs: sourceFields.dedupWindowMs,
  createdAt: time({ doc: "When it was made." }),
  updatedAt: time({ doc: "When it was changed last." }),
} satisfies Fields;

const recentCount = integer({ min: 0, max: recentRequestsMax });

const recentFields = {
  accepted: recentCount,
  duplicate: recentCount,
  rejected: recentCount,
  ignored: recentCount,
  challenge: recentCount,
  failed: recentCount,
  lastReceivedAt: nullable(time({ doc: "When the newest came; null without any." })),
} satisfies Fields & Readonly<Record<GatewayOutcome, unknown>>;

/** What a listing shows of a source. */
export const listedSourceShown = {
  ...sourceShown,
  recent: nullable(
    object(recentFields, {
      title: "RecentRequests",
      doc: `Its last requests, ${recentRequestsMax} at most, by what became of them; null unless \`include=recent\` asks for it.`,
    }),
  ),
} satisfies Fields;

export const sourceRotateFields = {
  overlapSeconds: integer({
    min: 0,
    max: 30 * 86_400,
    default: 86_400,
    doc: "How long the address before goes on working.",
  }),
} satisfies Fields;
export type SourceRotateInput = InputOf<typeof sourceRotateFields>;

export const sourceAcknowledgeFields = {
  version: required(
    word({
      lengthMax: 64,
      pattern: "^[0-9a-f]+$",
      rule: "the version of a service description",
      doc: "`version` of `GET /service-description`, as it was shown to whoever runs the sender.",
      examples: ["3f2a9c0b17de"],
    }),
  ),
} satisfies Fields;

export const sourceFilters = { tenantId: tenantIdField } satisfies Fields;
export const requestFilters = {
  sourceId: id({ doc: "Only of this source." }),
  status: integer({ min: 100, max: 599, doc: "What it was answered." }),
  outcome: choice(gatewayOutcomes),
  rejectionCause: line({ lengthMin: 1, lengthMax: 64, doc: "Such as `no_matching_signature` or `too_old`." }),
  bookmarked: flag({ doc: "True for those with a bookmark, false for the others." }),
  from: timeOrDate({ doc: "At or after this time." }),
  to: timeOrDate({ doc: "Before this time." }),
  tenantId: tenantIdField,
} satisfies Fields;

export const requestReplayFields = {
  connectionIds: nullable(
    list(id(), {
      countMax: 100,
      isSet: true,
      doc: "Only these connections; all of the source when left out.",
    }),
  ),
} satisfies Fields;
export type RequestReplayInput = InputOf<typeof requestReplayFields>;

export const requestBookmarkFields = {
  name: nullable(
    line({
      lengthMin: 1,
      lengthMax: 255,
      doc: "What it is kept for. Kept until the bookmark is taken away with null.",
      examples: ["an order with two items"],
    }),
  ),
} satisfies Fields;
