import { gatewayOutcomes } from "../features/gateway/relayed.ts";
import {
  connectionChangeFields,
  connectionFields,
  connectionFilters,
  connectionShown,
  filterEvaluationFields,
  listedSourceShown,
  requestBookmarkFields,
  requestFilters,
  requestReplayFields,
  sourceAcknowledgeFields,
  sourceFields,
  sourceFilters,
  sourceRotateFields,
  sourceShown,
} from "./gateway.ts";
import {
  anyValue,
  closed,
  freeObject,
  idSchema,
  instant,
  listingQuery,
  listOf,
  nullableSchema,
  oneOf,
  schemaOf,
  searchOf,
  shownSchemaOf,
  Type,
} from "./schema.ts";

const example = { name: "GitHub", verification: { type: "github", secrets: ["a long random text"] } };
export const sourceInputSchema = schemaOf(sourceFields, { title: "SourceCreate", examples: [example] });
export const sourceChangeSchema = schemaOf(sourceFields, {
  title: "SourceUpdate",
  use: "update",
  examples: [{ active: false }],
});
export const sourceRotateSchema = schemaOf(sourceRotateFields, { title: "SourceRotateInput" });
export const sourceAcknowledgeSchema = schemaOf(sourceAcknowledgeFields, { title: "SourceAcknowledge" });
export const sourceSchema = shownSchemaOf(sourceShown, { title: "Source" });
const listedSourceSchema = shownSchemaOf(listedSourceShown, { title: "ListedSource" });
export const sourceListSchema = listOf(listedSourceSchema, "SourceList");
export const sourceQuery = closed({
  ...listingQuery(sourceFilters).properties,
  include: Type.Optional(
    Type.Array(Type.String({ pattern: "^recent$", "x-rule": "recent" }), {
      maxItems: 1,
      description: "Additional parts of each row: `recent`, its latest requests by outcome.",
    }),
  ),
});

export const sourceAddressSchema = closed(
  {
    source_id: idSchema("the source"),
    url: Type.String({
      description: "A secret: anyone with this address can send. Give it only to the sender.",
    }),
    party_url: nullableSchema(
      Type.String({ description: "The address with the public name; null without one." }),
    ),
    source: sourceSchema,
  },
  { title: "SourceAddress" },
);

export const connectionInputSchema = schemaOf(connectionFields, { title: "ConnectionCreate" });
export const connectionChangeSchema = schemaOf(connectionChangeFields, { title: "ConnectionUpdate" });
export const connectionSchema = shownSchemaOf(connectionShown, { title: "Connection" });
export const connectionListSchema = listOf(connectionSchema, "ConnectionList");
export const connectionQuery = listingQuery(connectionFilters);

const text = (description: string) => Type.String({ description });

const requestMembers = {
  id: idSchema("the request"),
  tenant_id: text("Tenant of the request."),
  source_id: idSchema("the source"),
  received_at: instant("When it arrived."),
  method: text("Method of the request."),
  path: text("Path and query, without the secret of the address."),
  body_bytes: Type.Integer({ description: "Length of the body." }),
  status: Type.Integer({ description: "Status of the response." }),
  outcome: oneOf(gatewayOutcomes, {
    description:
      "`accepted`: stored, or accepted by the destination. `duplicate`: already known, answered like the first. `rejected`: refused because of its content. `ignored`: authentic, but no connection accepted it. `challenge`: a provider verified the address. `failed`: could not be processed now.",
  }),
  rejection_cause: nullableSchema(
    text("Such as `no_matching_signature` or `rules_too_costly`; null if it was not refused."),
  ),
  detail: nullableSchema(text("An explanation for the owner of the source; never contains a secret.")),
  duration_ms: Type.Number({
    description: "Time until the response; for store and forward, until the message was handed to the store.",
  }),
  scheme: nullableSchema(text("Signature scheme that was used.")),
  event_type: nullableSchema(text("The mapped event type.")),
  original_type: nullableSchema(text("The event type as sent.")),
  event_id: nullableSchema(text("The resulting event.")),
  bookmark: nullableSchema(text("Reason for the bookmark.")),
  more_count: Type.Integer({
    description:
      "Requests with the same source, outcome and cause that followed within a minute and were only counted.",
  }),
  forwards: Type.Array(
    closed({
      connection_id: text("Id of the connection."),
      webhook_id: text("Id of the webhook."),
      result: oneOf(["stored", "held", "ignored", "accepted", "failed"]),
      detail: nullableSchema(text("The rule that ignored it, or the response of the webhook.")),
    }),
  ),
};

