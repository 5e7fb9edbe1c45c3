/** Hostile requests to the addresses of sources must be rejected and must not leave any trace except in the log. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { after, before, suite, test } from "node:test";
import fc from "fast-check";
import { itemsOf } from "../api/client.fixture.ts";
import { openGateway, type RunningServer } from "../api/running-server.fixture.ts";
import { type Receiver, startReceiver } from "../../peers/receiver.ts";
import { hookOf, makeSource, modes, post, type SentHeaders, verification } from "./scene.fixture.ts";

const seed = Number(process.env["POSTHORN_TEST_SEED"] ?? Date.now() % 1_000_000);
const numRuns = Number(process.env["POSTHORN_TEST_RUNS"] ?? 150);

/** Names that have a meaning for a gateway, a proxy or HTTP. */
const names = [
  "idempotency-key",
  "webhook-id",
  "webhook-timestamp",
  "webhook-signature",
  "signature",
  "signature-input",
  "content-digest",
  "x-hub-signature-256",
  "stripe-signature",
  "authorization",
  "content-type",
  "content-encoding",
  "posthorn-hop",
  "cookie",
  "x-forwarded-for",
  "user-agent",
  "expect",
  "webhook-request-origin",
  "webhook-request-callback",
  "traceparent",
  "x-github-event",
  "x-shopify-topic",
  "origin",
  "access-control-request-method",
  "range",
  "if-match",
  "prefer",
  "forwarded",
];
const values = [
  '"a"',
  '"',
  "",
  " ",
  "a".repeat(4_000),
  "0123456789ab;".repeat(9),
  "sha256=",
  "t=1,v1=",
  "v1,",
  "Bearer ",
  "gzip",
  "application/json",
  "text/plain; charset=\\",
  "multipart/form-data",
  "100-continue",
  "-1",
  "1e999",
  "http://127.0.0.1/",
  "https://[::1]:0",
  "*",
  "999999999999999999999",
];
const latin = fc.string({
  unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)),
});
const headers: fc.Arbitrary<SentHeaders> = fc.dictionary(
  fc.constantFrom(...names),
  fc.oneof(
    fc.constantFrom(...values),
    latin.map((text) => text.replaceAll("\u007f", "")),
    fc.array(fc.constantFrom(...values), { minLength: 2, maxLength: 3 }),
  ),
  { maxKeys: 6 },
);
const bodies = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc.json().map((text) => Buffer.from(text)),
  fc
    .constantFrom("", "[".repeat(5_000), '{"__proto__":1}', '{"id":"evt_1","id":"evt_2"}', "\ufeff{}")
    .map((text) => Buffer.from(text)),
);
const rests = fc.oneof(
  fc.constantFrom(
    "",
    "/",
    "//",
    "/..",
    "/%2e%2e/v1/webhooks",
    "/%00",
    "/%",
    "?",
    "?a=b&a=c",
    "/a/b/c?x=%zz",
    "/;/",
  ),
  fc.webPath(),
);
const methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "TRACE", "PROPFIND", "QUERY"];

