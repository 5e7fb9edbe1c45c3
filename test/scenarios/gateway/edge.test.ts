/** What the edge of the gateway answers and logs, whatever is sent to it and whatever receivers answer. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { after, before, suite, test } from "node:test";
import { GatewayScene } from "./gateway-scene.ts";
import { type Json, post, type SentHeaders, signed } from "./scene.ts";

const isolation = {
  "content-security-policy": "default-src 'none'; sandbox",
  "x-content-type-options": "nosniff",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
};

const inert = [
  "text/plain",
  "text/plain; charset=utf-8",
  "TEXT/Plain;charset=UTF-8",
  "application/json",
  "application/problem+json; charset=utf-8",
  "application/cloudevents+json",
];

const executable = [
  "text/html",
  "TEXT/HTML; charset=utf-8",
  "text/html;",
  "text/html;charset=utf-7",
  "application/xhtml+xml",
  "image/svg+xml",
  "text/xml",
  "application/xml; charset=utf-8",
  "application/atom+xml",
  "application/vnd.some.thing+xml",
  "text/xsl",
  "text/javascript",
  "application/javascript",
  "application/x-shockwave-flash",
  "application/pdf",
  "multipart/x-mixed-replace; boundary=b",
  "multipart/related; type=text/html; boundary=b",
  "message/rfc822",
  "text/plain, text/html",
  'text/plain; x=", text/html"',
  "text/plain text/html",
  "text/plain;charset",
  "text/plain/html",
  "html",
  ";",
  "/",
  "*/*",
  "application/unknown",
  "text/html+json/x",
  "t\u00e9xt/html",
];

