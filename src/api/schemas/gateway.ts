import {
  connectionChangeFields,
  connectionFields,
  connectionFilters,
  connectionShown,
} from "../../core/fields/connection.ts";
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
  rejection_cause: nullable(text("Such as `no_matching_signature`; null where it was not rejected.")),
  detail: nullable(text("A sentence for whoever runs the source; never a secret.")),
  duration_ms: Type.Number({
    description: "Until it was answered; of what was stored and forwarded, until it was handed to the store.",
  }),
  scheme: nullable(text("How it was verified.")),
  event_type: nullable(text("As it was mapped.")),
  original_type: nullable(text("As the sender wrote it.")),
  event_id: nullable(text("The event that it became.")),
  bookmark: nullable(text("What it is kept for.")),
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
export const requestListSchema = listOf(requestSummarySchema, "GatewayRequestList");
export const requestQuery = listingQuery(requestFilters);
export const requestReplaySchema = schemaOf(requestReplayFields, { title: "RequestReplayInput" });
export const requestBookmarkSchema = schemaOf(requestBookmarkFields, { title: "RequestBookmarkInput" });

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