suite(`hostile requests to the gateway (seed ${seed})`, () => {
  let world: RunningServer;
  let receiver: Receiver;
  const paths: string[] = [];
  before(async () => {
    [world, receiver] = await Promise.all([openGateway(), startReceiver()]);
    const hush = ["a-secret-that-nobody-knows"];
    const verifications = [
      verification,
      { type: "github", secrets: hush },
      { type: "stripe", secrets: hush },
      { type: "x", secrets: hush },
      { type: "meta", secrets: hush, verify_token: "t" },
      { type: "slack", secrets: hush },
      { type: "bearer", secrets: hush },
      { type: "basic", username: "u", secrets: hush },
      {
        type: "http_signatures",
        secrets: [`whsec_${Buffer.alloc(24, 3).toString("base64")}`],
        key_id: "k",
        public_origin: "https://in.example.com",
      },
    ];
    for (const [index, one] of verifications.entries())
      for (const mode of modes) {
        const party = `${one.type.replaceAll(/\W/g, "")}-${mode === "pass_through" ? "p" : "s"}${index}`;
        const more = {
          verification: one,
          party,
          forward_path: true,
          forward_headers: ["X-A"],
          ...(index === 0 && { handshake: { allowed_origins: ["example.com"] } }),
        };
        const { path } = await makeSource(world.admin, { mode, more, webhooks: [hookOf(receiver)] });
        paths.push(path, `/_webhooks/${party}`);
      }
  });
  after(async () => {
    await world.close();
    await receiver.close();
  });

  const nothingWasStored = async (): Promise<void> => {
    const events = await world.admin.get("/v1/events");
    assert.equal(itemsOf(events.body["data"]).length, 0);
    const accepted = await world.admin.get("/v1/requests?outcome=accepted");
    assert.equal(itemsOf(accepted.body["data"]).length, 0);
    assert.equal(receiver.requestCount, 0);
  };

  test("any method, header, path and body: a client error, or an address check, and nothing is stored", async () => {
    const statuses = new Map<number, number>();
    const known = fc.nat().map((at) => paths[at % paths.length] ?? "");
    const unknown = fc.constantFrom(
      "/in/",
      `/in/${"x".repeat(32)}`,
      `/in/${"x".repeat(8_000)}`,
      "/_webhooks/",
      "/in/%00",
    );
    const path = fc.oneof({ arbitrary: known, weight: 5 }, { arbitrary: unknown, weight: 1 });
    await fc.assert(
      fc.asyncProperty(
        fc.record({ method: fc.constantFrom(...methods), path, rest: rests, headers, body: bodies }),
        async ({ method, path: address, rest, headers: sent, body }) => {
          const withoutBody = method === "GET" || method === "HEAD" || method === "TRACE";
          const url = `${world.baseUrl}${address}${rest.replaceAll(" ", "%20")}`;
          const bytes = withoutBody ? Buffer.alloc(0) : body;
          const framed = { ...sent, "content-length": String(bytes.byteLength) };
          const answer = await post(url, bytes, { method, headers: framed });
          statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
          assert.ok(answer.status < 500 || answer.status === 508, `${answer.status} ${answer.text}`);
          // Other methods may succeed: X sends signed challenges by GET, and OPTIONS may grant permission. Neither
          // stores anything.
          if (method === "POST") assert.ok(answer.status >= 400, `${answer.status} ${answer.text}`);
        },
      ),
      { seed, numRuns },
    );
    assert.ok((statuses.get(401) ?? 0) > 0 && (statuses.get(404) ?? 0) > 0, JSON.stringify([...statuses]));
    await nothingWasStored();
  });

  test("bytes that are barely HTTP: a 4xx response or none, and the next request is served", async () => {
    const address = paths[0] ?? "";
    const heads = fc.constantFrom(
      `POST ${address} HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!`,
      `POST ${address} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n`,
      `POST ${address} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
      `POST ${address} HTTP/1.1\r\nHost: a\r\nIdempotency-Key: "a\0b"\r\nContent-Length: 1\r\n\r\na`,
      `POST ${address} HTTP/1.1\r\nHost: a\r\nIdempotency-Key : "a"\r\nContent-Length: 1\r\n\r\na`,
      `POST ${address} HTTP/1.1\r\nHost: a\r\nX: ${"a".repeat(100_000)}\r\n\r\n`,
      `POST ${address} HTTP/0.9\r\n\r\n`,
      `POST http://elsewhere.example${address} HTTP/1.1\r\nHost: elsewhere.example\r\nContent-Length: 1\r\n\r\na`,
      `GET ${address}\r\n\r\n`,
    );
    const noise = fc.uint8Array({ minLength: 1, maxLength: 200 }).map((bytes) => Buffer.from(bytes));
    const sent = fc.oneof(
      heads.map((text) => Buffer.from(text, "latin1")),
      fc
        .tuple(heads, noise)
        .map(([text, bytes]) => Buffer.concat([Buffer.from(text.slice(0, 60), "latin1"), bytes])),
    );
    await fc.assert(
      fc.asyncProperty(sent, async (bytes) => {
        const answer = await exchange(world.baseUrl, bytes);
        const status = /^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1];
        assert.ok(status === undefined || status.startsWith("4"), answer.slice(0, 200));
      }),
      { seed, numRuns: Math.ceil(numRuns / 4) },
    );
    const next = await post(`${world.baseUrl}${address}`, "{}");
    assert.equal(next.status, 401);
    await nothingWasStored();
  });
});

/** Resolves with the response once the server has closed the connection, which it does after sending everything. */
function exchange(url: string, bytes: Buffer): Promise<string> {
  return new Promise((resolve) => {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port) });
    let answer = "";
    socket.on("data", (chunk: Buffer) => (answer += chunk.toString("latin1")));
    socket.on("error", () => undefined);
    socket.on("close", () => resolve(answer));
    socket.end(bytes);
  });
}
