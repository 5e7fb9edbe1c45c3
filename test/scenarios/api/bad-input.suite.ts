/** The error is clear and names each field, and the call has no partial effect. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { assertProblem, fieldsOf, itemsOf } from "./client.fixture.ts";
import type { Client } from "./client.fixture.ts";

const webhook = { url: "https://example.com/hooks", events: ["order.*"] };
const event = { event_type: "shop.paid", data: { n: 1 } };

const badWebhooks: Readonly<Record<string, readonly [object, string]>> = {
  "no events": [{ url: webhook.url }, "events"],
  "empty events": [{ ...webhook, events: [] }, "events"],
  "bad pattern": [{ ...webhook, events: ["order.*", "or der"] }, "events[1]"],
  "wrong type": [{ ...webhook, active: "yes" }, "active"],
  "misspelt field": [{ ...webhook, retry_confg: {} }, "retry_confg"],
  "misspelt inner field": [{ ...webhook, retry_config: { max_atempts: 3 } }, "retry_config.max_atempts"],
  "unknown profile": [{ ...webhook, profile: "unknown" }, "profile"],
  "unknown scheme": [{ ...webhook, signing: { schemes: ["v2"] } }, "signing.schemes[0]"],
  "empty schedule": [{ ...webhook, retry_config: { schedule_ms: [] } }, "retry_config.schedule_ms"],
  "negative delay": [
    { ...webhook, retry_config: { schedule_ms: [1_000, -1] } },
    "retry_config.schedule_ms[1]",
  ],
  "delay too long": [{ ...webhook, retry_config: { schedule_ms: [1e12] } }, "retry_config.schedule_ms[0]"],
  "no attempts": [{ ...webhook, retry_config: { max_attempts: 0 } }, "retry_config.max_attempts"],
  "half an attempt": [{ ...webhook, retry_config: { max_attempts: 1.5 } }, "retry_config.max_attempts"],
  "secret of 23 bytes": [{ ...webhook, secret: secretOf(23) }, "secret"],
  "secret of 65 bytes": [{ ...webhook, secret: secretOf(65) }, "secret"],
  "secret without its prefix": [{ ...webhook, secret: "correct horse battery staple" }, "secret"],
  "reserved header": [{ ...webhook, headers: { "Webhook-Signature": "x" } }, "headers.Webhook-Signature"],
  "header with a line break": [{ ...webhook, headers: { "X-A": "a\r\nX-B: b" } }, "headers.X-A"],
  "header value of another type": [{ ...webhook, headers: { "X-A": 1 } }, "headers.X-A"],
  "no rate": [
    { ...webhook, rate_limit: { requests_per_minute: 0, burst: 1 } },
    "rate_limit.requests_per_minute",
  ],
  "unknown tenant": [{ ...webhook, tenant_id: "nobody-here" }, "tenant_id"],
};

/** Private IP addresses in every notation, and invalid URLs. */
const badUrls = [
  "not a url",
  "http://example.com/",
  "ftp://example.com/",
  "https://",
  "https://user:pw@example.com/",
  "https://example.com/#x",
  "https://127.0.0.1/",
  "https://localhost/",
  "https://0x7f.1/",
  "https://2130706433/",
  "https://0177.0.0.1/",
  "https://127.1/",
  "https://10.0.0.1/",
  "https://172.16.0.1/",
  "https://192.168.1.1/",
  "https://169.254.169.254/",
  "https://0.0.0.0/",
  "https://100.64.0.1/",
  "https://[::1]/",
  "https://[::ffff:10.0.0.1]/",
  "https://[::ffff:7f00:1]/",
  "https://[64:ff9b::a00:1]/",
  "https://[fe80::1]/",
  "https://[fc00::1]/",
  "https://[::]/",
  "https://１２７.0.0.1/",
  "https://exa mple.com/",
  "https:\\\\example.com/",
  "\u0000https://example.com/",
  "javascript:alert(1)",
  "file:///etc/passwd",
  `https://example.com/${"x".repeat(2_048)}`,
];

