/** Whatever is sent, the answer is never 5xx, and always JSON with a code when it is an error. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Client } from "./client.ts";

const id = "0198c3f2-7a4e-7c11-9d3e-5b0a6f1e2d3c";

const posts = [
  "/v1/events",
  "/v1/events/batch",
  `/v1/events/${id}/replay`,
  "/v1/webhooks",
  `/v1/webhooks/${id}/secret/rotate`,
  `/v1/webhooks/${id}/test`,
  `/v1/webhooks/${id}/enable`,
  `/v1/webhooks/${id}/resume`,
  `/v1/webhooks/${id}/recover`,
  `/v1/webhooks/${id}/deliveries/${id}/retry`,
  "/v1/dlq/retry-batch",
  "/v1/api-keys",
];

const runs = 25;

/** Bodies that get past the first checks: known names with any values. */
const nearlyValid = fc.record(
  {
    event_type: fc.oneof(fc.constant("a.b"), fc.string()),
    data: fc.oneof(fc.object({ maxDepth: 3 }), fc.jsonValue()),
    url: fc.oneof(fc.webUrl(), fc.string()),
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
  for (const path of posts) {
    test(`POST ${path} with anything`, async () => {
      await fc.assert(
        fc.asyncProperty(bodies, async (raw) => {
          const reply = await client().post(path, undefined, { raw });
          assert.ok(reply.status < 500, `${reply.status} ${reply.text}`);
          if (reply.status >= 400) assert.equal(typeof reply.body["code"], "string");
        }),
        { numRuns: runs },
      );
    });
  }

  test("GET with any query and any path", async () => {
    const paths = fc.constantFrom(
      "/v1/events",
      "/v1/webhooks",
      "/v1/dlq",
      "/v1/event-types",
      `/v1/webhooks/${id}/deliveries`,
    );
    const names = fc.constantFrom(
      "limit",
      "cursor",
      "offset",
      "from",
      "to",
      "event_type",
      "status",
      "active",
      "tenant_id",
      "x",
    );
    await fc.assert(
      fc.asyncProperty(
        paths,
        fc.array(fc.tuple(names, fc.string())),
        fc.string(),
        async (path, query, end) => {
          const search = query
            .map(([name, value]) => `${name}=${encodeURIComponent(value.toWellFormed())}`)
            .join("&");
          const listed = await client().get(`${path}?${search}`);
          assert.ok(listed.status < 500, listed.text);
          const found = await client().get(`${path}/${encodeURIComponent(end.toWellFormed())}`);
          assert.ok(found.status < 500, found.text);
        },
      ),
      { numRuns: 50 },
    );
  });
}
