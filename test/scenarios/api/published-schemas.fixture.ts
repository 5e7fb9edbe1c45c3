/** Checks every response that the test client receives against the server's OpenAPI document. */
import assert from "node:assert/strict";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import type { Reply } from "./client.fixture.ts";

export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, object>>;
    readonly headers: Readonly<Record<string, object>>;
  };
}

export interface ApiOperation {
  readonly operationId: string;
  readonly security?: readonly unknown[];
  readonly responses: Readonly<
    Record<
      string,
      {
        readonly description: string;
        readonly content?: Readonly<Record<string, object>>;
        readonly headers?: Readonly<Record<string, { readonly $ref: string }>>;
      }
    >
  >;
}

interface FoundOperation {
  readonly method: string;
  readonly path: string;
  readonly operation: ApiOperation;
}

export function operationsOf(document: ApiDocument): readonly FoundOperation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
}

/** Responses that no route documents, because they are sent before routing. */
const beforeRoutes: ReadonlySet<number> = new Set([
  404, 405, 408, 413, 414, 415, 417, 429, 431, 500, 501, 503,
]);

export class PublishedSchemas {
  readonly #ajv: Ajv2020;
  readonly #byPath: readonly (FoundOperation & { readonly matches: RegExp })[];

  constructor(document: ApiDocument) {
    this.#ajv = new Ajv2020({
      strict: false,
      allErrors: true,
      formats: {
        uuid: /^[0-9a-f-]{36}$/,
        "date-time": /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
        instant: true,
        uri: true,
      },
    });
    this.#ajv.addSchema(document, "api");
    // Paths without parameters come first, so that `/v1/webhooks/export` is not treated as a path with an ID.
    this.#byPath = operationsOf(document)
      .map(({ method, path, operation }) => ({ method, path, operation, matches: patternOf(path) }))
      .toSorted((one, other) => parametersOf(one.path) - parametersOf(other.path));
  }

  /** Undocumented routes are not checked. */
  checkCall(method: string, path: string, reply: Reply): void {
    const plain = path.split("?", 1)[0] ?? "";
    const found = this.#byPath.find((one) => one.method === method && one.matches.test(plain));
    if (found === undefined) return;
    const isDocumented = String(reply.status) in found.operation.responses;
    if (!isDocumented && beforeRoutes.has(reply.status)) return;
    this.#check(found, reply);
  }

  check(operationId: string, reply: Reply): void {
    const found = this.#byPath.find(({ operation }) => operation.operationId === operationId);
    assert.ok(found !== undefined, operationId);
    this.#check(found, reply);
  }

  #check({ method, path, operation }: FoundOperation, reply: Reply): void {
    const { operationId } = operation;
    const response = operation.responses[reply.status];
    assert.ok(response !== undefined, `${operationId} does not document ${reply.status}: ${reply.text}`);
    if (response.content === undefined) {
      assert.equal(reply.text, "", operationId);
      return;
    }
    const type = (reply.headers.get("content-type") ?? "").split(";", 1)[0] ?? "";
    assert.ok(type in response.content, `${operationId} answered ${reply.status} as ${type}: ${reply.text}`);
    if (!type.includes("json")) return;
    const validate = this.#schemaAt([
      "paths",
      path,
      method.toLowerCase(),
      "responses",
      String(reply.status),
      "content",
      type,
      "schema",
    ]);
    assert.ok(validate !== undefined, operationId);
    assert.ok(validate(reply.body), `${operationId}: ${JSON.stringify(validate.errors)} in ${reply.text}`);
  }

  #schemaAt(pointer: readonly string[]): ValidateFunction | undefined {
    const parts = pointer.map((part) => encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1")));
    return this.#ajv.getSchema(`api#/${parts.join("/")}`);
  }
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/[.+]/g, "\\$&").replaceAll(/\{\w+\}/g, "[^/]+")}$`);
}

function parametersOf(path: string): number {
  return path.split("{").length;
}

/** Keyed by the text of the document, which is the same for all servers in a process. */
const byDocument = new Map<string, PublishedSchemas>();
const byServer = new Map<string, Promise<PublishedSchemas | null>>();

/** Null if the server does not respond, for example because it is stopping. */
export async function publishedSchemas(baseUrl: string): Promise<PublishedSchemas | null> {
  const known = byServer.get(baseUrl) ?? readSchemas(baseUrl);
  byServer.set(baseUrl, known);
  const schemas = await known;
  if (schemas === null) byServer.delete(baseUrl);
  return schemas;
}

async function readSchemas(baseUrl: string): Promise<PublishedSchemas | null> {
  try {
    const response = await fetch(`${baseUrl}/openapi.json`);
    const text = await response.text();
    if (response.status !== 200) return null;
    const known = byDocument.get(text) ?? new PublishedSchemas(JSON.parse(text) as ApiDocument);
    byDocument.set(text, known);
    return known;
  } catch {
    return null;
  }
}