suite("the edge of the gateway", () => {
  const scene = new GatewayScene();
  before(() => scene.start());
  after(() => scene.stop());

  /** Header lines as given, with the body behind them; resolves with all that came back. */
  const sendRaw = (lines: readonly string[], body = ""): Promise<string> =>
    new Promise((resolve, reject) => {
      const { hostname, port } = new URL(scene.running.url ?? "");
      const socket = connect(Number(port), hostname);
      const chunks: Buffer[] = [];
      socket.on("data", (chunk: Buffer) => chunks.push(chunk));
      socket.on("error", reject);
      socket.on("close", () => resolve(Buffer.concat(chunks).toString("latin1")));
      socket.write(`${lines.join("\r\n")}\r\n\r\n${body}`);
    });
  const causesOf = (rows: readonly Json[]): readonly unknown[] =>
    rows.map(({ rejection_cause: cause }) => cause);
  const assertIsolated = (headers: Readonly<Record<string, unknown>>, what: string): void => {
    for (const [name, value] of Object.entries(isolation))
      assert.equal(headers[name], value, `${name} of ${what}`);
  };

  test("answers of a receiver cannot run in the origin of the API, the first time and repeated", async () => {
    const { send } = await scene.source();
    for (const [at, type] of [...inert, ...executable].entries()) {
      scene.receiver.script(() => ({
        status: 200,
        headers: { "content-type": type },
        body: "<script>1</script>",
      }));
      const body = JSON.stringify({ at });
      for (const time of ["first", "repeated"]) {
        const answer = await send(body);
        assert.equal(answer.status, 200, type);
        assert.equal(answer.text, "<script>1</script>");
        assertIsolated(answer.headers, `${time} ${type}`);
        const disposition = String(answer.headers["content-disposition"]);
        assert.equal(
          disposition.startsWith("attachment"),
          executable.includes(type),
          `${time} ${type}: ${disposition}`,
        );
        assert.match(String(answer.headers["content-type"]), /^[!#$%&'*+.^`|~\w-]+\/[!#$%&'*+.^`|~\w-]+/);
      }
    }
  });

  test("a custom response, a refusal and a challenge are isolated too, by both addresses", async () => {
    const custom = { status: 200, content_type: "text/html; charset=utf-8", body: "<script>1</script>" };
    const stored = await scene.source({
      source: { mode: "store_and_forward", custom_response: custom, party: "isolated" },
    });
    for (const url of [stored.url, `${scene.running.url}/_webhooks/isolated`]) {
      const answer = await post(url, '{"n":1}', { headers: signed('{"n":1}') });
      assert.deepEqual([answer.status, answer.text], [200, custom.body]);
      assertIsolated(answer.headers, url);
      assert.match(String(answer.headers["content-disposition"]), /^attachment/);
      for (const refused of [
        await post(url, "{}"),
        await post(url, "", { headers: signed("") }),
        await post(url, "{}", { method: "DELETE", headers: { "content-length": "2" } }),
        await post(`${url}/..;/x`, "{}"),
        await post(url.replace(/[^/]+$/, "unknown-0000000000000"), "{}"),
      ])
        assertIsolated(refused.headers, `${refused.status} of ${url}`);
    }
  });

  test("204 and 304 have no Content-Length, by any way through the gateway", async () => {
    const { send } = await scene.source();
    scene.receiver.script(() => ({ status: 204 }));
    const first = await send('{"empty":1}');
    const repeated = await send('{"empty":1}');
    const custom = await scene.source({
      source: { mode: "store_and_forward", custom_response: { status: 204 } },
    });
    for (const answer of [first, repeated, await custom.send('{"empty":2}')]) {
      assert.equal(answer.status, 204);
      assert.equal(answer.headers["content-length"], undefined);
      assert.equal(answer.headers["transfer-encoding"], undefined);
      assert.equal(answer.headers["content-type"], undefined);
    }
  });

  test("a Content-Type that is no media type is no reason to refuse a message", async () => {
    for (const mode of ["pass_through", "store_and_forward"]) {
      const { send, requests } = await scene.source({ source: { mode } });
      const types = ["json", ";", "", "a/b/c", "text/plain text/html", "a/b, c/d", "\u00e9"];
      for (const [at, type] of types.entries()) {
        const answer = await send(JSON.stringify({ at, mode }), { "content-type": type });
        assert.ok(answer.status < 300, `${type}: ${answer.status} ${answer.text}`);
      }
      const outcomes = (await requests()).map(({ outcome }) => outcome);
      assert.deepEqual(
        outcomes,
        types.map(() => "accepted"),
      );
    }
  });

  test("whatever is refused before the gateway reads it is in the request log of its source", async () => {
    const { url, requests } = await scene.source();
    const { pathname: path, host } = new URL(url);
    const close = "Connection: close";
    const line = (target: string, method = "POST"): string => `${method} ${target} HTTP/1.1`;
    const cases: readonly (readonly [
      answer: RegExp,
      cause: string,
      lines: readonly string[],
      body?: string,
    ])[] = [
      [
        /^HTTP\/1.1 417 /,
        "unmet_expectation",
        [line(path), `Host: ${host}`, "Expect: miracles", "Content-Length: 2", close],
        "{}",
      ],
      [
        /^HTTP\/1.1 400 /,
        "malformed_request",
        [line(path), `Host: ${host}`, `Host: ${host}`, "Content-Length: 2", close],
        "{}",
      ],
      [/^HTTP\/1.1 400 /, "malformed_request", [line(path), "Content-Length: 2", close], "{}"],
      [/^HTTP\/1.1 400 /, "malformed_request", [line(path), `Host: ${host}`, "Content-Length: 2, 3"], "{}"],
      [
        /^HTTP\/1.1 431 /,
        "headers_too_large",
        [line(path), `Host: ${host}`, `X-Long: ${"a".repeat(20_000)}`],
      ],
      [
        /^HTTP\/1.1 404 /,
        "unsafe_path",
        [line(`${path}/%zz`), `Host: ${host}`, "Content-Length: 2", close],
        "{}",
      ],
      [
        /^HTTP\/1.1 404 /,
        "unsafe_path",
        [line(`${path}/${"a".repeat(9_000)}`), `Host: ${host}`, "Content-Length: 2", close],
        "{}",
      ],
      [/^HTTP\/1.1 405 /, "method_not_allowed", [line(path, "PROPFIND"), `Host: ${host}`, close]],
      [/^HTTP\/1.1 405 /, "method_not_allowed", [line(path, "QUERY"), `Host: ${host}`, close]],
      [/^HTTP\/1.1 405 /, "method_not_allowed", [line(path, "TRACE"), `Host: ${host}`, close]],
      [
        /^HTTP\/1.1 401 /,
        "missing_header",
        [line(`http://${host}${path}`), `Host: ${host}`, "Content-Length: 2", close],
        "{}",
      ],
    ];
    const expected: string[] = [];
    for (const [answer, cause, lines, body = ""] of cases) {
      assert.match(await sendRaw(lines, body), answer, lines.join("|").slice(0, 200));
      expected.unshift(cause);
      assert.deepEqual(causesOf(await requests()), expected, lines.join("|").slice(0, 200));
    }
  });

  test("a body that ends too early is in the request log", async () => {
    const { url, requests } = await scene.source();
    const { pathname, host, hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    await new Promise<void>((resolve) => {
      socket.write(`POST ${pathname} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 10\r\n\r\n{}`, () =>
        resolve(),
      );
    });
    socket.end();
    for await (const _ of socket) break;
    socket.destroy();
    let rows = await requests();
    while (rows.length === 0) rows = await requests();
    assert.deepEqual([rows[0]?.["rejection_cause"], rows[0]?.["status"]], ["malformed_request", 400]);
  });

  test("no spelling of a path parameter leads a forwarded path out of the webhook's", async () => {
    const { url } = await scene.source({ source: { forward_path: true } });
    const send = (rest: string, headers: SentHeaders = {}) =>
      sendRaw(
        [
          `POST ${new URL(url).pathname}${rest} HTTP/1.1`,
          `Host: ${new URL(url).host}`,
          "Content-Length: 2",
          "Connection: close",
          ...Object.entries({ ...signed("{}"), ...headers }).map(
            ([name, value]) => `${name}: ${String(value)}`,
          ),
        ],
        "{}",
      );
    const unsafe = [
      ...[
        "..",
        "..;",
        "..;x=1",
        "..;/a",
        ".;",
        "..%3b",
        "..%3Bx",
        "%2e%2e;",
        "%2E.;a=b",
        ".%2e%3b",
        "%252e%252e",
      ],
      ...[
        "%252e%252e;",
        "..%253b",
        "%25252e%25252e",
        "..%20",
        "%20..",
        "..%09",
        "..%00",
        "..%0d",
        "a%2f..",
        "a%5c..",
      ],
      ...[
        "%252f",
        "%255c",
        "%ef%bc%8e%ef%bc%8e",
        "%e2%80%a5",
        "%ef%bc%8f",
        "%c0%ae%c0%ae",
        "%u002e%u002e",
        "..\\",
      ],
    ];
    for (const segment of unsafe)
      for (const rest of [`/${segment}`, `/${segment}/admin`, `/a/${segment}/b`]) {
        assert.match(await send(rest), /^HTTP\/1.1 404 /, rest);
      }
    assert.deepEqual(scene.receiver.requests, []);
    for (const rest of ["/a;v=1/b", "/100%25", "/...a", "/a..b;c", "/%C3%A9"]) {
      assert.match(await send(rest), /^HTTP\/1.1 200 /, rest);
      scene.receiver.clear();
    }
  });
});
