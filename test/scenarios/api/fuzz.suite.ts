/** No input causes a 5xx response, and an error is always JSON with a code. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { webUrls } from "../../services/web-urls.fixture.ts";
import type { Client } from "./client.fixture.ts";

const id = "0198c3f2-7a4e-7c11-9d3e-5b0a6f1e2d3c";

const posts = [
  "/v1/events",
  "/v1/events/batch",
  `/v1/events/${id}/replay`,
  "/v1/webhooks",
  `/v1/webhooks/${id}/secret/rotate`,
  `/v1/webhooks/${id}/test`,
  `/v1/webhooks/${id}/enable`,
  `/v1/webhooks/${id}/pause`,
  `/v1/webhooks/${id}/resume`,
  `/v1/webhooks/${id}/recover`,
  `/v1/webhooks/${id}/deliveries/${id}/retry`,
  "/v1/dlq/retry-batch",
  "/v1/dlq/discard-batch",
  "/v1/deliveries/retry-batch",
  "/v1/deliveries/cancel-batch",
  "/v1/api-keys",
  "/v1/sources",
  `/v1/sources/${id}/address/rotate`,
  `/v1/sources/${id}/acknowledge`,
  "/v1/connections",
  `/v1/requests/${id}/replay`,
  "/ui/session",
  "/ui/login-codes",
];

const patches = ["problems", "operations", "sources", "connections"].map((name) => `/v1/${name}/${id}`);

const runs = 25;

/** Bodies that pass the first checks: known names with arbitrary values. */
const nearlyValid = fc.record(
  {
    event_type: fc.oneof(fc.constant("a.b"), fc.string()),
    data: fc.oneof(fc.object({ maxDepth: 3 }), fc.jsonValue()),
    url: fc.oneof(webUrls, fc.string()),
    events: fc.array(fc.oneof(fc.constant("a.*"), fc.string())),
    headers: fc.dictionary(fc.string(), fc.string()),
    metadata: fc.object({ maxDepth: 2 }),
    retry_config: fc.record(
      { max_attempts: fc.double(), schedule_ms: fc.array(fc.double()) },
      { requiredKeys: [] },
    ),
    secret: fc.string(),
    name: fc.string(),
    role: fc.constantFrom("admin", "read", "x"),
    filter: fc.oneof(
      fc.object({ maxDepth: 1 }),
      fc.record(
        {
          status: fc.array(fc.constantFrom("failed", "exhausted", "circuit_blocked", "x")),
          http_status: fc.array(fc.constantFrom("5xx", "422", "none", "9xx")),
          failure_category: fc.array(fc.constantFrom("timeout", "x")),
          error: fc.string(),
          from: fc.constantFrom("2026-01-31", "9999-01-01", "x"),
        },
        { requiredKeys: [] },
      ),
    ),
    verification: fc.oneof(
      fc.jsonValue(),
      fc.record({
        type: fc.oneof(fc.constantFrom("github", "hmac", "any_of", "none", "bearer"), fc.string()),
        secrets: fc.oneof(fc.array(fc.string()), fc.jsonValue()),
        verifiers: fc.oneof(fc.array(fc.jsonValue()), fc.jsonValue()),
      }),
    ),
    mode: fc.constantFrom("pass_through", "store_and_forward", "x"),
    party: fc.oneof(fc.constant("shop"), fc.string()),
    custom_response: fc.record({ status: fc.integer(), body: fc.string() }, { requiredKeys: [] }),
    status_overrides: fc.oneof(fc.dictionary(fc.string(), fc.integer()), fc.jsonValue()),
    source_id: fc.oneof(fc.constant(id), fc.string()),
    webhook_id: fc.oneof(fc.constant(id), fc.string()),
    muted: fc.oneof(fc.boolean(), fc.string()),
    muted_until: fc.oneof(fc.constantFrom("2026-01-31", "9999-01-01", null), fc.string()),
    note: fc.oneof(fc.constant(null), fc.string()),
    ids: fc.array(fc.oneof(fc.uuid(), fc.string())),
    dry_run: fc.boolean(),
    rate_limit: fc.record({ requests_per_second: fc.double() }, { requiredKeys: [] }),
    since: fc.oneof(fc.constant("2026-01-01"), fc.string()),
    idempotency_key: fc.string(),
    timestamp: fc.oneof(fc.date({ noInvalidDate: true }).map(String), fc.string()),
    source: fc.string(),
  },
  { requiredKeys: [] },
);

const bodies = fc.oneof(
  fc.uint8Array({ maxLength: 200 }),
  fc.json().map((text) => Buffer.from(text)),
  nearlyValid.map((value) => Buffer.from(JSON.stringify(value))),
);

export function fuzzSuite(client: () => Client): void {
  const changes = [...posts.map((path) => ["POST", path]), ...patches.map((path) => ["PATCH", path])];
  for (const [method = "", path = ""] of changes) {
    test(`${method} ${path} with arbitrary input`, async () => {
      await fc.assert(
        fc.asyncProperty(bodies, async (raw) => {
          const reply = await client().call(method, path, { raw });
          assert.ok(reply.status < 500, `${reply.status} ${reply.text}`);
          if (reply.status >= 400) assert.equal(typeof reply.body["code"], "string");
        }),
        { numRuns: runs },
      );
    });
  }

  test("GET of every documented path with any query", async () => {
    const document = (await client().get("/openapi.json")).body as unknown as Document;
    const reads = Object.entries(document.paths).flatMap(([path, { get }]) =>
      get === undefined || path === "/metrics" ? [] : [{ path: path.replaceAll(/\{\w+\}/g, id), get }],
    );
    assert.ok(reads.length > 20);
    const query = fc.array(fc.tuple(fc.nat(), fc.oneof(...valuesTried.map(fc.constant), fc.string())), {
      maxLength: 5,
    });
    // Excluded, because the client's URL parser resolves `.` and `..`.
    const ends = fc.string().filter((end) => end !== "." && end !== "..");
    for (const { path, get } of reads) {
      const names = (get.parameters ?? []).filter((one) => one.in === "query").map(({ name }) => name);
      await fc.assert(
        fc.asyncProperty(query, ends, async (pairs, end) => {
          const search = pairs
            .map(([index, value]) => [
              [...names, "x"][index % (names.length + 1)] ?? "",
              value.toWellFormed(),
            ])
            .map(([name = "", value = ""]) => `${name}=${encodeURIComponent(value)}`)
            .join("&");
          const listed = await client().get(`${path}?${search}`);
          assert.ok(listed.status < 500, `${path}?${search}: ${listed.text}`);
          const found = await client().get(`${path}/${encodeURIComponent(end.toWellFormed())}`);
          assert.ok(found.status < 500, found.text);
        }),
        { numRuns: names.length === 0 ? 2 : 20 },
      );
    }
  });
}

/** Query parameters of several kinds, some of which pass the first checks. */
const valuesTried = [
  "1",
  "0",
  "true",
  "2026-01-31",
  "a.*",
  "*",
  "%",
  "order_",
  "5xx",
  "none",
  "failed",
  "oldest",
  id,
];

interface Document {
  readonly paths: Readonly<
    Record<
      string,
      { readonly get?: { readonly parameters?: readonly { readonly name: string; readonly in: string }[] } }
    >
  >;
}
