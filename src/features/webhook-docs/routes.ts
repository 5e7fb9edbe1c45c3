import { NotFoundError } from "../../domain/errors.ts";
import type { ClassificationTable, Profile, StatusRule } from "../../domain/profile.ts";
import { exampleEvent, exampleKeys, exampleMessage } from "../../domain/profiles/example-message.ts";
import type { ApiOptions } from "../../http/context.ts";
import { snakeCaseJson } from "../../http/mapping.ts";
import type { JsonObject } from "../../http/openapi.ts";
import type { Pager } from "../../http/paging.ts";
import { defineRoute, type Route } from "../../http/route.ts";
import { RequestPace } from "../../ports/clock.ts";
import type { EventType, EventTypeKey, EventTypePage } from "../../ports/store/registry.ts";
import { pageLimitMax } from "../../resources/names.ts";
import { profileListSchema, profileWithExampleSchema } from "../../resources/profile.ts";
import {
  closed,
  freeObject,
  line,
  oneOf,
  pageProperties,
  Type,
  tenantIdSchema,
} from "../../resources/schema.ts";
import { operationalEventTypes } from "../notifications/operational-event.ts";
import {
  operationalEventCatalogue,
  operationalEventExample,
  operationalEventSchema,
} from "../notifications/operational-event-catalogue.ts";
import type { EventTypeService, Scope } from "../services.ts";
import { schemaPointer } from "./data-schemas.ts";
import {
  createMessageCatalogue,
  type DocumentedHeader,
  type DocumentedMessage,
  type DocumentedType,
  describeProfile,
  type MessageCatalogue,
  schemeHeader,
} from "./message-catalogue.ts";

/**
 * Serialises objects of several megabytes and yields between their members. The result equals the output of
 * `JSON.stringify`.
 */
export async function jsonInTurns(value: unknown, pace: RequestPace, depth = 0): Promise<string> {
  if (depth === depthMax || typeof value !== "object" || value === null || Array.isArray(value)) {
    await pace.worked();
    return JSON.stringify(value) ?? "null";
  }
  const members: string[] = [];
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    members.push(`${JSON.stringify(name)}:${await jsonInTurns(member, pace, depth + 1)}`);
  }
  return `{${members.join(",")}}`;
}

/** The levels are `components`, `schemas` and a single schema; each schema has a bounded size. */
const depthMax = 3;

/** Documents for a tenant's receivers that describe its registered event types as they are sent. */
export function webhookDocsRoutes(options: ApiOptions): readonly Route[] {
  return [
    documentRoute(options, {
      path: "/v1/webhook-docs/openapi.json",
      operationId: "getWebhookOpenApi",
      summary: "Get a tenant's webhooks as an OpenAPI 3.1 document",
      create: createOpenApiWebhooks,
    }),
    documentRoute(options, {
      path: "/v1/webhook-docs/asyncapi.json",
      operationId: "getWebhookAsyncApi",
      summary: "Get a tenant's webhooks as an AsyncAPI 3.0 document",
      create: createAsyncApiWebhooks,
    }),
  ];
}

interface DocumentRoute {
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly create: (catalogue: MessageCatalogue) => JsonObject;
}

function documentRoute({ services, profiles, clock }: ApiOptions, document: DocumentRoute): Route {
  const { create, ...described } = document;
  const [standard] = profiles;
  const query = closed({
    operational_events: Type.Optional(
      Type.Boolean({
        default: false,
        description: "Also describe Posthorn's own operational events.",
      }),
    ),
    tenant_id: Type.Optional(tenantIdSchema),
    profile: Type.Optional(
      oneOf(
        profiles.map(({ name }) => name),
        { default: standard?.name, description: "The profile whose messages are described." },
      ),
    ),
  });
  return defineRoute({
    method: "GET",
    ...described,
    tag: "Event types",
    description:
      "Generated from the registered event types, their schemas and examples: one message for each type and payload format of the profile.",
    access: "read",
    query,
    answers: { 200: { description: "The document.", schema: freeObject() } },
    errors: [],
    handle: async ({ scope, query: asked }) => {
      const profile = profiles.find(({ name }) => name === (asked.profile ?? standard?.name));
      if (profile === undefined) throw new Error("the query was validated against the profiles");
      const tenant = tenantOf(scope, asked.tenant_id);
      const pace = new RequestPace(clock);
      const registered = catalogueOf(services.eventTypes, scope, tenant, pace);
      const eventTypes = asked.operational_events === true ? withOperational(registered) : registered;
      const catalogue = await createMessageCatalogue(profile, tenant, eventTypes);
      return { status: 200, text: await jsonInTurns(create(catalogue), pace) };
    },
  });
}

/** Reads a tenant's event types by name, one page at a time, yielding between pages. */
async function* catalogueOf(
  service: EventTypeService,
  scope: Scope,
  tenant: string,
  pace: RequestPace,
): AsyncIterable<EventType> {
  for (let after: EventTypeKey | null = null; ; ) {
    const page: EventTypePage = await service.list(scope, { tenantId: tenant, after, limit: pageLimitMax });
    for (const eventType of page.rows) {
      yield eventType;
      await pace.worked();
    }
    if (page.next === null) return;
    after = page.next;
  }
}

