/** Published bytes arrive unchanged through the whole system, regardless of their content. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { startReceiver } from "../peers/receiver.ts";
import type { ReceivedRequest, Receiver } from "../peers/receiver.ts";
import { createClient } from "./api/client.fixture.ts";
import type { Client } from "./api/client.fixture.ts";
import { posthorn as runCommand } from "./cli/command-line.fixture.ts";
import { PosthornProcess } from "./posthorn-process.fixture.ts";

let posthorn: PosthornProcess;
let api: Client;
let receiver: Receiver;
/** The event type of the current test. Each test has a separate one, because all tests share one server. */
let type = "";
let tests = 0;

before(async () => {
  posthorn = await PosthornProcess.start();
  api = createClient({ baseUrl: posthorn.url, key: posthorn.adminKey });
});
beforeEach(async () => {
  receiver = await startReceiver();
  type = `raw${++tests}.made`;
});
afterEach(() => receiver.close());
after(() => posthorn.remove());

/** Contents that are difficult to parse, reformat or decode. */
const contents: readonly (readonly [string, Uint8Array])[] = [
  ["application/json", Buffer.from('{ "b": 1.0,\r\n  "a": "\\u00fc\\/", "a": 12345678901234567890 }\n')],
  ["application/xml; charset=utf-8", Buffer.from('<?xml version="1.0"?>\r\n<a>ü</a>\n')],
  ["application/xml;charset=iso-8859-1", Buffer.from([0x3c, 0x61, 0x2f, 0x3e, 0xfc])],
  ["application/octet-stream", randomBytes(200_000)],
  ["application/octet-stream", Uint8Array.of(0)],
];

test("EDS-2-1 EDS-9.1-4 JSON, XML and random bytes arrive byte-identical, with their media type", async () => {
  await makeWebhook({ profile: "event-delivery" });
  assertSame(await publishAll());
});

test("TS16-41 the standard and x-webhook profiles deliver other media types unchanged", async () => {
  for (const profile of ["standard", "x-webhook"]) {
    const { id } = await makeWebhook({ profile });
    receiver.clear();
    assertSame(await publishAll());
    await api.call("DELETE", `/v1/webhooks/${id}`);
  }
});

test("a retry sends the same bytes again", async () => {
  receiver.script((_, index) => ({ status: index === 0 ? 503 : 200 }));
  const retry_config = { schedule_ms: [50] };
  await makeWebhook({ profile: "event-delivery", retry_config });
  const body = randomBytes(5_000);
  await publish("application/octet-stream", body);
  const requests = await receiver.waitForRequests(2);
  for (const request of requests) assert.ok(request.body.equals(body));
  assert.equal(requests[0]?.headers["idempotency-key"], requests[1]?.headers["idempotency-key"]);
});

test("EDS-2-1 the command line publishes a file or standard input unchanged", async () => {
  await makeWebhook({ profile: "event-delivery" });
  const folder = mkdtempSync(join(tmpdir(), "posthorn-raw-"));
  const file = join(folder, "scan.bin");
  const body = randomBytes(1_000);
  writeFileSync(file, body);
  const env = { POSTHORN_URL: posthorn.url, POSTHORN_KEY: posthorn.adminKey };
  const run = (args: readonly string[], input = "") =>
    runCommand(["publish", type, "--json", ...args], { env, input });

  const fromFile = await run(["--content-type", "image/x-scan", "--file", file, "--source", "scanner"]);
  assert.equal(fromFile.status, 0, fromFile.stderr);
  const fromInput = await run(["--content-type", "application/xml", "-"], "<a>ü</a>\n");
  assert.equal(fromInput.status, 0, fromInput.stderr);
  await receiver.waitForRequests(2);
  const received = new Map(receiver.requests.map((one) => [one.headers["content-type"], one.body]));
  assert.ok(received.get("image/x-scan")?.equals(body));
  assert.equal(received.get("application/xml")?.toString(), "<a>ü</a>\n");

  writeFileSync(file, '{"order_id":"4711"}');
  assert.equal((await run(["--file", file])).status, 0);
  for (const wrong of [
    ["--content-type", "text/plain"],
    ["--content-type", "text/plain", "--file", join(folder, "missing")],
    ["--content-type", "text/plain", "x", "--metadata", '{"a":1}'],
    ["--file", file, "{}"],
    ["[1]"],
  ]) {
    assert.equal((await run(wrong)).status, 2, wrong.join(" "));
  }
  rmSync(folder, { recursive: true, force: true });
});

async function makeWebhook(options: object): Promise<{ readonly id: string }> {
  const body = { url: receiver.url("/hook"), events: [type], ...options };
  const created = await api.post("/v1/webhooks", body);
  assert.equal(created.status, 201, created.text);
  return created.body as unknown as { readonly id: string };
}

async function publish(contentType: string, raw: Uint8Array): Promise<void> {
  const headers = { "content-type": contentType };
  const reply = await api.post(`/v1/events?event_type=${type}`, undefined, { raw, headers });
  assert.equal(reply.status, 202, reply.text);
}

/** Publishes concurrently, to detect buffers that are shared between requests. */
async function publishAll(): Promise<readonly ReceivedRequest[]> {
  await Promise.all(contents.map(([contentType, body]) => publish(contentType, body)));
  return receiver.waitForRequests(contents.length);
}

function assertSame(requests: readonly ReceivedRequest[]): void {
  const shown = (contentType: string | undefined, body: Uint8Array): string =>
    `${String(contentType)} ${Buffer.from(body).toString("base64")}`;
  assert.deepEqual(
    requests.map(({ headers, body }) => shown(headers["content-type"], body)).toSorted(),
    contents.map(([contentType, body]) => shown(contentType, body)).toSorted(),
  );
}
