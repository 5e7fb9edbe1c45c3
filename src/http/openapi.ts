/** Builds the OpenAPI 3.1 document from the routes. */
import { type ErrorCode, errorTable } from "../domain/errors.ts";
import { traceFields } from "../resources/event-input.ts";
import { tags } from "../resources/resource.ts";
import { problemSchema, type Schema, schemaOfField } from "../resources/schema.ts";
import { rolesFor } from "./authentication.ts";
import { type Route, takesIdempotencyKey } from "./route.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

export function createOpenApi(routes: readonly Route[], isDevelopment: boolean, basePath = ""): JsonObject {
  const components = new Map<string, unknown>();
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const path = (paths[route.path] ??= {});
    path[route.method.toLowerCase()] = describeRoute(route, components);
  }
  hoist(problemSchema, components);
  return {
    openapi: "3.1.0",
    info: {
      title: "Posthorn",
      version: "1",
      summary:
        "Publish an event once; every subscribed webhook receives it, signed, with retries and a full history.",
      description: isDevelopment ? "This server runs in development mode." : "Webhook delivery.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: basePath === "" ? "/" : basePath }],
    security: [{ apiKey: [] }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      securitySchemes: {
        apiKey: {
          type: "http",
          scheme: "bearer",
          description: "An API key with the role admin, manage, publish or read.",
        },
        portalSession: {
          type: "http",
          scheme: "bearer",
          description:
            "The token of a portal session (`phs_…`). Each operation names the capability that it requires.",
        },
      },
      headers: headerComponents,
      schemas: Object.fromEntries([...components].toSorted(([a], [b]) => (a < b ? -1 : 1))),
    },
  };
}

type Components = Map<string, unknown>;

function describeRoute(route: Route, components: Components): JsonObject {
  const parameters = [
    ...parametersOf(route.params, "path", components),
    ...parametersOf(route.query, "query", components),
    ...parametersOf(rawParameters(route), "query", components),
    ...(takesIdempotencyKey(route) ? [idempotencyKeyParameter] : []),
    ...(route.traced === true ? traceParameters(components) : []),
  ];
  const roles = rolesFor(route.access);
  return {
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    ...(route.description !== undefined && { description: route.description }),
    ...securityOf(route, roles),
    ...(parameters.length > 0 && { parameters }),
    ...(route.body !== undefined && {
      requestBody: {
        required: route.bodyOptional !== true,
        ...(route.raw !== undefined && { description: route.raw.description }),
        content: {
          "application/json": { schema: hoist(route.body, components) },
          // Raw bytes have no schema; in the raw form, a JSON body may be any value.
          ...(route.raw !== undefined && { "*/*": {} }),
        },
      },
    }),
    responses: { ...describeAnswers(route, components), ...describeErrors(route) },
  };
}

/** Portal sessions are an alternative to API keys on routes that declare a capability. */
function securityOf({ access, capability }: Route, roles: readonly string[]): JsonObject {
  if (roles.length === 0) return { security: [] };
  if (access === "session") return { "x-roles": roles, "security": [{ portalSession: [] }] };
  if (capability === undefined) return { "x-roles": roles };
  const needed = capability === "any" ? [] : [capability];
  return {
    "x-roles": roles,
    "x-capability": capability,
    "security": [{ apiKey: [] }, { portalSession: needed }],
  };
}

const idempotencyKeyParameter = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  description: "Makes the request safe to retry for 24 hours; see /docs/idempotency.",
  schema: { type: "string", examples: ['"8e03978e-40d5-43e8-bc93-6894a57f9324"'] },
};

/** W3C Trace Context headers. Invalid values are ignored. */
const traceParameters = (components: Components): readonly JsonObject[] => [
  {
    name: "traceparent",
    in: "header",
    required: false,
    description:
      "The trace in which you publish (W3C Trace Context). Stored with the event and forwarded to its webhooks, with a new span id for each request; see `trace_context` of a webhook. Invalid values are ignored.",
    schema: hoist(schemaOfField(traceFields.traceparent), components),
  },
  {
    name: "tracestate",
    in: "header",
    required: false,
    description: "Accompanies `traceparent`. Forwarded only to webhooks that enable it in `trace_context`.",
    schema: hoist(schemaOfField(traceFields.tracestate), components),
  },
];

/** All parameters are optional, because they apply to only one form of the route. */
function rawParameters({ raw }: Route): Schema | undefined {
  return raw === undefined ? undefined : { ...raw.query, required: [] };
}

function parametersOf(
  schema: Schema | undefined,
  where: "path" | "query",
  components: Components,
): readonly JsonObject[] {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    readonly properties?: Readonly<Record<string, Schema & { readonly description?: string }>>;
    readonly required?: readonly string[];
  };
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: where,
    required: required.includes(name),
    description: property.description ?? "",
    schema: hoist(property, components),
  }));
}

