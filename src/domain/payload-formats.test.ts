import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { endOfJsonValue } from "./json/members.ts";
import { type EventContent, renderPayload, renderStandardPayload } from "./payload-formats.ts";

const timestamp = Date.parse("2026-03-15T12:34:56.789Z");
const eventId = "0197f000-0000-7000-8000-00000000abcd";

function jsonEvent(
  data: unknown,
  more: Partial<EventContent> & { readonly metadata?: object } = {},
): EventContent {
  const { metadata, ...fields } = more;
  const eventType = "order.created";
  return {
    eventId,
    tenantId: "acme",
    eventType,
    timestamp,
    source: "shop",
    idempotencyKey: "key-1",
    eventPriority: "high",
    sequenceNumber: 42,
    contentType: "application/json",
    raw: false,
    body: renderStandardPayload(
      eventType,
      timestamp,
      JSON.stringify(data),
      metadata === undefined ? null : JSON.stringify(metadata),
      null,
    ),
    ...fields,
  };
}

function rawEvent(contentType: string, body: Uint8Array): EventContent {
  return { ...jsonEvent({}), contentType, raw: true, body };
}

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("utf8");

// The bytes below are frozen: an event stored before an upgrade must be sent unchanged after it.
test("TS16-42 TS16-50 the standard object is sent as stored, minified", () => {
  const { contentType, body, headers } = renderPayload(
    "standard",
    jsonEvent({ id: 1 }, { metadata: { a: 1 } }),
  );
  assert.equal(contentType, "application/json");
  assert.equal(
    text(body),
    '{"type":"order.created","timestamp":"2026-03-15T12:34:56.789Z","data":{"id":1},"metadata":{"a":1}}',
  );
  assert.deepEqual(headers, []);
});

test("TS16-49 TS16-113 the thin form has the identifiers of the data, as written, and the links", () => {
  const thin = (content: EventContent) => text(renderPayload("standard-thin", content).body);
  const head = '{"type":"order.created","timestamp":"2026-03-15T12:34:56.789Z","data":';
  const data =
    '{"id": 12345678901234567890,"customer_id":"c\\u0031","itemIds":[1,"b"],"total":9,"paid":true,"x_id":{"a":1}}';
  const timestampText = "2026-03-15T12:34:56.789Z";
  const body = Buffer.from(
    `{"type":"order.created","timestamp":"${timestampText}","data":${data},"metadata":{"id":1},"links":[{"rel":"self"}]}`,
  );
  assert.equal(
    thin({ ...jsonEvent({}), body }),
    `${head}{"id":12345678901234567890,"customer_id":"c\\u0031","itemIds":[1,"b"]},"links":[{"rel":"self"}]}`,
  );
  const ofEvent = `${head}{"event_id":"${eventId}"}}`;
  assert.equal(thin(jsonEvent({ total: 9, token_id: "x".repeat(300) })), ofEvent);
  assert.equal(thin(rawEvent("application/xml", Buffer.from("<order/>"))), ofEvent);
});

test("property: the thin form is a non-empty JSON object, and part of the published data", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 5 }), (data) => {
      const { body } = renderPayload("standard-thin", jsonEvent(data));
      const parsed = JSON.parse(text(body)) as { readonly data: Record<string, unknown> };
      assert.ok(Object.keys(parsed.data).length > 0);
      const published = JSON.parse(JSON.stringify(data)) as Record<string, unknown>;
      for (const [name, value] of Object.entries(parsed.data))
        if (name !== "event_id") assert.deepEqual(value, published[name]);
    }),
  );
});

test("EDS-2-1 the data format is exactly the published data", () => {
  const { contentType, body } = renderPayload(
    "data",
    jsonEvent({ a: ["}", '"', { b: "\\" }] }, { metadata: { c: 1 } }),
  );
  assert.equal(contentType, "application/json");
  assert.equal(text(body), '{"a":["}","\\"",{"b":"\\\\"}]}');
});

test("WDS-81 WDS-82 WDS-83 WDS-84 WDS-85 WDS-86 WDS-87 WDS-88 the x-webhook body has the eight fields", () => {
  const { contentType, body } = renderPayload("x-webhook", jsonEvent({ id: 1 }));
  assert.equal(contentType, "application/json");
  assert.equal(
    text(body),
    `{"id":"${eventId}","event_type":"order.created","data":{"id":1},"timestamp":"2026-03-15T12:34:56.789Z",` +
      '"idempotency_key":"key-1","source":"shop","priority":"high","sequence_number":42}',
  );
});

