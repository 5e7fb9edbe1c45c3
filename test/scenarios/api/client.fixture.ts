/** What the API suites need to know about a server: its URL and a key. */
import assert from "node:assert/strict";
import { publishedSchemas } from "./published-schemas.fixture.ts";

export interface OpenedApi {
  readonly baseUrl: string;
  readonly adminKey: string;
  close(): Promise<void>;
}

export type OpenApi = () => Promise<OpenedApi>;

/** The JSON of a response, which tests access without types. The suite in documents.suite.ts checks its structure. */
export interface Json {
  readonly [name: string]: Json;
  [Symbol.iterator](): Iterator<Json>;
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Json;
}

export interface CallOptions {
  readonly body?: unknown;
  /** Sent unchanged. */
  readonly raw?: string | Uint8Array;
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** For a response that does not end. Only its first part is returned. */
  readonly isStream?: boolean;
}

export interface Client {
  readonly baseUrl: string;
  call(method: string, path: string, options?: CallOptions): Promise<Reply>;
  get(path: string, options?: CallOptions): Promise<Reply>;
  post(path: string, body?: unknown, options?: CallOptions): Promise<Reply>;
  withKey(key: string | null): Client;
  /** A key of a tenant. The tenant is created if it does not exist. */
  keyFor(role: string, tenantId?: string): Promise<string>;
}

export interface ClientOptions {
  readonly baseUrl: string;
  readonly key: string | null;
}

/** Every response is checked against the schema that the server publishes for the route. */
export function createClient({ baseUrl, key }: ClientOptions): Client {
  const call: Client["call"] = async (method, path, options = {}) => {
    const used = options.key === undefined ? key : options.key;
    const hasBody = options.raw !== undefined || options.body !== undefined;
    const init: RequestInit = {
      redirect: "manual",
      method,
      headers: {
        ...(used !== null && { authorization: `Bearer ${used}` }),
        ...(hasBody && { "content-type": "application/json" }),
        ...options.headers,
      },
    };
    if (hasBody) init.body = (options.raw as string | undefined) ?? JSON.stringify(options.body);
    const response = await fetch(baseUrl + path, init);
    const text = options.isStream === true ? await firstPiece(response) : await response.text();
    const isJson = text !== "" && response.headers.get("content-type")?.includes("json") === true;
    const reply: Reply = {
      status: response.status,
      headers: response.headers,
      text,
      body: JSON.parse(isJson ? text : "null") as Json,
    };
    if (options.isStream !== true && method !== "HEAD" && path !== "/openapi.json")
      (await publishedSchemas(baseUrl))?.checkCall(method, path, reply);
    return reply;
  };
  return clientOf({ baseUrl, call, withKey: (other) => createClient({ baseUrl, key: other }) });
}

/** The other methods of a client, implemented with `call`. */
export function clientOf({ baseUrl, call, withKey }: Pick<Client, "baseUrl" | "call" | "withKey">): Client {
  const client: Client = {
    baseUrl,
    call,
    withKey,
    get: (path, options) => call("GET", path, options),
    post: (path, body, options) => call("POST", path, { ...(body !== undefined && { body }), ...options }),
    keyFor: async (role, tenantId = "default") => {
      await call("PUT", `/v1/tenants/${tenantId}`, { body: {} });
      const created = await client.post("/v1/api-keys", {
        name: `${role} of ${tenantId}`,
        role,
        tenant_id: tenantId,
      });
      assert.equal(created.status, 201, created.text);
      return textOf(created.body["key"]);
    },
  };
  return client;
}

/** Asserts a problem response and returns its body. */
export function assertProblem(
  reply: Reply,
  expected: { readonly status: number; readonly code: string },
): Json {
  assert.equal(reply.status, expected.status, reply.text);
  assert.equal(reply.headers.get("content-type"), "application/problem+json", reply.text);
  assert.equal(reply.body["code"], expected.code, reply.text);
  assert.equal(reply.body["status"], expected.status);
  return reply.body;
}

/** The items of a list in a response, or an empty list if the response has none. */
async function firstPiece({ body }: Response): Promise<string> {
  const reader = body?.getReader();
  const first = await reader?.read();
  await reader?.cancel();
  return Buffer.from(first?.value ?? []).toString();
}

export function itemsOf(list: Json | undefined): readonly Json[] {
  return Array.isArray(list) ? (list as Json[]) : [];
}

export function textOf(value: Json | undefined): string {
  assert.equal(typeof value, "string");
  return value as unknown as string;
}

export function fieldsOf(reply: Reply): string[] {
  return itemsOf(reply.body["errors"]).map((error) => textOf(error["field"]));
}
