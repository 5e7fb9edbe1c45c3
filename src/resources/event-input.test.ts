import assert from "node:assert/strict";
import { test } from "node:test";
import { eventFieldProblems, type EventFields, parseTimestamp } from "./event-input.ts";

const now = Date.UTC(2026, 2, 15, 12);
const good: EventFields = {
  data: { id: 1 },
  raw: undefined,
  metadata: undefined,
  links: undefined,
  source: undefined,
  timestamp: undefined,
  idempotencyKey: undefined,
  priority: undefined,
  traceparent: undefined,
  tracestate: undefined,
};

/** Names of the rejected fields. */
function refused(fields: Partial<EventFields>): string[] {
  return eventFieldProblems({ ...good, ...fields }, now).map(({ field }) => field);
}

test("data is an object", () => {
  for (const data of [undefined, null, [], [{}], "text", 7, true])
    assert.deepEqual(refused({ data }), ["data"], JSON.stringify(data));
  for (const data of [{}, { id: null }]) assert.deepEqual(refused({ data }), []);
});

test("TS16-52 metadata is an object with at least one property, or absent", () => {
  for (const metadata of [null, {}, [], [1], "text"])
    assert.deepEqual(refused({ metadata }), ["metadata"], JSON.stringify(metadata));
  assert.deepEqual(refused({ metadata: { total: 3 } }), []);
});

test("TS16-54 links are objects with only rel, method and href, none required", () => {
  for (const links of [null, {}, [], "x"]) assert.deepEqual(refused({ links }), ["links"]);
  assert.deepEqual(refused({ links: [{}, { rel: "self", method: "GET", href: "/orders/1" }] }), []);
  assert.deepEqual(refused({ links: [{ rel: 1 }] }), ["links[0].rel"]);
  assert.deepEqual(refused({ links: [{}, { title: "x" }] }), ["links[1].title"]);
  assert.deepEqual(refused({ links: [null] }), ["links[0]"]);
});

test("TS16-47 the time is an ISO 8601 date-time, and an event is not later than its message", () => {
  const accepted = ["2026-03-15T11:59:59Z", "2026-03-15T12:00:00.123456+00:00", "2026-03-15T10:00:00-02:00"];
  for (const timestamp of accepted) assert.deepEqual(refused({ timestamp }), [], timestamp);
  // A leap second, and times before 1970.
  const unusual = [
    "2016-12-31T23:59:60Z",
    "2016-12-31T23:59:60.5+00:00",
    "1969-07-20T20:17:40Z",
    "0001-01-01T00:00:00Z",
  ];
  for (const timestamp of unusual) assert.deepEqual(refused({ timestamp }), [], timestamp);
  assert.equal(parseTimestamp("2016-12-31T23:59:60Z"), Date.UTC(2016, 11, 31, 23, 59, 59));
  assert.equal(parseTimestamp("1969-07-20T20:17:40Z"), Date.UTC(1969, 6, 20, 20, 17, 40));
  for (const timestamp of ["2016-12-31T23:59:61Z", "2016-12-31T23:60:60Z", "0001-01-01T00:00:00+01:00"])
    assert.deepEqual(refused({ timestamp }), ["timestamp"], timestamp);
  const wrong = ["2026-03-15", "15 March 2026", "2026-02-30T00:00:00Z", now, "2026-03-15T12:02:00Z"];
  for (const timestamp of wrong) assert.deepEqual(refused({ timestamp }), ["timestamp"], String(timestamp));
});

test("CEW-2.1-4 content of another type has a media type and at least one byte", () => {
  const raw = (contentType: unknown, body: unknown) =>
    refused({ data: undefined, raw: { contentType, body } });
  assert.deepEqual(raw("application/xml", Buffer.from("<a/>")), []);
  assert.deepEqual(raw("application/xml", Buffer.alloc(0)), ["body"]);
  assert.deepEqual(raw("application/xml\r\nX: y", Buffer.from("<a/>")), ["content-type"]);
  assert.deepEqual(raw("xml", Buffer.from("<a/>")), ["content-type"]);
});

test("WDS-85 WDS-86 WDS-87 key, source and priority are bounded texts with their own rules", () => {
  assert.deepEqual(refused({ idempotencyKey: "order.1234 by hand", source: "shop", priority: "high" }), []);
  for (const idempotencyKey of ["", "ü", "a\u0000", "x".repeat(256), 7])
    assert.deepEqual(refused({ idempotencyKey }), ["idempotency_key"], String(idempotencyKey));
  for (const source of ["", "a\u0000b", "x".repeat(256), 7])
    assert.deepEqual(refused({ source }), ["source"]);
  for (const priority of ["urgent", "", 1, null]) assert.deepEqual(refused({ priority }), ["priority"]);
});
