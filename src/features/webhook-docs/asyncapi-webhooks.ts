/** A tenant's webhooks as an AsyncAPI 3.0 document, from the sender's perspective (TS16-102, TS16-103). */
import type { JsonObject } from "../../http/openapi.ts";
import { schemaPointer } from "./data-schemas.ts";
import {
  describeProfile,
  type DocumentedMessage,
  type DocumentedType,
  type MessageCatalogue,
  schemeHeader,
} from "./message-catalogue.ts";

export function createAsyncApiWebhooks(catalogue: MessageCatalogue): JsonObject {
  const { tenantId, profile, eventTypes, schemas } = catalogue;
  const messages = eventTypes.flatMap((documented) =>
    documented.messages.map((message) => ({ name: message.schemaName, documented, message })),
  );
  const required = profile.registration.bearerTokenRequired ? ["signature", "bearer"] : ["signature"];
  return {
    asyncapi: "3.0.0",
    info: { title: `Webhooks of ${tenantId}`, version: "1", description: describeProfile(profile) },
    defaultContentType: "application/json",
    channels: {
      webhook: {
        // Each webhook has its own URL.
        address: null,
        description: "The URL of a webhook.",
        messages: Object.fromEntries(
          messages.map(({ name }) => [name, { $ref: `#/components/messages/${name}` }]),
        ),
      },
    },
    operations: Object.fromEntries(
      eventTypes.map((documented) => [`send-${documented.eventType.name}`, operation(documented, required)]),
    ),
    components: {
      messages: Object.fromEntries(messages.map((entry) => [entry.name, describeMessage(entry)])),
      schemas,
      securitySchemes: {
        signature: {
          type: "httpApiKey",
          in: "header",
          name: schemeHeader(profile),
          description: "The signature of the message; verify it first.",
        },
        ...(profile.registration.bearerTokenRequired && { bearer: { type: "http", scheme: "bearer" } }),
      },
    },
  };
}

function operation({ eventType, messages }: DocumentedType, security: readonly string[]): JsonObject {
  const { name, description, deprecated } = eventType;
  return {
    action: "send",
    title: name,
    ...(description !== "" && { description }),
    // In AsyncAPI, only schemas can be deprecated.
    ...(deprecated && { "x-deprecated": true }),
    channel: { $ref: "#/channels/webhook" },
    messages: messages.map(({ schemaName }) => ({ $ref: `#/channels/webhook/messages/${schemaName}` })),
    security: security.map((scheme) => ({ $ref: `#/components/securitySchemes/${scheme}` })),
    bindings: { http: { method: "POST", bindingVersion: "0.3.0" } },
  };
}

function describeMessage({
  name,
  documented,
  message,
}: {
  readonly name: string;
  readonly documented: DocumentedType;
  readonly message: DocumentedMessage;
}): JsonObject {
  const { description, deprecated } = documented.eventType;
  const { contentType, headers, schemaName, examples } = message;
  return {
    name,
    title: documented.eventType.name,
    ...(description !== "" && { description }),
    ...(deprecated && { "x-deprecated": true }),
    contentType,
    headers: {
      type: "object",
      required: headers.filter((header) => header.required).map((header) => header.name),
      properties: Object.fromEntries(
        headers.map((header) => [
          header.name,
          { type: "string", description: header.description, examples: [header.example] },
        ]),
      ),
    },
    payload: { $ref: schemaPointer + schemaName },
    ...(examples.length > 0 && {
      examples: examples.map(({ headers: sent, body }, index) => ({
        name: `example${index + 1}`,
        headers: sent,
        payload: body,
      })),
    }),
  };
}
