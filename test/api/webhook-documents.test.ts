/** The documents of a tenant's webhooks, read by independent tools for their formats. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import asyncApi from "@asyncapi/specs";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv } from "ajv";
import addFormats from "ajv-formats";
import { Ajv2020 } from "ajv/dist/2020.js";
import { profiles } from "../../src/domain/profiles/index.ts";
import { assertProblem, type Client, createClient } from "../scenarios/api/client.fixture.ts";
import { openStandIn, type StandIn } from "./stand-in/open.fixture.ts";

let server: StandIn;
let client: Client;

/** Local references of every kind, including a recursive one. */
const trickySchema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  $id: "https://example.com/order",
  type: "object",
  required: ["order_id", "items", "parent"],
  properties: {
    order_id: { $ref: "#/$defs/id" },
    items: { type: "array", items: { $ref: "#/$defs/a~1b%20c" }, minItems: 1 },
    first: { $ref: "#/properties/items/items" },
    parent: { anyOf: [{ type: "null" }, { $ref: "#" }] },
    pair: { type: "array", prefixItems: [{ $ref: "#/$defs/id" }, { type: "number" }] },
  },
  dependentSchemas: { first: { properties: { pair: true } } },
  additionalProperties: false,
  $defs: { id: { type: "string", pattern: "^[0-9]+$" }, "a/b c": { type: "object", required: ["sku"] } },
};
const trickyExample = {
  order_id: "4711",
  items: [{ sku: "a" }],
  pair: ["1", 2],
  parent: { order_id: "1", items: [{ sku: "b" }], parent: null },
};

before(async () => {
  server = await openStandIn();
  client = createClient({ baseUrl: server.baseUrl, key: server.adminKey });
  const put = async (name: string, body: object, tenant = "default"): Promise<void> => {
    const reply = await client.call("PUT", `/v1/event-types/${name}?tenant_id=${tenant}`, { body });
    assert.ok(reply.status < 300, reply.text);
  };
  await client.call("PUT", "/v1/tenants/other", { body: {} });
  await put("order.created", { description: "Made.", schema: trickySchema, examples: [trickyExample] });
  await put("order.gone", {
    deprecated: true,
    schema: { type: "object" },
    examples: [{ a: 1 }, { b: null }],
  });
  await put("order.anything", {});
  await put("__proto__", { schema: {} });
  await put("secret.plan", { description: "Of somebody else." }, "other");
});
after(() => server.close());