export function badInputSuite(client: () => Client): void {
  const countWebhooks = async (): Promise<number> =>
    itemsOf((await client().get("/v1/webhooks?limit=250")).body["data"]).length;

  test("EDS-11.7-2 TS16-37 TS16-75 TS16-116 TS16-123 TS16-124 WDS-168 WDS-1 WDS-2 every invalid field of a webhook is named, and no webhook is created", async () => {
    const before = await countWebhooks();
    for (const [name, [body, field]] of Object.entries(badWebhooks)) {
      const reply = await client().post("/v1/webhooks", body);
      assertProblem(reply, { status: 400, code: "invalid_request" });
      assert.ok(
        fieldsOf(reply).some((found) => found === field || found.startsWith(`${field}[`)),
        `${name}: ${reply.text}`,
      );
    }
    for (const url of badUrls) {
      const reply = await client().post("/v1/webhooks", { ...webhook, url });
      assertProblem(reply, { status: 400, code: "invalid_request" });
      assert.deepEqual(fieldsOf(reply), ["url"], url.slice(0, 80));
    }
    assert.equal(await countWebhooks(), before);
  });

  test("WDS-171 a URL of 2,048 characters is accepted", async () => {
    const url = "https://example.com/".padEnd(2_048, "x");
    assert.equal((await client().post("/v1/webhooks", { ...webhook, url })).status, 201);
  });

  test("TS16-75 WDS-44 secrets of 24 and 64 bytes are accepted, and none twice", async () => {
    for (const bytes of [24, 64]) {
      const secret = secretOf(bytes);
      assert.equal((await client().post("/v1/webhooks", { ...webhook, secret })).status, 201);
      assertProblem(await client().post("/v1/webhooks", { ...webhook, secret }), {
        status: 409,
        code: "secret_in_use",
      });
    }
  });

  test("an infinite number is rejected in any notation", async () => {
    const raw = JSON.stringify({ ...webhook, retry_config: { backoff_multiplier: 0 } }).replace(
      ":0}",
      ":1e999}",
    );
    assertProblem(await client().post("/v1/webhooks", undefined, { raw }), {
      status: 400,
      code: "invalid_request",
    });
  });

  test("all invalid fields are named together, unknown ones with the closest name", async () => {
    const reply = await client().post("/v1/events", {
      event_typ: "a.b",
      data: [],
      priority: "urgent",
      links: [{ hreff: "x" }],
    });
    assertProblem(reply, { status: 400, code: "invalid_request" });
    assert.deepEqual(fieldsOf(reply).toSorted(), [
      "data",
      "event_typ",
      "event_type",
      "links[0].hreff",
      "priority",
    ]);
    assert.match(reply.text, /did you mean \\"event_type\\"\?/);
  });

  test("at most 50 problems are listed, without values", async () => {
    const many = Object.fromEntries(
      Array.from({ length: 500 }, (_, index) => [`field${index}`, "s3cret-value"]),
    );
    const reply = await client().post("/v1/webhooks", { ...webhook, ...many });
    assertProblem(reply, { status: 400, code: "invalid_request" });
    assert.equal(fieldsOf(reply).length, 50);
    assert.ok(!reply.text.includes("s3cret-value"));
  });

  test("TS16-44 TS16-45 TS16-52 events: types, data, times", async () => {
    for (const [body, field] of [
      [{ ...event, event_type: "shop paid" }, "event_type"],
      [{ ...event, event_type: "" }, "event_type"],
      [{ ...event, event_type: "x".repeat(129) }, "event_type"],
      [{ ...event, event_type: "posthorn.test" }, "event_type"],
      [{ ...event, data: [] }, "data"],
      [{ ...event, data: null }, "data"],
      [{ ...event, metadata: {} }, "metadata"],
      [{ ...event, timestamp: "yesterday" }, "timestamp"],
      [{ ...event, timestamp: "2026-02-30T00:00:00Z" }, "timestamp"],
      [{ ...event, timestamp: 1_767_225_600 }, "timestamp"],
      [{ ...event, idempotency_key: "\u0007" }, "idempotency_key"],
      [{ ...event, idempotency_key: "x".repeat(256) }, "idempotency_key"],
      [{ ...event, source: "a\u0000b" }, "source"],
    ] as const) {
      const reply = await client().post("/v1/events", body);
      assertProblem(reply, { status: 400, code: "invalid_request" });
      assert.ok(fieldsOf(reply).includes(field), reply.text);
    }
  });

  test("malformed JSON in every form", async () => {
    const truncated = JSON.stringify(event).slice(0, -3);
    for (const raw of [
      "{",
      "}",
      truncated,
      "nul",
      "\u0000",
      "{'a':1}",
      "[1,]",
      "NaN",
      '{"a":01}',
      "\ufeff{}",
      '"\n"',
      "{}{}",
      "//",
    ]) {
      const reply = await client().post("/v1/events", undefined, { raw });
      assertProblem(reply, { status: 400, code: "malformed_json" });
    }
    const latin1 = Buffer.from('{"event_type":"a","data":{"n":"\u00fc"}}', "latin1");
    assertProblem(await client().post("/v1/events", undefined, { raw: latin1 }), {
      status: 400,
      code: "malformed_json",
    });
  });

  test("JSON that is not an object, and a missing body", async () => {
    for (const raw of ["[]", "null", "1", '"text"', "true"]) {
      assertProblem(await client().post("/v1/events", undefined, { raw }), {
        status: 400,
        code: "invalid_request",
      });
    }
    assertProblem(await client().post("/v1/events", undefined, { raw: "" }), {
      status: 400,
      code: "invalid_request",
    });
    assertProblem(await client().post("/v1/events"), { status: 400, code: "invalid_request" });
  });

  test("names that poison prototypes are rejected, even when escaped", async () => {
    for (const name of ["__proto__", "\\u005f_proto__"]) {
      const raw = `{"event_type":"shop.paid","data":{"a":{"${name}":{"polluted":1}}}}`;
      const reply = await client().post("/v1/events", undefined, { raw });
      assertProblem(reply, { status: 400, code: "invalid_request" });
      assert.deepEqual(fieldsOf(reply), ["data.a.__proto__"]);
    }
    const raw = '{"event_type":"shop.paid","data":{"constructor":{"prototype":{"polluted":1}}}}';
    assertProblem(await client().post("/v1/events", undefined, { raw }), {
      status: 400,
      code: "invalid_request",
    });
    const harmless = {
      event_type: "shop.paid",
      data: { constructor: "of houses", prototype: 1, "__proto_": 2 },
    };
    assert.equal((await client().post("/v1/events", harmless)).status, 202);
  });

  test("other media types and encodings are rejected", async () => {
    const raw = JSON.stringify(event);
    for (const type of [
      "text/plain",
      "application/xml",
      "multipart/form-data; boundary=x",
      "application/x-www-form-urlencoded",
      "nonsense",
    ]) {
      const reply = await client().post("/v1/events", undefined, { raw, headers: { "content-type": type } });
      assertProblem(reply, { status: 415, code: "unsupported_media_type" });
    }
    const encoded = await client().post("/v1/events", undefined, {
      raw,
      headers: { "content-encoding": "gzip" },
    });
    assertProblem(encoded, { status: 415, code: "unsupported_media_type" });
    const withCharset = { raw, headers: { "content-type": "application/json; charset=utf-8" } };
    assert.equal((await client().post("/v1/events", undefined, withCharset)).status, 202);
  });

  test("unknown paths, methods, ids and queries", async () => {
    assertProblem(await client().get("/v1/nothing"), { status: 404, code: "not_found" });
    assertProblem(await client().get("/v1/%zz"), { status: 400, code: "invalid_request" });
    const reply = await client().call("DELETE", "/v1/webhooks");
    assertProblem(reply, { status: 405, code: "method_not_allowed" });
    assert.deepEqual(reply.headers.get("allow")?.split(", ").toSorted(), ["GET", "HEAD", "POST"]);
    for (const id of [
      "1",
      "%00",
      "..%2f..%2fetc",
      "x".repeat(600),
      "'; drop table events; --",
      "0198c3f2-7a4e-7c11-9d3e-5b0a6f1e2d3c",
    ]) {
      assertProblem(await client().get(`/v1/webhooks/${id}`), { status: 404, code: "not_found" });
    }
    const query = await client().get("/v1/events?limt=5&from=yesterday&limit=251&offset=-1");
    assertProblem(query, { status: 400, code: "invalid_request" });
    assert.deepEqual(fieldsOf(query).toSorted(), ["from", "limit", "limt", "offset"]);
    assertProblem(await client().get("/v1/events?limit=1&limit=2"), { status: 400, code: "invalid_request" });
    assertProblem(await client().get("/v1/events?event_type=a%00b"), {
      status: 400,
      code: "invalid_request",
    });
  });

  test("event type schemas with remote references are rejected", async () => {
    const schema = { $ref: "https://example.com/schema.json" };
    const reply = await client().call("PUT", "/v1/event-types/shop.remote", { body: { schema } });
    assertProblem(reply, { status: 400, code: "invalid_request" });
    assert.ok(fieldsOf(reply)[0]?.startsWith("schema"), reply.text);
  });
}

function secretOf(bytes: number): string {
  return `whsec_${Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString("base64")}`;
}
