/** Responses and log entries of the gateway, for any request and any receiver response. */
import assert from "node:assert/strict";
import { createHmac, randomBytes } from "node:crypto";
import { connect } from "node:net";
import { after, before, suite, test } from "node:test";
import { gzipSync } from "node:zlib";
import { createClient } from "../api/client.fixture.ts";
import { GatewayScene } from "./gateway-scene.fixture.ts";
import { type Json, post, type SentHeaders, signed } from "./scene.fixture.ts";

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

suite("edge cases of the gateway", () => {
  const scene = new GatewayScene();
  before(() => scene.start());
  after(() => scene.stop());

  /** Sends the header lines unchanged, followed by the body. Resolves with all bytes received. */
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

  test("responses of a receiver cannot run in the origin of the API, the first time and repeated", async () => {
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

  test("a custom response, a rejection and a challenge are isolated too, at both addresses", async () => {
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

  test("204 and 304 have no Content-Length, on any path through the gateway", async () => {
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

  test("a compressed response reaches the sender complete, or not at all", async () => {
    const { send } = await scene.source();
    const first = randomBytes(20_000).toString("hex");
    const answerWith = (body: Uint8Array) =>
      scene.receiver.script(() => ({
        status: 200,
        headers: { "content-type": "text/plain", "content-encoding": "gzip" },
        body,
      }));
    answerWith(gzipSync(first));
    const whole = await send('{"gzip":1}');
    assert.deepEqual([whole.status, whole.text], [200, first]);
    // Neither a response that expands to megabytes nor a truncated one is passed on.
    answerWith(gzipSync(first + "0".repeat(30_000_000)));
    assert.equal((await send('{"gzip":2}')).status, 502);
    answerWith(gzipSync(first).subarray(0, 10_000));
    const broken = await send('{"gzip":3}');
    assert.ok(!first.startsWith(broken.text), "the beginning alone was passed on as the answer");
  });

  test("a message with an invalid Content-Type is not rejected", async () => {
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

  test("requests rejected before the gateway reads them are in the request log of their source", async () => {
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

  test("address checks of senders are answered if the provider does them, or the source allows it", async () => {
    const token = "Validation: Testing client application reachability for subscription <b>é</b>";
    const look = async (url: string): Promise<readonly unknown[]> => {
      const graph = `${url}?validationToken=${encodeURIComponent(token)}`;
      const answers = [
        await post(url, "", { method: "HEAD" }),
        await post(url, "", { method: "GET" }),
        await post(graph, "", { headers: { "content-type": "text/plain", "content-length": "0" } }),
      ];
      for (const { status, headers, text } of answers)
        if (status === 200) {
          assertIsolated(headers, url);
          assert.ok(
            text === "" || (text === token && headers["content-type"] === "text/plain; charset=utf-8"),
          );
        }
      return answers.map(({ status }) => status);
    };
    const secrets = ["a long random string"];
    const public_url = "https://hooks.example.com/in/x";
    const cases: readonly (readonly [source: Json, statuses: readonly number[]])[] = [
      [{}, [405, 405, 400]],
      [{ verification: { type: "trello", secrets, public_url } }, [200, 405, 400]],
      [{ verification: { type: "mandrill", secrets, public_url } }, [200, 405, 400]],
      [{ verification: { type: "mailchimp", secrets } }, [200, 200, 400]],
      [{ verification: { type: "microsoft_graph", secrets } }, [405, 405, 200]],
      [{ allow_probes: ["head", "get", "validation_token"] }, [200, 200, 200]],
      [{ active: false, verification: { type: "mailchimp", secrets } }, [503, 503, 503]],
    ];
    for (const [source, statuses] of cases) {
      const { url, requests } = await scene.source({ source });
      assert.deepEqual(await look(url), statuses, JSON.stringify(source));
      const outcomes = (await requests()).map(({ outcome }) => outcome);
      assert.equal(
        outcomes.filter((one) => one === "challenge").length,
        statuses.filter((one) => one === 200).length,
      );
      assert.deepEqual(scene.receiver.requests, []);
    }
  });

  test("a signed message is a message, whatever its query, and an ambiguous token is not a check", async () => {
    const { url, send } = await scene.source({ source: { allow_probes: ["validation_token"] } });
    const message = '{"n":1}';
    const tokenUrl = `${url}?validationToken=abc`;
    assert.equal((await post(tokenUrl, message, { headers: signed(message) })).text, "");
    assert.equal(scene.receiver.requests.length, 1);
    assert.equal((await post(tokenUrl, "{}")).text, "abc", "an unsigned body is no message");
    for (const query of [
      "?validationToken=",
      "?validationToken=a&validationToken=b",
      "?validationToken=%0d%0a",
      "?token=a",
    ])
      assert.equal((await post(`${url}${query}`, "")).status, 400, query);
    assert.equal((await post(`${url}?validationToken=${"a".repeat(4_097)}`, "")).status, 400);
    assert.equal((await send('{"n":2}')).status, 200);
  });

  test("messages of Trello, Mandrill, Mailchimp and Microsoft Graph are verified as sent", async () => {
    const secret = "a long random string";
    const public_url = "https://hooks.example.com/in/x";
    const sha1 = (text: string): string => createHmac("sha1", secret).update(text).digest("base64");
    const form = { "content-type": "application/x-www-form-urlencoded" };
    const trello = '{"action":{"id":"1","type":"updateCard"}}';
    const graph = JSON.stringify({ value: [{ clientState: secret, changeType: "updated" }] });
    const cases = [
      ["trello", trello, "", { "x-trello-webhook": sha1(trello + public_url) }, "updateCard"],
      [
        "mandrill",
        "mandrill_events=%5B%5D",
        "",
        { ...form, "x-mandrill-signature": sha1(`${public_url}mandrill_events[]`) },
        "mandrill.events",
      ],
      ["mailchimp", "type=subscribe", `?secret=${encodeURIComponent(secret)}`, form, "mailchimp.audience"],
      ["microsoft_graph", graph, "", { "content-type": "application/json" }, "updated"],
    ] as const;
    for (const [type, body, query, headers, eventType] of cases) {
      const address = ["trello", "mandrill"].includes(type) ? { public_url } : {};
      const { url, requests } = await scene.source({
        source: { verification: { type, secrets: [secret], ...address } },
      });
      assert.equal((await post(url + query, body, { headers })).status, 200, type);
      const wrong = body.replace(secret, "another text");
      const refused = await post(
        url + query.replace("random", "other"),
        type === "trello" ? `${wrong} ` : wrong.replace("%5B", "%7B"),
        { headers },
      );
      assert.equal(refused.status, 401, type);
      const rows = await requests();
      assert.deepEqual(
        rows.map((row) => row["original_type"]),
        [null, eventType],
        type,
      );
      assert.ok(!JSON.stringify(rows).includes("random"), "the secret is not in the log");
    }
  });

  test("headers listed in Connection are never forwarded", async () => {
    const { send } = await scene.source({
      source: {
        forward_headers: ["X-Hop", "X-End"],
        verification: { type: "github", secrets: ["a long random string"] },
      },
    });
    const headers = {
      "connection": "close, X-Hop, x-github-event , Idempotency-Key",
      "x-hop": "1",
      "x-end": "2",
      "x-github-event": "push",
      "x-github-delivery": "d-1",
      "idempotency-key": '"of this hop"',
    };
    assert.equal((await send('{"n":1}', headers)).status, 200);
    const [seen] = scene.receiver.requests;
    assert.deepEqual(
      [
        seen?.headers["x-hop"],
        seen?.headers["x-github-event"],
        seen?.headers["x-end"],
        seen?.headers["x-github-delivery"],
      ],
      [undefined, undefined, "2", "d-1"],
    );
    assert.ok(!JSON.stringify(seen?.rawHeaders).includes("of this hop"));
  });

  test("guessable secrets are rejected when they are set, even in compositions", async () => {
    const weak: readonly (readonly [verification: Json, field: string])[] = [
      [{ type: "github", secrets: ["x"] }, "verification.secrets.0"],
      [{ type: "github", secrets: ["a long random string", "seven_7"] }, "verification.secrets.1"],
      [{ type: "bearer", secrets: ["seven_7"] }, "verification.secrets.0"],
      [
        { type: "any_of", verifiers: [{ type: "slack", secrets: ["short"] }, { type: "none" }] },
        "verification.verifiers.0.secrets.0",
      ],
    ];
    for (const [verification, field] of weak) {
      const made = await scene.admin.post("/v1/sources", { name: "weak", verification });
      assert.equal(made.status, 400, JSON.stringify(verification));
      assert.deepEqual(
        (made.body["errors"] as unknown as Json[]).map((one) => one["field"]),
        [field],
      );
    }
  });

  test("only the operator assigns a party, and a tenant may keep it", async () => {
    await scene.admin.call("PUT", "/v1/tenants/acme", { body: {} });
    const key = await scene.created("/v1/api-keys", { name: "acme", role: "manage", tenant_id: "acme" });
    const tenant = createClient({ baseUrl: scene.running.url ?? "", key: String(key["key"]) });
    const verification = { type: "none" };
    const refused = await tenant.post("/v1/sources", { name: "squatter", party: "stripe", verification });
    assert.equal(refused.status, 400, refused.text);
    assert.match(refused.text, /API key without a tenant/);
    const made = await scene.created("/v1/sources", {
      name: "shop",
      party: "acme_shop",
      verification,
      tenant_id: "acme",
    });
    const path = `/v1/sources/${String(made["source_id"])}`;
    const change = async (body: Json): Promise<number> => (await tenant.call("PATCH", path, { body })).status;
    assert.deepEqual(
      [await change({ party: "stripe" }), await change({ party: "acme_shop", name: "b" })],
      [400, 200],
    );
    assert.deepEqual([await change({ party: null }), await change({ party: "acme_shop" })], [200, 400]);
  });

  test("bookmarks of a tenant are limited, and removing one makes room", async () => {
    const { url, requests } = await scene.source({ source: { verification: { type: "none" } } });
    for (let n = 0; n <= 200; n += 1) assert.equal((await post(url, `{"n":${n}}`)).status, 200);
    const rows = await requests("&limit=200");
    assert.equal(rows.length, 200);
    const mark = async (id: unknown, name: string | null): Promise<readonly unknown[]> => {
      const marked = await scene.admin.call("PUT", `/v1/requests/${String(id)}/bookmark`, { body: { name } });
      return [marked.status, marked.body["code"]];
    };
    const statuses = await Promise.all(
      rows.slice(0, 200).map(({ id }) => mark(id, "kept").then(([status]) => status)),
    );
    assert.deepEqual(new Set(statuses), new Set([200]));
    const extra = await post(url, '{"n":"one more"}');
    assert.equal(extra.status, 200);
    const [newest] = await requests("&limit=1");
    const over = await mark(newest?.["id"], "kept");
    assert.deepEqual(over, [422, "limit_reached"]);
    assert.equal((await mark(rows[0]?.["id"], "renamed"))[0], 200, "one that is there can be renamed");
    assert.equal((await mark(rows[0]?.["id"], null))[0], 200);
    assert.equal((await mark(newest?.["id"], "kept"))[0], 200);
  });

  test("no notation of a path parameter leads a forwarded path out of the webhook's", async () => {
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
      "%252f",
      "%255c",
      "%ef%bc%8e%ef%bc%8e",
      "%e2%80%a5",
      "%ef%bc%8f",
      "%c0%ae%c0%ae",
      "%u002e%u002e",
      "..\\",
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