const requestSummarySchema = closed(requestMembers, { title: "GatewayRequest" });
export const requestSchema = closed(
  {
    ...requestMembers,
    headers: Type.Array(closed({ name: text("Name of the header."), value: text("Secrets are masked.") })),
    body: nullableSchema(text("As text; null if it is not kept or not valid UTF-8.")),
    body_base64: nullableSchema(text("Set if the body is not valid UTF-8.")),
  },
  { title: "GatewayRequestWithBody" },
);
export const requestListSchema = searchOf(requestSummarySchema, "GatewayRequestList");
export const requestQuery = listingQuery(requestFilters);
export const requestReplaySchema = schemaOf(requestReplayFields, { title: "RequestReplayInput" });
export const requestBookmarkSchema = schemaOf(requestBookmarkFields, { title: "RequestBookmarkInput" });

export const filterEvaluationInputSchema = schemaOf(filterEvaluationFields, {
  title: "FilterEvaluationInput",
  examples: [{ filter: { body: { action: "opened" } }, message: { body: { action: "closed" } } }],
});

const whetherOne = nullableSchema(
  Type.Boolean({ description: "Null if it depends on a value that the log does not contain." }),
);
const traceStepSchema = closed(
  {
    path: text("Path of the condition in the filter, as in the request log; shortened."),
    operator: text("Such as `$eq`, the default for a plain value; `$or` and `$not` follow their conditions."),
    expected: nullableSchema(text("JSON, shortened; null for `$or` and `$not`.")),
    actual: nullableSchema(text("JSON, shortened; null if absent or unknown.")),
    result: whetherOne,
    unknown: nullableSchema(
      oneOf(["masked", "not_kept"], {
        description:
          "`masked`: a credential, whose value is not in the log. `not_kept`: unknown, for example because the body is no longer kept. Null for a known value.",
      }),
    ),
  },
  { title: "FilterTraceStep" },
);
const sampleSchema = closed(
  {
    request_id: idSchema("the request"),
    received_at: instant("When it arrived."),
    event_type: nullableSchema(text("The mapped event type.")),
    original_type: nullableSchema(text("The event type as sent.")),
    rule: nullableSchema(text("The rule that refuses it; null if none does or if it is unknown.")),
  },
  { title: "EvaluatedRequest" },
);
const samplesOf = (description: string) =>
  Type.Array(sampleSchema, { description: `${description}, newest first; up to 5.` });
const countOf = (description: string) => Type.Integer({ description });

export const filterEvaluationSchema = closed(
  {
    matches: Type.Optional(whetherOne),
    rule: Type.Optional(nullableSchema(text("The first rule that refuses it; null if none does."))),
    trace: Type.Optional(
      Type.Array(traceStepSchema, { description: "Every condition, in the order of the filter." }),
    ),
    examined: Type.Optional(countOf("Requests for which the outcome of the filter is known.")),
    matched: Type.Optional(countOf("Requests that would pass.")),
    not_matched: Type.Optional(countOf("Requests that would be filtered out.")),
    not_examined: Type.Optional(
      countOf("Requests whose outcome depends on data that is not kept: an expired body, or a credential."),
    ),
    not_routed: Type.Optional(
      countOf("Requests that filters do not apply to: rejected, duplicates, address verifications."),
    ),
    samples: Type.Optional(
      closed(
        {
          matched: samplesOf("Some requests that would pass"),
          not_matched: samplesOf("Some requests that would be filtered out"),
          not_examined: samplesOf("Some requests that cannot be evaluated"),
        },
        { title: "EvaluatedRequests" },
      ),
    ),
    complete: Type.Optional(
      Type.Boolean({
        description: "False if the call reached its limit before it had examined all requests.",
      }),
    ),
    searched_to: Type.Optional(
      nullableSchema(instant("When the oldest examined request arrived; null if there was none.")),
    ),
  },
  {
    title: "FilterEvaluation",
    description: "For a single message `matches`, `rule` and `trace`; for several requests the other fields.",
  },
);

export const serviceDescriptionSchema = closed(
  {
    service: text("Always `posthorn gateway`."),
    version: text(
      "Changes with the content of this document; acknowledged by `POST /v1/sources/{id}/acknowledge`.",
    ),
    modes: freeObject({ description: "Guarantees of each mode." }),
    durability: text("Where a stored message is kept before it is acknowledged."),
    idempotency_key: text("How the sender's key is used."),
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
    description: "`texts` accepts one or several texts, such as two secrets during a rotation.",
  }),
  is_required: Type.Boolean(),
  is_secret: Type.Boolean({ description: "Encrypted in storage and masked in responses." }),
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
  signed: Type.String({ description: "What the signature covers." }),
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
