import { sourceProbes } from "../domain/source-probe.ts";
import { type GatewayOutcome, recentRequestsMax } from "../features/gateway/relayed.ts";
import { gatewayModes, inactiveAnswers, sourceDefaults } from "../features/gateway/source.ts";
import {
  choice,
  document,
  type Fields,
  flag,
  id,
  type InputOf,
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
  word,
} from "./field.ts";
import { eventTypeField, pointerField, rateLimitFields, tenantIdField } from "./names.ts";
import { type ColumnTable, defineResource, type OptionTable } from "./resource.ts";
import {
  anyValue,
  closed,
  freeObject,
  idParam,
  idSchema,
  listingQuery,
  listOf,
  nullableSchema,
  oneOf,
  schemaOf,
  shownSchemaOf,
  textOrNull,
  Type,
} from "./schema.ts";

/** Sources of the gateway: addresses for inbound requests. */

const headerName = word({
  lengthMax: 128,
  pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$",
  rule: "the name of a header",
  examples: ["X-GitHub-Event"],
});

const mediaType = word({
  lengthMax: 128,
  pattern: "^[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+(; ?[A-Za-z0-9_-]+=[A-Za-z0-9_.-]+)*$",
  rule: "a media type such as application/json",
  examples: ["application/json"],
});

const eventTypeSourceFields = {
  fixed: { ...eventTypeField, doc: "A fixed type for every message." },
  header: { ...headerName, doc: "Read from this header." },
  pointer: { ...pointerField, doc: "Read from the body, at this JSON pointer." },
  query: line({ lengthMin: 1, lengthMax: 128, doc: "Read from this query parameter." }),
  path: flag({ doc: "Read from `/_webhooks/{party}/…/{event_type}`." }),
  allowUnsigned: flag({
    default: false,
    doc: "Use the value even if the sender's signature does not cover it. Anyone who has captured a message can then change the value.",
  }),
} satisfies Fields;

const customResponseFields = {
  status: required(integer({ min: 200, max: 299, doc: "Status code of the response, 200 to 299." })),
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
      doc: "Names that senders state in `WebHook-Request-Origin`; `*` allows all. They are not authenticated: every message is still verified.",
    }),
  ),
  ratePerMinuteMax: nullable(
    integer({
      min: 1,
      max: 1_000_000,
      doc: "Maximum granted rate in requests per minute; the rate limit of the source if null.",
    }),
  ),
} satisfies Fields;

const handshakeNotes = {
  doc: "Answers CloudEvents senders that use OPTIONS to ask whether they may deliver. Without it, OPTIONS gets 405.",
};