test("WDS-172 without a publisher's key the event's id is used", () => {
  const { body } = renderPayload("x-webhook", jsonEvent({ id: 1 }, { idempotencyKey: null }));
  assert.equal(JSON.parse(text(body)).idempotency_key, eventId);
});

test("the source of a CloudEvent is a URI reference, even if the publisher's name is not", () => {
  const sources: Readonly<Record<string, string>> = {
    "shop": "shop",
    "a#b": "a#b",
    "//host/path?q=1#f": "//host/path?q=1#f",
    "urn:shop:1": "urn:shop:1",
    "a#b#c": "a%23b%23c",
    "[x]": "%5Bx%5D",
    "1:b": "1%3Ab",
    "100%": "100%25",
  };
  for (const [source, expected] of Object.entries(sources)) {
    const { body } = renderPayload("cloudevents-structured", jsonEvent({ id: 1 }, { source }));
    assert.equal(JSON.parse(text(body)).source, expected);
  }
});

test("a structured CloudEvent is one JSON object", () => {
  const { contentType, body } = renderPayload("cloudevents-structured", jsonEvent({ id: 1 }));
  assert.equal(contentType, "application/cloudevents+json");
  assert.equal(
    text(body),
    `{"specversion":"1.0","id":"${eventId}","source":"shop","type":"order.created",` +
      '"time":"2026-03-15T12:34:56.789Z","datacontenttype":"application/json","data":{"id":1}}',
  );
});

test("a binary CloudEvent carries its attributes in percent-encoded headers", () => {
  const { contentType, body, headers } = renderPayload(
    "cloudevents-binary",
    jsonEvent({ id: 1 }, { source: "Euro € 😀" }),
  );
  assert.equal(contentType, "application/json");
  assert.equal(text(body), '{"id":1}');
  assert.deepEqual(headers, [
    "ce-specversion",
    "1.0",
    "ce-id",
    eventId,
    "ce-source",
    "Euro%2520%25E2%2582%25AC%2520%25F0%259F%2598%2580",
    "ce-type",
    "order.created",
    "ce-time",
    "2026-03-15T12:34:56.789Z",
  ]);
});

test("TS16-41 raw content is sent byte for byte in every format except the structured CloudEvent", () => {
  const body = Uint8Array.of(0, 255, 123, 34);
  for (const format of ["standard", "data", "x-webhook", "cloudevents-binary"] as const) {
    const rendered = renderPayload(format, rawEvent("application/octet-stream", body));
    assert.equal(rendered.contentType, "application/octet-stream", format);
    assert.deepEqual(Buffer.from(rendered.body), Buffer.from(body), format);
  }
});

test("a structured CloudEvent contains JSON and text as data and anything else as base64", () => {
  const rendered = (contentType: string, body: string | Uint8Array): unknown =>
    JSON.parse(
      text(renderPayload("cloudevents-structured", rawEvent(contentType, Buffer.from(body as string))).body),
    );
  const part = (value: unknown): Record<string, unknown> => {
    const { data, data_base64, datacontenttype } = value as Record<string, unknown>;
    return data === undefined ? { data_base64, datacontenttype } : { data, datacontenttype };
  };
  assert.deepEqual(part(rendered("application/hal+json; charset=utf-8", "[1, 2]")), {
    data: [1, 2],
    datacontenttype: "application/hal+json; charset=utf-8",
  });
  assert.deepEqual(part(rendered("application/xml", "<a>ü</a>")), {
    data: "<a>ü</a>",
    datacontenttype: "application/xml",
  });
  const broken = rendered("application/json", "{broken");
  assert.deepEqual(part(broken), { data: "{broken", datacontenttype: "application/json" });
  assert.deepEqual(part(rendered("text/plain", Buffer.from([0xff]))), {
    data_base64: "/w==",
    datacontenttype: "text/plain",
  });
});

test("the end of any JSON value is found, regardless of what follows", () => {
  fc.assert(
    fc.property(fc.json(), fc.constantFrom("}", ',"more":1}', "]"), (json, rest) => {
      const minified = JSON.stringify(JSON.parse(json));
      const bytes = Buffer.from(`{"data":${minified}${rest}`);
      assert.equal(text(bytes.subarray(8, endOfJsonValue(bytes, 8))), minified);
    }),
  );
});
