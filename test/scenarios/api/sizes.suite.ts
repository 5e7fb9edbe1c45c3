/** Size limits, with every kind of framing. Oversized bodies must cost little. */
import assert from "node:assert/strict";
import { request } from "node:http";
import { connect } from "node:net";
import { test } from "node:test";
import { assertProblem, itemsOf, textOf } from "./client.fixture.ts";
import type { Client } from "./client.fixture.ts";

const payloadBytesMax = 262_144;

/** A `data` value whose minified JSON has exactly this many bytes. */
function dataOf(bytes: number): object {
  return { text: "x".repeat(bytes - '{"text":""}'.length) };
}

export function sizesSuite(client: () => Client): void {
  test("WDS-116 WDS-200 WDS-201 payloads of 262,144 bytes are accepted and of 262,145 are not", async () => {
    const publish = (bytes: number) =>
      client().post("/v1/events", { event_type: "shop.big", data: dataOf(bytes) });
    assert.equal((await publish(payloadBytesMax)).status, 202);
    const refused = assertProblem(await publish(payloadBytesMax + 1), {
      status: 413,
      code: "payload_too_large",
    });
    assert.match(textOf(refused["detail"]), /262145.*262144/);
  });

  test("one oversized payload does not affect the rest of a batch", async () => {
    const events = [payloadBytesMax, payloadBytesMax + 1, 100].map((bytes) => ({
      event_type: "shop.big",
      data: dataOf(bytes),
    }));
    const { body } = await client().post("/v1/events/batch", { events });
    assert.deepEqual(
      itemsOf(body["results"]).map((result) => result["error"]?.["code"]),
      [undefined, "payload_too_large", undefined],
    );
  });

  test("a body beyond its limit gets 413, with a length or chunked, and the connection stays open", async () => {
    const raw = JSON.stringify({ event_type: "shop.big", data: dataOf(1_000_000) });
    assertProblem(await client().post("/v1/events", undefined, { raw }), {
      status: 413,
      code: "payload_too_large",
    });
    const chunked = await sendChunked(client(), { chunk: Buffer.from(raw.slice(0, 50_000)), count: 20 });
    assert.equal(chunked.status, 413, chunked.text);
    assert.equal(JSON.parse(chunked.text).code, "payload_too_large");
    const small = await client().post("/v1/webhooks", undefined, { raw: `{"url":"${"x".repeat(200_000)}"}` });
    assertProblem(small, { status: 413, code: "payload_too_large" });
  });

  test("a chunked body within the limit is accepted", async () => {
    const whole = Buffer.from(JSON.stringify({ event_type: "shop.big", data: dataOf(100_000) }));
    const halves = [whole.subarray(0, 50_000), whole.subarray(50_000)];
    assert.equal((await sendChunks(client(), halves)).status, 202);
  });

  test("a million elements and deep nesting cost little", async () => {
    const million = `[${"1,".repeat(1_000_000)}1]`;
    const deep = `${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}`;
    const bodies = [
      `{"event_type":"shop.big","data":{"list":${million}}}`,
      `{"event_type":"shop.big","data":${deep}}`,
      `{"event_type":"shop.big","data":{"a":${"[".repeat(60_000)}${"]".repeat(60_000)}}}`,
      `{"event_type":"shop.big","links":[${"{},".repeat(90_000)}{}],"data":{"a":1}}`,
    ];
    for (const raw of bodies) {
      const startedAt = performance.now();
      const reply = await client().post("/v1/events", undefined, { raw });
      assert.ok([400, 413].includes(reply.status), reply.text.slice(0, 200));
      assert.ok(reply.text.length < 20_000);
      assert.ok(performance.now() - startedAt < 100_000);
    }
    const batch = await client().post("/v1/events/batch", undefined, {
      raw: `{"events":[${"{},".repeat(4_000_000)}{}]}`,
    });
    assertProblem(batch, { status: 413, code: "payload_too_large" });
    const webhook = await client().post("/v1/webhooks", undefined, {
      raw: `{"events":[${"0,".repeat(30_000)}0]}`,
    });
    assertProblem(webhook, { status: 413, code: "payload_too_large" });
  });

  test("nesting of 64 levels is accepted, 65 levels are not", async () => {
    const nested = (levels: number) =>
      `{"event_type":"shop.deep","data":${'{"a":'.repeat(levels - 1)}1${"}".repeat(levels - 1)}}`;
    assert.equal((await client().post("/v1/events", undefined, { raw: nested(64) })).status, 202);
    assertProblem(await client().post("/v1/events", undefined, { raw: nested(65) }), {
      status: 400,
      code: "invalid_request",
    });
  });

  test("invalid HTTP, or too many headers, gets an error and the connection is closed", async () => {
    assert.match(
      await sendBytes(client(), "NONSENSE\r\n\r\n"),
      /^HTTP\/1\.1 400 .*application\/problem\+json/s,
    );
    const headers = `X-A: ${"x".repeat(1_000)}\r\n`.repeat(40);
    assert.match(
      await sendBytes(client(), `GET /livez HTTP/1.1\r\nHost: a\r\n${headers}\r\n`),
      /^HTTP\/1\.1 431 /,
    );
    const smuggled =
      "POST /v1/events HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    assert.match(await sendBytes(client(), smuggled), /^HTTP\/1\.1 400 /);
  });
}

interface Answered {
  readonly status: number;
  readonly text: string;
}

function sendChunked(
  client: Client,
  { chunk, count }: { readonly chunk: Buffer; readonly count: number },
): Promise<Answered> {
  return sendChunks(
    client,
    Array.from({ length: count }, () => chunk),
  );
}

async function sendChunks(client: Client, chunks: readonly Buffer[]): Promise<Answered> {
  const key = await client.keyFor("publish");
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "transfer-encoding": "chunked",
    };
    const outgoing = request(`${client.baseUrl}/v1/events`, { method: "POST", headers }, (answer) => {
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

function sendBytes(client: Client, bytes: string): Promise<string> {
  const { hostname, port } = new URL(client.baseUrl);
  return new Promise((resolve, reject) => {
    let text = "";
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    socket.on("data", (part: Buffer) => (text += part.toString("latin1")));
    socket.on("close", () => resolve(text));
    socket.on("error", reject);
  });
}
