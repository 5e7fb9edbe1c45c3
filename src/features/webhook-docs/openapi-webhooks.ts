/** A tenant's webhooks as an OpenAPI 3.1 document (TS16-102, TS16-103). */
import type { ClassificationTable, Profile, StatusRule } from "../../domain/profile.ts";
import type { JsonObject } from "../../http/openapi.ts";
import { schemaPointer } from "./data-schemas.ts";
import {
  describeProfile,
  type DocumentedHeader,
  type DocumentedMessage,
  type DocumentedType,
  type MessageCatalogue,
  schemeHeader,
} from "./message-catalogue.ts";

export function createOpenApiWebhooks(catalogue: MessageCatalogue): JsonObject {
  const { tenantId, profile, eventTypes, schemas } = catalogue;
  return {
    openapi: "3.1.0",
    info: { title: `Webhooks of ${tenantId}`, version: "1", description: describeProfile(profile) },
    webhooks: Object.fromEntries(
      eventTypes.map((documented) => [documented.eventType.name, { post: operation(profile, documented) }]),
    ),
    components: {
      schemas,
      securitySchemes: {
        signature: {
          type: "apiKey",
          in: "header",
          name: schemeHeader(profile),
          description: "The signature of the message; verify it first.",
        },
        ...(profile.registration.bearerTokenRequired && { bearer: { type: "http", scheme: "bearer" } }),
      },
    },
  };
}

function operation(profile: Profile, { eventType, messages }: DocumentedType): JsonObject {
  const { name, description, deprecated } = eventType;
  return {
    operationId: name,
    summary: name,
    ...(description !== "" && { description }),
    ...(deprecated && { deprecated }),
    parameters: parametersOf(messages),
    requestBody: {
      required: true,
      content: Object.fromEntries(
        Map.groupBy(messages, ({ contentType }) => contentType)
          .entries()
          .map(([contentType, ofType]) => [contentType, contentOf(ofType)]),
      ),
    },
    responses: responsesOf(profile.classification),
    security: [{ signature: [], ...(profile.registration.bearerTokenRequired && { bearer: [] }) }],
  };
}

/** A header is required if every message has it. */
function parametersOf(messages: readonly DocumentedMessage[]): readonly JsonObject[] {
  const all = new Map<string, DocumentedHeader>();
  for (const { headers } of messages) for (const header of headers) all.set(header.name, header);
  return [...all.values()].map(({ name, description, required, example }) => ({
    name,
    in: "header",
    description,
    required: required && messages.every(({ headers }) => headers.some((header) => header.name === name)),
    schema: { type: "string" },
    example,
  }));
}

/** The schemas of the formats with this media type; a webhook uses one of them. */
function contentOf(messages: readonly DocumentedMessage[]): JsonObject {
  const schemas = messages.map(({ schemaName }) => ({ $ref: schemaPointer + schemaName }));
  const examples = messages.flatMap((message) => message.examples);
  return {
    schema: schemas.length === 1 ? schemas[0] : { anyOf: schemas },
    ...(examples.length > 0 && {
      examples: Object.fromEntries(
        examples.map(({ body }, index) => [`example${index + 1}`, { value: body }]),
      ),
    }),
  };
}

/** The responses that a receiver may send, and their effects. */
function responsesOf({ statuses, classes, fallback }: ClassificationTable): JsonObject {
  const named = Object.entries({
    ...statuses,
    429: statuses[429] ?? fallback,
    503: statuses[503] ?? classes[5] ?? fallback,
  });
  return {
    ...Object.fromEntries(named.map(([status, rule]) => [status, response(rule, retryAfterOf(status))])),
    ...Object.fromEntries(
      Object.entries(classes).map(([digit, rule]) => [`${digit}XX`, response(rule, null)]),
    ),
    default: response(fallback, null),
  };
}

const retryAfter = {
  "Retry-After": {
    description: "Earliest retry, as seconds or an HTTP date. It is honoured.",
    schema: { type: "string" },
    example: "120",
  },
};

function retryAfterOf(status: string): JsonObject | null {
  return status === "429" || status === "503" ? retryAfter : null;
}

function response({ outcome }: StatusRule, headers: JsonObject | null): JsonObject {
  return { description: outcomes[outcome], ...(headers !== null && { headers }) };
}

const outcomes: Readonly<Record<StatusRule["outcome"], string>> = {
  accepted: "Accepted: the message is not sent again.",
  transient: "Temporarily refused: the message is sent again according to the schedule.",
  terminal: "Permanently refused: the message is not sent again and becomes a dead letter.",
};