export const sourceFields = {
  name: requiredToCreate(line({ lengthMin: 1, lengthMax: 255, doc: "Display name.", examples: ["GitHub"] })),
  tenantId: onlyForCreation(tenantIdField),
  description: text({ lengthMax: 1_024, doc: "Free-form description." }),
  verification: requiredToCreate(
    secret(
      document({
        bytesMax: 32_768,
        doc: "How messages are verified: `type` names a provider such as `github`, a scheme such as `hmac`, or `none`, which must be given explicitly. Secrets are encrypted and never shown again. An update replaces all secrets; during a rotation, list both.",
        examples: [{ type: "github", secrets: ["a long random string"] }],
      }),
      ["type"],
    ),
  ),
  party: nullable(
    word({
      lengthMax: 63,
      pattern: "^[a-z0-9][a-z0-9_-]*$",
      rule: "a name of a-z, 0-9, _ and -, beginning with a letter or digit",
      doc: "Also accepts messages at `/_webhooks/{party}/…`. The name is unique in a deployment.",
      examples: ["github"],
    }),
  ),
  mode: choice(gatewayModes, {
    default: "pass_through",
    doc: "`pass_through` responds after the destination accepted the message; `store_and_forward` responds once the message is stored, and requires an acknowledgement of the service description.",
  }),
  eventType: nullable(
    object(eventTypeSourceFields, {
      title: "EventTypeSourceInput",
      doc: "Where to find the event type; set one of these fields. If null, the provider's default is used.",
    }),
  ),
  keyPointers: nullable(
    list(pointerField, {
      countMax: 8,
      isSet: true,
      doc: "Fields of the body that together identify a message, for senders that provide no id.",
    }),
  ),
  forwardHeaders: list(headerName, {
    countMin: 0,
    countMax: 32,
    isSet: true,
    doc: "Headers to forward in addition to the provider's usual ones. Credentials and connection headers are never forwarded.",
  }),
  forwardPath: flag({ doc: "Appends the rest of the request path and the query to the webhook's URL." }),
  passSignatures: flag({
    doc: "Forwards the sender's `Signature`, `Signature-Input` and `Content-Digest` (RFC 9421), unless the webhook adds such a signature itself.",
  }),
  allowPut: flag({ doc: "Accepts PUT as well as POST." }),
  allowProbes: list(choice(sourceProbes), {
    countMin: 0,
    countMax: sourceProbes.length,
    isSet: true,
    doc: "Address checks that are answered with 200, in addition to the provider's: `head`, `get`, and `validation_token` (POST with `?validationToken=…`, which is returned as plain text). They are not stored.",
  }),
  customResponse: nullable(
    object(customResponseFields, {
      title: "CustomResponseInput",
      doc: "Response to senders in `store_and_forward`; 202 if null.",
    }),
  ),
  active: flag({ doc: "If false, all messages are refused." }),
  whenInactive: choice(inactiveAnswers, {
    default: "unavailable",
    doc: "Response while the source is not active: `unavailable` sends a 503, `gone` a 410.",
  }),
  rateLimit: nullable(
    object(rateLimitFields, {
      title: "SourceRateLimitInput",
      doc: "Limit per process; further requests get 429.",
    }),
  ),
  bodyBytesMax: nullable(
    integer({ min: 1, max: 67_108_864, doc: "Limit below that of the server; larger bodies get 413." }),
  ),
  budgetMs: integer({
    min: 1_000,
    max: 60_000,
    default: sourceDefaults.budgetMs,
    doc: "`pass_through`: maximum time until the sender gets a response. Keep it below the sender's own timeout.",
  }),
  retriesWithinBudget: flag({
    doc: "`pass_through`: retries transient failures within `budget_ms`. Without it there is one attempt.",
  }),
  statusOverrides: document({
    bytesMax: 1_024,
    doc: "`pass_through`: replaces the status that senders get, keyed by the webhook's response: a status, `timeout`, `not_reached` or `oversized`. A success must stay a success and an error an error; redirects are not allowed.",
    examples: [{ "404": 503, "410": 410 }],
  }),
  handshake: nullable(object(handshakeFields, { ...handshakeNotes, title: "SourceHandshakeInput" })),
  dedupWindowMs: integer({
    min: 86_400_000,
    max: 31 * 86_400_000,
    default: sourceDefaults.dedupWindowMs,
    doc: "How long a repeated message is recognised.",
  }),
} satisfies Fields;
export type SourceInput = InputOf<typeof sourceFields>;

