import {
  connectionChangeFields,
  connectionFields,
  connectionFilters,
  connectionShown,
} from "../../core/fields/connection.ts";
import { filterEvaluationFields } from "../../core/fields/filter-evaluation.ts";
import {
  listedSourceShown,
  requestBookmarkFields,
  requestFilters,
  requestReplayFields,
  sourceAcknowledgeFields,
  sourceFields,
  sourceFilters,
  sourceRotateFields,
  sourceShown,
} from "../../core/fields/gateway.ts";
import { gatewayOutcomes } from "../../core/gateway/request.ts";
import {
  anyValue,
  closed,
  freeObject,
  id,
  instant,
  listingQuery,
  listOf,
  nullable,
  oneOf,
  searchOf,
} from "./building-blocks.ts";
import { schemaOf, shownSchemaOf } from "./field-schema.ts";
import { Type } from "./type.ts";

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
      description: "What each row shows beside: `recent`, its last requests by what became of them.",
    }),
  ),
});

export const sourceAddressSchema = closed(
  {
    source_id: id("the source"),
    url: Type.String({ description: "Whoever knows it can send; give it to the sender alone." }),
    party_url: nullable(
      Type.String({ description: "The address by the name of the party; null without one." }),
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
  id: id("the request"),
  tenant_id: text("Whose it is."),
  source_id: id("the source"),
  received_at: instant("When it came."),
  method: text("Of the request."),
  path: text("Path and query, without the secret of the address."),
  body_bytes: Type.Integer({ description: "How long the body was." }),
  status: Type.Integer({ description: "What it was answered." }),
  outcome: oneOf(gatewayOutcomes, {
    description:
      "`accepted`: stored, or accepted by the destination. `duplicate`: known, answered as the first time. `rejected`: refused for what it is. `ignored`: authentic, and nobody wanted it. `challenge`: a provider checked the address. `failed`: not taken now.",
  }),
  rejection_cause: nullable(
    text("Such as `no_matching_signature` or `rules_too_costly`; null where it was not refused."),
  ),
  detail: nullable(text("A sentence for whoever runs the source; never a secret.")),
  duration_ms: Type.Number({
    description: "Until it was answered; of what was stored and forwarded, until it was handed to the store.",
  }),
  scheme: nullable(text("How it was verified.")),
  event_type: nullable(text("As it was mapped.")),
  original_type: nullable(text("As the sender wrote it.")),
  event_id: nullable(text("The event that it became.")),
  bookmark: nullable(text("What it is kept for.")),
  more_count: Type.Integer({
    description:
      "Requests of the same source, outcome and cause that followed within the minute and were counted here without a row of their own.",
  }),
  forwards: Type.Array(
    closed({
      connection_id: text("Of the connection."),
      webhook_id: text("Of the webhook."),
      result: oneOf(["stored", "held", "ignored", "accepted", "failed"]),
      detail: nullable(text("The rule that ignored it, or what the webhook answered.")),
    }),
  ),
};

const requestSummarySchema = closed(requestMembers, { title: "GatewayRequest" });
export const requestSchema = closed(
  {
    ...requestMembers,
    headers: Type.Array(closed({ name: text("Of the field."), value: text("Secrets are masked.") })),
    body: nullable(text("As text; null where it is not kept, or is no UTF-8.")),
    body_base64: nullable(text("Where it is no UTF-8.")),
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

const whetherOne = nullable(
  Type.Boolean({ description: "Null when it depends on a value that the log does not have." }),
);
const traceStepSchema = closed(
  {
    path: text("Of the condition in the filter, as the log of requests names the rule; shortened."),
    operator: text("Such as `$eq`, which a plain value means; `$or` and `$not` come after what is in them."),
    expected: nullable(text("JSON, shortened; null for `$or` and `$not`.")),
    actual: nullable(text("JSON, shortened; null where nothing stands there, or where it is not known.")),
    result: whetherOne,
    unknown: nullable(
      oneOf(["masked", "not_kept"], {
        description:
          "`masked`: a credential, of which the log has no value. `not_kept`: nothing is known, such as of a body that is kept no more. Null for a value that is known.",
      }),
    ),
  },
  { title: "FilterTraceStep" },
);
const sampleSchema = closed(
  {
    request_id: id("the request"),
    received_at: instant("When it came."),
    event_type: nullable(text("As it was mapped.")),
    original_type: nullable(text("As the sender wrote it.")),
    rule: nullable(text("The rule that refuses it; null where none does, or where that is not known.")),
  },
  { title: "EvaluatedRequest" },
);
const samplesOf = (description: string) =>
  Type.Array(sampleSchema, { description: `${description}, newest first; 5 at most.` });
const countOf = (description: string) => Type.Integer({ description });

export const filterEvaluationSchema = closed(
  {
    matches: Type.Optional(whetherOne),
    rule: Type.Optional(nullable(text("The first rule that refuses it; null where none does."))),
    trace: Type.Optional(
      Type.Array(traceStepSchema, { description: "Every condition, in the order of the filter." }),
    ),
    examined: Type.Optional(countOf("Requests of which it is known what the filter would do.")),
    matched: Type.Optional(countOf("Those it would let through.")),
    not_matched: Type.Optional(countOf("Those it would leave out.")),
    not_examined: Type.Optional(
      countOf("Requests where it depends on what is not kept: a body that is kept no more, or a credential."),
    ),
    not_routed: Type.Optional(
      countOf("Requests of which no filter is asked: rejected, repeats, checks of the address."),
    ),
    samples: Type.Optional(
      closed(
        {
          matched: samplesOf("Some of those it would let through"),
          not_matched: samplesOf("Some of those it would leave out"),
          not_examined: samplesOf("Some of those that cannot be examined"),
        },
        { title: "EvaluatedRequests" },
      ),
    ),
    complete: Type.Optional(
      Type.Boolean({ description: "False when there was more to look at than one call may." }),
    ),
    searched_to: Type.Optional(
      nullable(instant("When the oldest request came that was looked at; null without any.")),
    ),
  },
  {
    title: "FilterEvaluation",
    description: "Of one message `matches`, `rule` and `trace`; of many requests the rest.",
  },
);

export const serviceDescriptionSchema = closed(
  {
    service: text("Always `posthorn gateway`."),
    version: text("Changes with what this says; acknowledged by `POST /v1/sources/{id}/acknowledge`."),
    modes: freeObject({ description: "What each mode promises." }),
    durability: text("Where a stored message is before it is answered."),
    idempotency_key: text("What becomes of the sender's key."),
    deduplication: freeObject(),
    retention: freeObject(),
    limits: freeObject(),
    retry_schedules: Type.Array(anyValue(), { description: "Of each delivery profile." }),
  },
  { title: "ServiceDescription" },
);