interface OpenApiDocument {
  readonly info: { readonly title: string };
  readonly webhooks: Readonly<Record<string, { readonly post: OpenApiOperation }>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

interface OpenApiOperation {
  readonly deprecated?: boolean;
  readonly parameters: readonly { readonly name: string; readonly required: boolean }[];
  readonly requestBody: { readonly content: Readonly<Record<string, OpenApiContent>> };
  readonly responses: Readonly<Record<string, { readonly headers?: object }>>;
}

interface Ref {
  readonly $ref: string;
}

type SchemaOfContent = Ref | { readonly anyOf: readonly Ref[] };

interface OpenApiContent {
  readonly schema: SchemaOfContent;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

async function openApiOf(profile: string): Promise<OpenApiDocument> {
  const reply = await client.get(`/v1/webhook-docs/openapi.json?profile=${profile}`);
  assert.equal(reply.status, 200, reply.text);
  return JSON.parse(reply.text) as OpenApiDocument;
}

interface AsyncApiDocument {
  readonly operations: Readonly<Record<string, AsyncApiOperation>>;
  readonly components: { readonly messages: Readonly<Record<string, AsyncApiMessage>> };
}

interface AsyncApiOperation {
  readonly action: string;
  readonly messages: readonly Ref[];
  readonly security: readonly Ref[];
}

interface AsyncApiMessage {
  readonly title: string;
  readonly examples?: readonly { readonly headers: object; readonly payload: unknown }[];
}

async function asyncApiOf(query: string): Promise<AsyncApiDocument> {
  const reply = await client.get(`/v1/webhook-docs/asyncapi.json?${query}`);
  assert.equal(reply.status, 200, reply.text);
  const document = JSON.parse(reply.text) as AsyncApiDocument;
  assert.ok(isAsyncApi(document), JSON.stringify(isAsyncApi.errors));
  for (const reference of referencesIn(document)) placeOf(document, reference);
  return document;
}

/** The official schema of the format. */
const isAsyncApi = new Ajv({ strict: false, validateFormats: false }).compile(
  asyncApi.schemasWithoutId["3.0.0"] as object,
);

/** Every `$ref` in the document. Examples do not contain any. */
function referencesIn(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    name === "$ref" && typeof member === "string" ? [member] : referencesIn(member),
  );
}

/** The value that a reference within the document points to. Fails if it does not exist. */
function placeOf(document: object, reference: string): unknown {
  assert.ok(reference.startsWith("#/"), reference);
  return reference
    .slice(2)
    .split("/")
    .reduce((place: unknown, part) => {
      const name = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
      const object = Object(place) as Readonly<Record<string, unknown>>;
      assert.ok(Object.hasOwn(object, name), `${reference} leads nowhere`);
      return object[name];
    }, document);
}

const typeNames = ["__proto__", "order.anything", "order.created", "order.gone"];

/** The `$ref` of a schema, or the `$ref`s of its alternatives. An example must match one of them. */
function refsOf(schema: SchemaOfContent): readonly string[] {
  return "$ref" in schema ? [schema.$ref] : schema.anyOf.map(({ $ref }) => $ref);
}

const exampleCounts: ReadonlyMap<string, number> = new Map([
  ["order.created", 1],
  ["order.gone", 2],
]);

for (const { name, payloadFormats } of profiles) {
  test(`TS16-102 TS16-103 the OpenAPI document of ${name} is valid, and so are its examples`, async () => {
    const document = await openApiOf(name);
    const result = await new Validator().validate({ ...structuredClone(document) });
    assert.ok(result.valid, JSON.stringify(result.errors));
    assert.deepEqual(Object.keys(document.webhooks).toSorted(), typeNames);
    const ajv = createAjv(document);
    let checked = 0;
    for (const { post } of Object.values(document.webhooks)) {
      const contents = Object.values(post.requestBody.content);
      const refs = contents.flatMap(({ schema }) => refsOf(schema));
      assert.equal(refs.length, payloadFormats.length);
      for (const { schema, examples = {} } of contents) {
        const validators = refsOf(schema).map((ref) => ajv.getSchema(`doc${ref}`));
        for (const { value } of Object.values(examples)) {
          assert.ok(
            validators.some((validate) => validate?.(value) === true),
            JSON.stringify(value),
          );
          checked += 1;
        }
        for (const [index, validate] of validators.entries())
          assert.ok(validate?.(7) === false || refs[index]?.includes("__proto__"), "anything would do");
      }
    }
    assert.equal(checked, 3 * payloadFormats.length);
  });

  test(`TS16-102 TS16-103 the AsyncAPI document of ${name} is valid, and so are its examples`, async () => {
    const document = await asyncApiOf(`profile=${name}`);
    const { operations, components } = document;
    assert.equal(Object.keys(operations).length, typeNames.length);
    for (const { action, messages, security } of Object.values(operations)) {
      assert.equal(action, "send");
      assert.equal(messages.length, payloadFormats.length);
      assert.ok(security.length > 0);
    }
    const ajv = createAjv(document);
    for (const [key, { title, examples = [] }] of Object.entries(components.messages)) {
      assert.equal(examples.length, exampleCounts.get(title) ?? 0, title);
      const [isPayload, areHeaders] = ["payload", "headers"].map((part) =>
        ajv.getSchema(`doc#/components/messages/${key}/${part}`),
      );
      assert.ok(isPayload !== undefined && areHeaders !== undefined);
      for (const { headers, payload } of examples) {
        assert.ok(isPayload(payload), JSON.stringify(isPayload.errors));
        assert.ok(areHeaders(headers), JSON.stringify(areHeaders.errors));
      }
    }
  });
}

test("references in a tenant's schema are resolved within the document", async () => {
  const document = await openApiOf("event-delivery");
  const ajv = createAjv(document);
  const validate = ajv.getSchema("doc#/components/schemas/order.created-content");
  assert.ok(validate !== undefined);
  assert.ok(validate(trickyExample), JSON.stringify(validate.errors));
  const { parent } = trickyExample;
  for (const wrong of [
    { ...trickyExample, order_id: "not digits" },
    { ...trickyExample, items: [{}] },
    { ...trickyExample, first: {} },
    { ...trickyExample, parent: { ...parent, order_id: "x" } },
    { ...trickyExample, pair: ["x", 2] },
    { ...trickyExample, more: 1 },
  ]) {
    assert.ok(!validate(wrong), JSON.stringify(wrong));
  }
});

test("definitions become schemas of the document, and inline schemas have their own title", async () => {
  const { components } = await openApiOf("standard");
  const { schemas } = components;
  const names = Object.keys(schemas).filter((name) => name.startsWith("order.created"));
  assert.deepEqual(names.toSorted(), [
    "order.created-content",
    "order.created-content-a_b_c",
    "order.created-content-id",
    "order.created-standard",
    "order.created-standard-thin",
  ]);
  assert.ok(!JSON.stringify(schemas).includes('"$defs"'));
  const titles = Object.values(schemas).map((schema) => (schema as { readonly title?: string }).title);
  assert.equal(new Set(titles).size, titles.length);
  for (const title of titles) assert.match(title ?? "", /^[A-Z][A-Za-z0-9]*$/);
});

test("headers, responses and the deprecated flag come from the profile and the type", async () => {
  const { webhooks } = await openApiOf("standard");
  const { post } = webhooks["order.gone"] ?? assert.fail("the type is missing");
  assert.equal(post.deprecated, true);
  assert.equal(webhooks["order.created"]?.post.deprecated, undefined);
  const headers = Object.fromEntries(post.parameters.map(({ name, required }) => [name, required]));
  assert.equal(headers["Webhook-ID"], true);
  assert.equal(headers["Signature"], false);
  assert.ok(!("Content-Type" in headers));
  for (const status of ["410", "2XX", "3XX", "4XX", "5XX", "default"])
    assert.ok(status in post.responses, status);
  for (const status of ["429", "503"])
    assert.ok("Retry-After" in (post.responses[status]?.headers ?? {}), status);
  const cloudEvents = (await openApiOf("cloudevents")).webhooks["order.created"]?.post;
  assert.deepEqual(Object.keys(cloudEvents?.requestBody.content ?? {}), [
    "application/cloudevents+json",
    "application/json",
  ]);
  assert.equal(cloudEvents?.parameters.find(({ name }) => name === "ce-type")?.required, false);
});

test("a tenant sees only its own types, and an unknown profile is rejected by name", async () => {
  const { text } = await client.get("/v1/webhook-docs/openapi.json");
  assert.ok(!text.includes("secret.plan"));
  const others = await client.get("/v1/webhook-docs/asyncapi.json?tenant_id=other");
  assert.ok(others.text.includes("secret.plan") && !others.text.includes("order.created"));
  const reader = client.withKey(await client.keyFor("read", "other"));
  const own = await reader.get("/v1/webhook-docs/openapi.json");
  assert.deepEqual(Object.keys((JSON.parse(own.text) as OpenApiDocument).webhooks), ["secret.plan"]);
  const expected = { status: 400, code: "invalid_request" };
  assertProblem(await reader.get("/v1/webhook-docs/openapi.json?tenant_id=default"), expected);
  assertProblem(await client.get("/v1/webhook-docs/openapi.json?profile=Standard"), expected);
  const publisher = client.withKey(await client.keyFor("publish", "other"));
  assertProblem(await publisher.get("/v1/webhook-docs/openapi.json"), { status: 403, code: "forbidden" });
});

test("without registered types the documents are valid and empty", async () => {
  await client.call("PUT", "/v1/tenants/empty", { body: {} });
  const openApi = await client.get("/v1/webhook-docs/openapi.json?tenant_id=empty");
  assert.ok((await new Validator().validate({ ...(openApi.body as object) })).valid);
  const { components } = await asyncApiOf("tenant_id=empty");
  assert.deepEqual(components.messages, {});
});

function createAjv(document: object): Ajv2020 {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema({ ...document, $id: "doc" });
  return ajv;
}
