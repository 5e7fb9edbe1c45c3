import type { ApiOptions } from "../../http/context.ts";
import type { JsonObject } from "../../http/openapi.ts";
import { defineRoute, type Route } from "../../http/route.ts";
import type { EventType, EventTypeKey, EventTypePage } from "../../ports/store/registry.ts";
import { RequestPace } from "../../ports/timing/request-pace.ts";
import { pageLimitMax } from "../../resources/names.ts";
import { closed, freeObject, oneOf, tenantIdSchema, Type } from "../../resources/schema.ts";
import {
  operationalEventCatalogue,
  operationalEventExample,
  operationalEventSchema,
} from "../notifications/operational-event-catalogue.ts";
import { operationalEventTypes } from "../notifications/operational-event.ts";
import type { EventTypeService, Scope } from "../services.ts";
import { createAsyncApiWebhooks } from "./asyncapi-webhooks.ts";
import { createMessageCatalogue, type MessageCatalogue } from "./message-catalogue.ts";
import { createOpenApiWebhooks } from "./openapi-webhooks.ts";

/** Serialises objects of several megabytes, yielding between their members. Equal to the output of `JSON.stringify`. */
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

/** `components`, `schemas`, one schema: each schema is bounded. */
const depthMax = 3;

/** Documents for a tenant's receivers: its registered event types as they are sent. */
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
      const catalogue = await createMessageCatalogue(profile, { tenantId: tenant, eventTypes });
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

/** The tenant of an administrator's events that name none. */
function tenantOf(scope: Scope, asked: string | undefined): string {
  return asked ?? scope.tenantId ?? "default";
}