/** The fields shown of a source: without the secret address, and with the secrets in `verification` masked. */
export const sourceShown = {
  id: id({ doc: "Id of the source." }),
  tenantId: tenantIdField,
  name: line({ lengthMax: 255 }),
  description: text({ lengthMax: 1_024 }),
  party: sourceFields.party,
  verification: document({ doc: "Verification settings with secrets masked." }),
  warnings: list(text({ lengthMax: 255 }), { countMax: 16, doc: "Problems that need attention." }),
  mode: choice(gatewayModes, { doc: "The configured mode." }),
  effectiveMode: choice(gatewayModes, {
    doc: "The mode in force: `pass_through` while the acknowledgement is missing or refers to an older description.",
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
  createdAt: time({ doc: "When it was created." }),
  updatedAt: time({ doc: "When it was last changed." }),
} satisfies Fields;

const recentCount = integer({ min: 0, max: recentRequestsMax });

const recentFields = {
  accepted: recentCount,
  duplicate: recentCount,
  rejected: recentCount,
  ignored: recentCount,
  challenge: recentCount,
  failed: recentCount,
  lastReceivedAt: nullable(time({ doc: "When the newest request arrived; null if there is none." })),
} satisfies Fields & Readonly<Record<GatewayOutcome, unknown>>;

/** A source as shown in a list. */
const listedSourceShown = {
  ...sourceShown,
  recent: nullable(
    object(recentFields, {
      title: "RecentRequests",
      doc: `Its latest requests by outcome, up to ${recentRequestsMax}; null unless \`include=recent\` is set.`,
    }),
  ),
} satisfies Fields;

export const sourceRotateFields = {
  overlapSeconds: integer({
    min: 0,
    max: 30 * 86_400,
    default: 86_400,
    doc: "How long the previous address keeps working.",
  }),
} satisfies Fields;
export type SourceRotateInput = InputOf<typeof sourceRotateFields>;

export const sourceAcknowledgeFields = {
  version: required(
    word({
      lengthMax: 64,
      pattern: "^[0-9a-f]+$",
      rule: "the version of a service description",
      doc: "`version` of `GET /service-description`, as it was shown to the operator of the sender.",
      examples: ["3f2a9c0b17de"],
    }),
  ),
} satisfies Fields;

const sourceFilters = { tenantId: tenantIdField } satisfies Fields;

export const sourceRotateSchema = schemaOf(sourceRotateFields, { title: "SourceRotateInput" });
export const sourceAcknowledgeSchema = schemaOf(sourceAcknowledgeFields, { title: "SourceAcknowledge" });
export const listedSourceSchema = shownSchemaOf(listedSourceShown, { title: "ListedSource" });

export const sourceResource = defineResource({
  noun: "source",
  title: "Source",
  path: "/v1/sources",
  tag: "Gateway",
  key: idParam("the source"),
  input: sourceFields,
  shown: sourceShown,
  filters: sourceFilters,
  create: {
    title: "SourceCreate",
    examples: [{ name: "GitHub", verification: { type: "github", secrets: ["a long random string"] } }],
  },
  update: { title: "SourceUpdate", examples: [{ active: false }] },
  schemas: {
    list: listOf(listedSourceSchema, "SourceList"),
    listQuery: closed({
      ...listingQuery(sourceFilters).properties,
      include: Type.Optional(
        Type.Array(Type.String({ pattern: "^recent$", "x-rule": "recent" }), {
          maxItems: 1,
          description:
            "Additional fields to include in each row. `recent`: counts of the latest requests by outcome.",
        }),
      ),
    }),
  },
});

export const sourceAddressSchema = closed(
  {
    source_id: idSchema("the source"),
    url: Type.String("A secret: anyone with this address can send. Give it only to the sender."),
    party_url: textOrNull("The address with the public host name; null if there is none."),
    source: sourceResource.schemas.one,
  },
  { title: "SourceAddress" },
);

export const serviceDescriptionSchema = closed(
  {
    service: Type.String("Always `posthorn gateway`."),
    version: Type.String(
      "Changes with the content of this document; acknowledged by `POST /v1/sources/{id}/acknowledge`.",
    ),
    modes: freeObject({ description: "Guarantees of each mode." }),
    durability: Type.String("Where a stored message is kept before it is acknowledged."),
    idempotency_key: Type.String("How the sender's key is used."),
    deduplication: freeObject(),
    retention: freeObject(),
    limits: freeObject(),
    retry_schedules: Type.Array(anyValue(), { description: "Schedule of each delivery profile." }),
  },
  { title: "ServiceDescription" },
);

// The schema of `GET /v1/source-types`: features/gateway/source.ts with names in snake_case.

const field = closed({
  name: Type.String(),
  kind: oneOf(["text", "texts", "number", "choice", "verifiers"], {
    description: "`texts` accepts one or several strings, such as two secrets during a rotation.",
  }),
  is_required: Type.Boolean(),
  is_secret: Type.Boolean("Encrypted in storage and masked in responses."),
  choices: Type.Array(Type.String(), { description: "Empty unless `kind` is `choice`." }),
  description: Type.String(),
});

const provider = closed({
  documentation: Type.String({ format: "uri" }),
  steps: Type.Array(Type.String(), {
    description: "Steps to set up the provider; `{url}` is the address of the source, `{secret}` its secret.",
  }),
  remarks: Type.Array(Type.String()),
  signature: Type.String(),
  signed: Type.String("What the signature covers."),
  replay_protection: Type.String(),
  forward_headers: Type.Array(Type.String()),
  address_check: nullableSchema(
    oneOf(["get", "head", "post"], { description: "How the provider verifies the address." }),
  ),
});

export const sourceTypeSchema = closed(
  {
    type: Type.String({ description: "Value of `verification.type`.", examples: ["github"] }),
    title: Type.String({ examples: ["GitHub"] }),
    fields: Type.Array(field),
    provider: nullableSchema(provider),
  },
  { title: "SourceType" },
);

export const sourceTypeListSchema = listOf(sourceTypeSchema, "SourceTypeList");

export const sourceOptions: OptionTable<typeof sourceFields> = {
  party: "--party <name>",
  allowProbes: ["--allow-probes <names>", "address checks to answer: head, get, validation_token"],
  tenantId: ["--tenant <id>", "tenant (administrators)"],
};

export const sourceColumns: ColumnTable<typeof sourceShown> = {
  ID: "id",
  NAME: "name",
  "VERIFIED BY": (row) => (row["verification"] as Readonly<Record<string, unknown>>)["type"],
  MODE: "effectiveMode",
  STATE: (row) => (row["active"] === true ? "active" : "disabled"),
  WARNINGS: (row) => [row["warnings"]].flat().join("; "),
};