async function* withOperational(registered: AsyncIterable<EventType>): AsyncIterable<EventType> {
  yield* registered;
  for (const name of operationalEventTypes) {
    const { description } = operationalEventCatalogue[name];
    const schema = operationalEventSchema(name);
    const examples = [operationalEventExample(name)];
    const described = { name, description, schema, examples, deprecated: false };
    yield { ...described, tenantId: "", createdAt: 0, updatedAt: 0 };
  }
}

/** The requested tenant. Defaults to the caller's own tenant, or to `default` for an administrator. */
function tenantOf(scope: Scope, asked: string | undefined): string {
  return asked ?? scope.tenantId ?? "default";
}

/** A tenant's webhooks as an AsyncAPI 3.0 document, from the sender's perspective (TS16-102, TS16-103). */

function createAsyncApiWebhooks(catalogue: MessageCatalogue): JsonObject {
  const { tenantId, profile, eventTypes, schemas } = catalogue;
  const messages = eventTypes.flatMap((documented) =>
    documented.messages.map((message) => [message.schemaName, describeMessage(documented, message)] as const),
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
          messages.map(([name]) => [name, { $ref: `#/components/messages/${name}` }]),
        ),
      },
    },
    operations: Object.fromEntries(
      eventTypes.map((documented) => [
        `send-${documented.eventType.name}`,
        sendOperation(documented, required),
      ]),
    ),
    components: {
      messages: Object.fromEntries(messages),
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

function sendOperation({ eventType, messages }: DocumentedType, security: readonly string[]): JsonObject {
  const { name, description, deprecated } = eventType;
  return {
    action: "send",
    title: name,
    ...(description !== "" && { description }),
    // In AsyncAPI, only schemas can be marked as deprecated.
    ...(deprecated && { "x-deprecated": true }),
    channel: { $ref: "#/channels/webhook" },
    messages: messages.map(({ schemaName }) => ({ $ref: `#/channels/webhook/messages/${schemaName}` })),
    security: security.map((scheme) => ({ $ref: `#/components/securitySchemes/${scheme}` })),
    bindings: { http: { method: "POST", bindingVersion: "0.3.0" } },
  };
}

function describeMessage({ eventType }: DocumentedType, message: DocumentedMessage): JsonObject {
  const { description, deprecated } = eventType;
  const { contentType, headers, schemaName, examples } = message;
  return {
    name: schemaName,
    title: eventType.name,
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

/** A tenant's webhooks as an OpenAPI 3.1 document (TS16-102, TS16-103). */

function createOpenApiWebhooks(catalogue: MessageCatalogue): JsonObject {
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

/** A header is marked as required if every message has it. */
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

/** The schemas of the formats with this media type; a webhook uses one of these formats. */
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
    description: "Earliest time of the next attempt, in seconds or as an HTTP date. It is honoured.",
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

export function profileRoutes({ profiles }: ApiOptions, pager: Pager): readonly Route[] {
  return [
    defineRoute({
      method: "GET",
      path: "/v1/profiles",
      operationId: "listProfiles",
      tag: "Profiles",
      summary: "List the delivery profiles, the default first",
      access: "any",
      capability: "any",
      query: closed(pageProperties),
      answers: { 200: { description: "The profiles with all details.", schema: profileListSchema } },
      errors: ["invalid_cursor"],
      handle: async ({ query }) => {
        const listing = { tenantId: null, route: "profiles", filters: {} };
        const body = pager.slice(profiles, {
          query,
          listing,
          idOf: (profile) => profile.name,
          toJson: snakeCaseJson,
        });
        return { status: 200, body };
      },
    }),
    defineRoute({
      method: "GET",
      path: "/v1/profiles/{name}",
      operationId: "getProfile",
      tag: "Profiles",
      summary: "Get a delivery profile",
      description:
        "The meaning of each status, when deliveries are retried, and what is sent, with an example.",
      access: "any",
      capability: "any",
      params: closed({ name: line(64) }),
      answers: { 200: { description: "The profile.", schema: profileWithExampleSchema } },
      errors: ["not_found"],
      handle: async ({ params }) => {
        const profile = profiles.find(({ name }) => name === params.name);
        if (profile === undefined) throw new NotFoundError("this profile");
        return {
          status: 200,
          body: { ...(snakeCaseJson(profile) as object), example: exampleJson(profile) },
        };
      },
    }),
  ];
}

function exampleJson(profile: Profile): object {
  const { url, secret, publicKey } = exampleKeys;
  return {
    url,
    secret,
    public_key: publicKey,
    messages: profile.payloadFormats.map((format) => {
      const { headers, body } = exampleMessage(profile, format, exampleEvent.eventType, exampleEvent.data);
      return { payload_format: format, headers: headers.map(([name, value]) => ({ name, value })), body };
    }),
  };
}