function describeAnswers(route: Route, components: Components): JsonObject {
  return Object.fromEntries(
    Object.entries(route.answers).map(([status, { description, schema, contentType }]) => [
      status,
      {
        description,
        ...(schema !== undefined && {
          content: { [contentType ?? "application/json"]: { schema: hoist(schema, components) } },
        }),
      },
    ]),
  );
}

const limitHeaders = Object.fromEntries(
  ["Retry-After", "RateLimit-Policy", "RateLimit"].map((name) => [
    name,
    { $ref: `#/components/headers/${name}` },
  ]),
);

const headerComponents = {
  "Retry-After": {
    description: "Seconds to wait before retrying.",
    required: true,
    schema: { type: "integer", minimum: 1 },
  },
  "RateLimit-Policy": {
    description:
      "The limits that apply to calls, if any: `q` calls per `w` seconds. Sent in every response to a call with a tenant's key.",
    schema: { type: "string", examples: ['"key";q=1000;w=60, "tenant";q=5000;w=60'] },
  },
  "RateLimit": {
    description: "The remaining quota: `r` calls now, the full quota after `t` seconds.",
    schema: { type: "string", examples: ['"key";r=998;t=1, "tenant";r=4998;t=1'] },
  },
};

/** Grouped by status; lists every code that the route can return. */
function describeErrors(route: Route): JsonObject {
  const responses: Record<string, JsonObject> = {};
  for (const [status, codes] of Object.entries(
    Object.groupBy(errorsOf(route), (code) => errorTable[code].status),
  )) {
    if (route.answers[Number(status)] !== undefined) continue;
    responses[status] = {
      description: (codes ?? []).map((code) => `\`${code}\`: ${errorTable[code].title}.`).join(" "),
      ...(codes?.includes("rate_limited") && { headers: limitHeaders }),
      content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
    };
  }
  return responses;
}

/** The declared errors and those that follow from properties of the route. */
function errorsOf(route: Route): readonly ErrorCode[] {
  const codes = new Set<ErrorCode>(route.errors);
  codes.add("invalid_request").add("internal_error").add("unsupported_media_type");
  if (route.access !== "public") codes.add("unauthenticated").add("rate_limited").add("unavailable");
  if (route.access !== "public" && !(route.access === "any" && route.capability === "any"))
    codes.add("forbidden");
  if (route.params !== undefined) codes.add("not_found");
  if (route.body !== undefined) codes.add("malformed_json").add("payload_too_large");
  if (takesIdempotencyKey(route)) {
    codes.add("idempotency_key_malformed").add("idempotency_key_in_progress").add("idempotency_key_reused");
  }
  return [...codes];
}

/** Copies a schema and replaces schemas with a title by references to components. */
function hoist(schema: unknown, components: Components): unknown {
  if (Array.isArray(schema)) return schema.map((item) => hoist(item, components));
  if (typeof schema !== "object" || schema === null) return schema;
  const { title } = schema as { readonly title?: unknown };
  const isNamed = typeof title === "string" && isSchema(schema);
  if (!isNamed) return copy(schema, components);
  const name = Array.isArray((schema as { readonly type?: unknown }).type) ? `Nullable${title}` : title;
  if (!components.has(name)) {
    components.set(name, undefined); // Reserves the position of this component while its members are copied.
    components.set(name, copy(schema, components));
  }
  return { $ref: `#/components/schemas/${name}` };
}

/** Whether the object is a schema. A `title` does not prove this, because it may also be the name of a property. */
function isSchema(value: object): boolean {
  return "type" in value || "anyOf" in value;
}

function copy(schema: object, components: Components): JsonObject {
  // Omit our own keywords, because other tools do not understand them.
  const entries = Object.entries(schema).filter(
    ([name, value]) => name !== "x-rule" && !(name === "format" && value === "instant"),
  );
  return {
    ...Object.fromEntries(
      entries.map(([name, value]) => {
        if (name === "properties") return [name, hoistEach(value as object, components)];
        return [name, verbatim.has(name) ? value : hoist(value, components)];
      }),
    ),
    ...((schema as { readonly format?: unknown }).format === "instant" && { anyOf: instantForms }),
  };
}

/** Copies the schemas of properties, which may have any name, including those of keywords. */
function hoistEach(properties: object, components: Components): JsonObject {
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, hoist(schema, components)]),
  );
}

/** The values that our custom format `instant` accepts. */
const instantForms = [{ format: "date-time" }, { format: "date" }];

/** Keywords whose values are not schemas. */
const verbatim: ReadonlySet<string> = new Set([
  "examples",
  "default",
  "enum",
  "required",
  "description",
  "pattern",
]);
