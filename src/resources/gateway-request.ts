import { gatewayOutcomes } from "../features/gateway/relayed.ts";
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
  timeOrDate,
} from "./field.ts";
import { tenantIdField } from "./names.ts";
import { defineResource, type OptionTable } from "./resource.ts";
import { closed, idParam, idSchema, instant, oneOf, schemaOf, searchOf, textOrNull, Type } from "./schema.ts";

/** Inbound requests in the log of the gateway. */

export const requestFilters = {
  sourceId: id({ doc: "Only requests of this source." }),
  status: integer({ min: 100, max: 599, doc: "Status of the response to the sender." }),
  outcome: choice(gatewayOutcomes),
  rejectionCause: line({
    lengthMin: 1,
    lengthMax: 64,
    doc: "A cause such as `no_matching_signature` or `too_old`.",
  }),
  bookmarked: flag({ doc: "True for requests with a bookmark, false for all others." }),
  from: timeOrDate({ doc: "At or after this time." }),
  to: timeOrDate({ doc: "Before this time." }),
  tenantId: tenantIdField,
} satisfies Fields;

export const requestFilterOptions: OptionTable<typeof requestFilters> = {
  sourceId: "--source <id>",
  outcome: "--outcome <outcome>",
  rejectionCause: "--cause <cause>",
};

export const requestReplayFields = {
  connectionIds: nullable(
    list(id(), {
      countMax: 100,
      isSet: true,
      doc: "Only these connections; if omitted, all connections of the source.",
    }),
  ),
} satisfies Fields;
export type RequestReplayInput = InputOf<typeof requestReplayFields>;

export const requestBookmarkFields = {
  name: nullable(
    line({
      lengthMin: 1,
      lengthMax: 255,
      doc: "Reason for the bookmark. The request is kept until the bookmark is removed with null.",
      examples: ["an order with two items"],
    }),
  ),
} satisfies Fields;

const requestMembers = {
  id: idSchema("the request"),
  tenant_id: Type.String("Tenant of the request."),
  source_id: idSchema("the source"),
  received_at: instant("When the request arrived."),
  method: Type.String("Method of the request."),
  path: Type.String("Path and query, without the secret of the address."),
  body_bytes: Type.Integer("Length of the body."),
  status: Type.Integer("Status of the response."),
  outcome: oneOf(gatewayOutcomes, {
    description:
      "`accepted`: stored, or accepted by the destination. `duplicate`: already known; the response is the same as for the first request. `rejected`: refused because of its content. `ignored`: authentic, but no connection accepted it. `challenge`: a provider verified the address. `failed`: could not be processed at the time.",
  }),
  rejection_cause: textOrNull(
    "The cause, such as `no_matching_signature` or `rules_too_costly`; null if the request was not refused.",
  ),
  detail: textOrNull("An explanation for the owner of the source; never contains a secret."),
  duration_ms: Type.Number(
    "Time until the response; for store and forward, until the message was handed to the store.",
  ),
  scheme: textOrNull("Signature scheme that was used."),
  event_type: textOrNull("The mapped event type."),
  original_type: textOrNull("The event type as sent."),
  event_id: textOrNull("The resulting event."),
  bookmark: textOrNull("Reason for the bookmark."),
  more_count: Type.Integer(
    "Number of requests with the same source, outcome and cause that followed within a minute and were only counted.",
  ),
  forwards: Type.Array(
    closed({
      connection_id: Type.String("Id of the connection."),
      webhook_id: Type.String("Id of the webhook."),
      result: oneOf(["stored", "held", "ignored", "accepted", "failed"]),
      detail: textOrNull("The rule that ignored the message, or the response of the webhook."),
    }),
  ),
};

export const requestSummarySchema = closed(requestMembers, { title: "GatewayRequest" });
export const requestSchema = closed(
  {
    ...requestMembers,
    headers: Type.Array(
      closed({ name: Type.String("Name of the header."), value: Type.String("Secrets are masked.") }),
    ),
    body: textOrNull("As text; null if it is not kept or not valid UTF-8."),
    body_base64: textOrNull("Set if the body is not valid UTF-8."),
  },
  { title: "GatewayRequestWithBody" },
);
export const requestReplaySchema = schemaOf(requestReplayFields, { title: "RequestReplayInput" });
export const requestBookmarkSchema = schemaOf(requestBookmarkFields, { title: "RequestBookmarkInput" });

export const requestListSchema = searchOf(requestSummarySchema, "GatewayRequestList");
export const requestResource = defineResource({
  noun: "request",
  title: "Request",
  path: "/v1/requests",
  tag: "Gateway",
  key: idParam("the request"),
  input: {},
  shown: {},
  filters: requestFilters,
  schemas: { one: requestSchema, list: requestListSchema },
});
