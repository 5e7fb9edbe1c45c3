/** Events whose payload consists of bytes of any media type. */
import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { request } from "node:http";
import { test } from "node:test";
import { assertProblem, fieldsOf, itemsOf, textOf } from "./client.fixture.ts";
import type { Client, Reply } from "./client.fixture.ts";

const payloadBytesMax = 262_144;
const path = "/v1/events?event_type=shop.raw";

export function rawContentSuite(client: () => Client): void {
  const publish = (
    raw: string | Uint8Array,
    { contentType = "application/xml", query = "", headers = {} }: RawOptions = {},
  ): Promise<Reply> =>
    client().post(path + query, undefined, { raw, headers: { "content-type": contentType, ...headers } });

  test("EDS-2-1 bytes of any media type are published and read back unchanged", async () => {
    const bodies: readonly (readonly [string, Uint8Array])[] = [
      ["application/xml; charset=utf-8", Buffer.from("<a>\u00fc</a>")],
      ["application/octet-stream", randomBytes(3_000)],
      ["application/json", Buffer.from(' [1, 2.50, "\\u00fc"] ')],
      ["application/x-www-form-urlencoded", Buffer.from("a=1&b=%20")],
      ["text/plain", Buffer.from([0])],
    ];
    for (const [contentType, body] of bodies) {
      const receipt = await publish(body, { contentType, query: "&source=shop&priority=high" });
      assert.equal(receipt.status, 202, receipt.text);
      assert.equal(receipt.body["event_type"], "shop.raw");
      const event = (await client().get(`/v1/events/${textOf(receipt.body["id"])}`)).body;
      assert.equal(event["content_type"], contentType);
      assert.equal(event["raw"], true);
      assert.equal(event["body_base64"], Buffer.from(body).toString("base64"));
      assert.ok(!("data" in event));
      assert.equal(event["source"], "shop");
      assert.equal(event["priority"], "high");
    }
    const listed = itemsOf((await client().get("/v1/events?event_type=shop.raw&limit=2")).body["data"]);
    assert.deepEqual(
      listed.map((event) => event["content_type"]),
      ["text/plain", "application/x-www-form-urlencoded"],
    );
  });

  test("events with data are listed as application/json, not raw", async () => {
    const receipt = await client().post("/v1/events", { event_type: "shop.plain", data: { n: 1 } });
    const event = (await client().get(`/v1/events/${textOf(receipt.body["id"])}`)).body;
    assert.equal(event["content_type"], "application/json");
    assert.equal(event["raw"], false);
    assert.deepEqual(event["data"], { n: 1 });
    assert.ok(!("body_base64" in event));
  });

  test("CEW-2.1-4 an empty body is rejected by name", async () => {
    for (const headers of [{}, { "transfer-encoding": "chunked" }]) {
      const reply = await send(client(), {
        headers: { "content-type": "text/plain", ...headers },
        chunks: [],
      });
      assert.equal(reply.status, 400, reply.text);
      assert.deepEqual(namesIn(reply.text), ["body"]);
    }
  });

  test("a body needs a media type, and other routes still accept only JSON", async () => {
    const untyped = await send(client(), { headers: {}, chunks: [Buffer.from("x")] });
    assert.equal(untyped.status, 415);
    assert.match(untyped.text, /Set the media type of the body in Content-Type/);
    assertProblem(await publish("x", { contentType: "nonsense" }), {
      status: 415,
      code: "unsupported_media_type",
    });
    const parameter = await publish("x", { contentType: "text/plain; charset" });
    assert.ok([400, 415].includes(parameter.status), parameter.text);
    const xml = { raw: "<a/>", headers: { "content-type": "application/xml" } };
    const refused = assertProblem(await client().post("/v1/events", undefined, xml), {
      status: 415,
      code: "unsupported_media_type",
    });
    assert.match(textOf(refused["detail"]), /event_type in the query/);
    for (const other of ["/v1/webhooks", "/v1/events/batch", "/v1/webhooks?event_type=a"]) {
      assertProblem(await client().post(other, undefined, xml), {
        status: 415,
        code: "unsupported_media_type",
      });
    }
    assertProblem(await client().post("/v1/nowhere", undefined, xml), { status: 404, code: "not_found" });
    const packed = await publish("x", { headers: { "content-encoding": "gzip" } });
    assertProblem(packed, { status: 415, code: "unsupported_media_type" });
  });

  test("the limit applies to the payload, to the byte, whatever the type and the framing", async () => {
    const whole = Buffer.alloc(payloadBytesMax, 0x61);
    const over = Buffer.alloc(payloadBytesMax + 1, 0x61);
    for (const contentType of ["text/plain", "application/json"]) {
      assert.equal((await publish(whole, { contentType })).status, 202);
      assertProblem(await publish(over, { contentType }), { status: 413, code: "payload_too_large" });
      const headers = { "content-type": contentType, "transfer-encoding": "chunked" };
      assert.equal((await send(client(), { headers, chunks: halvesOf(whole) })).status, 202);
      const refused = await send(client(), { headers, chunks: halvesOf(over) });
      assert.equal(refused.status, 413);
      assert.match(refused.text, /payload_too_large/);
    }
  });

  test("the query is validated like a body", async () => {
    assert.deepEqual(fieldsOf(await publish("x", { query: "&prioritee=high" })), ["prioritee"]);
    assert.deepEqual(fieldsOf(await publish("x", { query: "&priority=urgent" })), ["priority"]);
    assert.deepEqual(fieldsOf(await publish("x", { query: "&timestamp=yesterday" })), ["timestamp"]);
    assert.deepEqual(fieldsOf(await publish("x", { query: "&tenant_id=nobody" })), ["tenant_id"]);
    const foreign = await client()
      .withKey(await client().keyFor("publish", "other"))
      .post(path + "&tenant_id=default", undefined, { raw: "x" });
    assert.deepEqual(fieldsOf(foreign), ["tenant_id"]);
    const reply = await client().post("/v1/events?event_type=not%20a%20type", undefined, { raw: "x" });
    assert.deepEqual(fieldsOf(reply), ["event_type"]);
    const reader = client().withKey(await client().keyFor("read"));
    assertProblem(await reader.post(path, undefined, { raw: "x" }), { status: 403, code: "forbidden" });
  });

  test("Idempotency-Key repeats the first response; another body or media type is another request", async () => {
    const headers = { "idempotency-key": `"${randomUUID()}"` };
    const first = await publish("<a/>", { headers });
    const second = await publish("<a/>", { headers });
    assert.equal(second.text, first.text);
    assert.equal(second.headers.get("idempotency-replayed"), "true");
    const expected = { status: 422, code: "idempotency_key_reused" };
    assertProblem(await publish("<b/>", { headers }), expected);
    assertProblem(await publish("<a/>", { headers, contentType: "text/xml" }), expected);
  });

  test("the publisher's key with the same bytes is one event, and other bytes are rejected", async () => {
    const query = `&idempotency_key=${randomUUID()}`;
    const first = await publish("<a/>", { query });
    const second = await publish("<a/>", { query });
    assert.equal(second.text, first.text.replace('"duplicate":false', '"duplicate":true'));
    assertProblem(await publish("<b/>", { query }), { status: 422, code: "event_key_reused" });
  });
}

interface RawOptions {
  readonly contentType?: string;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

function namesIn(text: string): string[] {
  return (JSON.parse(text) as { errors: { field: string }[] }).errors.map(({ field }) => field);
}

function halvesOf(whole: Buffer): readonly Buffer[] {
  return [whole.subarray(0, 100_000), whole.subarray(100_000)];
}

/** Sends a request without the headers that fetch adds. */
async function send(
  client: Client,
  {
    headers,
    chunks,
  }: { readonly headers: Readonly<Record<string, string>>; readonly chunks: readonly Buffer[] },
): Promise<{ readonly status: number; readonly text: string }> {
  const authorization = `Bearer ${await client.keyFor("publish")}`;
  return new Promise((resolve, reject) => {
    const options = { method: "POST", headers: { authorization, ...headers } };
    const outgoing = request(client.baseUrl + path, options, (answer) => {
      let text = "";
      answer.setEncoding("utf8");
      answer.on("data", (part: string) => (text += part));
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, text }));
    });
    outgoing.on("error", reject);
    for (const chunk of chunks) outgoing.write(chunk);
    outgoing.end();
  });
}
