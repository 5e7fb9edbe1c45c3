/** The dashboard over HTTP: how it is served, who gets a session, and what a session may do. */
import assert from "node:assert/strict";
import { request } from "node:http";
import { after, before, suite, test } from "node:test";
import type { ApiOptions, DashboardFile } from "../../src/http/server.ts";
import { Sessions } from "../../src/http/dashboard-sessions.ts";
import { assertProblem, createClient, type Reply } from "../scenarios/api/client.fixture.ts";
import { openStandIn, type StandIn } from "./stand-in/open.fixture.ts";

const fileOf = (contentType: string, text: string): DashboardFile => ({
  contentType,
  body: Buffer.from(text),
  encodings: contentType === "text/html" ? {} : { gzip: Buffer.from("gzipped"), br: Buffer.from("brotli") },
});

const files = new Map([
  ["index.html", fileOf("text/html", '<script src="./assets/app-1.js"></script>')],
  ["assets/app-1.js", fileOf("text/javascript", "1;")],
]);

function dashboardOf(options: ApiOptions, load = async () => files): Partial<ApiOptions> {
  const { secretBox, services, clock, random } = options;
  const sessions = new Sessions({ secretBox, apiKeys: services.apiKeys, clock, random });
  return { dashboard: { sessions, version: "1.2.3", files: load }, basePath: "/hooks" };
}

suite("the dashboard over HTTP", () => {
  let standIn: StandIn;
  before(async () => {
    standIn = await openStandIn((options) => dashboardOf(options));
  });
  after(() => standIn.close());

  const client = (key: string | null = null) => createClient({ baseUrl: standIn.baseUrl, key });
  const login = (body: object, headers: Record<string, string> = {}) =>
    client().post("/ui/session", body, { headers });
  const cookieOf = (reply: Reply) => (reply.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
  const own = { "x-posthorn-ui": "1", "sec-fetch-site": "same-origin" };

  test("the addresses of all pages return the document, which finds its files at any depth", async () => {
    assert.equal((await client().get("/")).headers.get("location"), "ui/");
    assert.equal((await client().get("/ui")).headers.get("location"), "ui/");
    for (const path of ["/hooks", "/hooks/", "/hooks?a=b", "/hooks/ui"]) {
      const location = (await client().get(path)).headers.get("location") ?? "";
      assert.equal(new URL(location, `http://posthorn.test${path}`).pathname, "/hooks/ui/", path);
    }
    assert.equal((await client().get("/hooksui/")).status, 404);
    for (const [path, prefix] of [
      ["/ui/", "./"],
      ["/ui/deliveries?status=failed", "./"],
      ["/ui/deliveries/1", "../"],
      ["/hooks/ui/a/b/c", "../../"],
    ] as const) {
      const { status, text, headers } = await client().get(path);
      assert.equal(status, 200, path);
      assert.equal(text, `<script src="${prefix}assets/app-1.js"></script>`, path);
      assert.equal(headers.get("cache-control"), "no-store");
      const policy = headers.get("content-security-policy") ?? "";
      for (const part of [
        "default-src 'none'",
        "script-src 'self'",
        "trusted-types 'none'",
        "frame-ancestors 'none'",
      ])
        assert.ok(policy.includes(part), part);
      assert.ok(!policy.includes("unsafe"));
      assert.equal(headers.get("x-content-type-options"), "nosniff");
      assert.equal(headers.get("cross-origin-opener-policy"), "same-origin");
    }
    assert.equal((await client().get("/docs")).status, 200, "the reference stays");
  });

  test("files are cached by browsers forever and compressed if accepted; unknown files are 404", async () => {
    const asset = (encodings: string, method = "GET") =>
      plainRequest(`${standIn.baseUrl}/ui/assets/app-1.js`, { method, encodings });
    const brotli = await asset("gzip, deflate, br");
    assert.deepEqual([brotli.text, brotli.headers["content-encoding"]], ["brotli", "br"]);
    assert.match(brotli.headers["cache-control"] ?? "", /immutable/);
    assert.equal((await asset("gzip, br;q=0")).text, "gzipped");
    assert.equal((await asset("identity")).text, "1;");
    assert.deepEqual([(await asset("br", "HEAD")).text, (await asset("br", "HEAD")).status], ["", 200]);
    for (const path of ["/ui/assets/none.js", "/ui/assets/%2e%2e%2findex.html", "/ui/assets/"])
      assertProblem(await client().get(path), { status: 404, code: "not_found" });
  });

  test("if the dashboard cannot be shown, the page says why, and the API still works", async () => {
    const broken = await openStandIn((options) =>
      dashboardOf(options, async () => {
        throw new Error("no bundler <here>");
      }),
    );
    const { status, text } = await createClient({ baseUrl: broken.baseUrl, key: null }).get("/ui/");
    assert.equal(status, 503);
    assert.ok(text.includes("no bundler &#60;here&#62;"));
    await broken.close();
  });

  test("a key opens a session with exactly the rights of that key", async () => {
    const readKey = await client(standIn.adminKey).keyFor("read", "acme");
    const opened = await login({ key: readKey });
    assert.equal(opened.status, 200);
    assert.deepEqual([opened.body["role"], opened.body["tenant_id"]], ["read", "acme"]);
    const attributes = opened.headers.get("set-cookie") ?? "";
    assert.match(
      attributes,
      /^posthorn-[0-9a-f]{8}=[\w-]+; Path=\/; HttpOnly; SameSite=Strict; Max-Age=4\d{4}$/,
    );
    assert.ok(!attributes.includes(readKey));
    const cookie = cookieOf(opened);
    const listed = await client().get("/v1/webhooks", { headers: { cookie } });
    assert.equal(listed.status, 200);
    assert.equal(listed.headers.get("cache-control"), "no-store");
    assertProblem(await client().get("/v1/tenants", { headers: { cookie } }), {
      status: 403,
      code: "forbidden",
    });
    const refused = await client().post("/v1/webhooks", {}, { headers: { cookie, ...own } });
    assertProblem(refused, { status: 403, code: "forbidden" });
    assert.equal((await client().get("/ui/session", { headers: { cookie } })).body["version"], "1.2.3");
    assertProblem(await client().get("/ui/session"), { status: 401, code: "unauthenticated" });
  });

  test("two deployments on one host have separate sessions", async () => {
    const other = await openStandIn((options) => {
      const secretBox = { ...options.secretBox, digest: (text: string) => `other ${text}` };
      const { services, clock, random } = options;
      const sessions = new Sessions({ secretBox, apiKeys: services.apiKeys, clock, random });
      return { dashboard: { sessions, version: "1.2.3", files: async () => files } };
    });
    try {
      const there = createClient({ baseUrl: other.baseUrl, key: null });
      const cookies = [
        cookieOf(await login({ key: standIn.adminKey })),
        cookieOf(await there.post("/ui/session", { key: other.adminKey })),
      ];
      // Browsers send both cookies, because cookies ignore ports. If the cookies had the same name, only the later one
      // would be kept.
      const names = new Set(cookies.map((cookie) => cookie.split("=", 1)[0]));
      assert.equal(names.size, 2);
      const headers = { cookie: cookies.join("; ") };
      assert.equal((await client().get("/v1/webhooks", { headers })).status, 200);
      assert.equal((await there.get("/v1/webhooks", { headers })).status, 200);
    } finally {
      await other.close();
    }
  });

  test("below a base path every returned link includes it", async () => {
    const below = (path: string) => `/hooks${path}`;
    const document = JSON.parse((await client().get(below("/openapi.json"))).text) as {
      readonly servers: unknown;
    };
    assert.deepEqual(document.servers, [{ url: "/hooks" }]);
    assert.deepEqual((await client().get(below("/v1"))).body, {
      service: "posthorn",
      documentation: "/hooks/docs",
      openapi: "/hooks/openapi.json",
    });
    for (const page of ["/docs", "/docs/errors", "/docs/idempotency"]) {
      const { text } = await client().get(below(page));
      for (const [, link = ""] of text.matchAll(/(?:href|src|action)="([^"#]+)"/g)) {
        const { pathname, host } = new URL(link, `http://posthorn.test${below(page)}`);
        if (host === "posthorn.test") assert.ok(pathname.startsWith("/hooks/"), `${page}: ${link}`);
      }
    }
    const admin = createClient({ baseUrl: standIn.baseUrl, key: standIn.adminKey });
    const batch = await admin.post(below("/v1/events/batch"), { events: [{ event_type: "" }] });
    const results = batch.body["results"] as unknown as readonly {
      readonly error: { readonly type: string };
    }[];
    const livez = `${standIn.baseUrl}/livez`;
    const expectation = await plainRequest(livez, { method: "GET", headers: { expect: "miracles" } });
    const typeOf = (text: string) => (JSON.parse(text) as { readonly type: string }).type;
    const types = [
      (await client().get(below("/nothing"))).body["type"],
      (await client().get(below("/v1/webhooks"))).body["type"],
      results[0]?.error.type,
      typeOf((await client().get(below("/v1/nothing"))).text),
      typeOf(expectation.text),
    ];
    for (const type of types) assert.match(JSON.stringify(type), /^"\/hooks\/docs\/errors#/);
    const malformed = await admin.post(below("/v1/events"), {}, { headers: { "idempotency-key": '"' } });
    assert.equal(malformed.body["type"], "/hooks/docs/idempotency");
    assert.match(malformed.headers.get("link") ?? "", /^<\/hooks\/docs\/idempotency>/);
  });

  test("behind TLS the cookie is limited to the host; over plain http from another machine there is no cookie", async () => {
    const viaProxy = { host: "hooks.example.com", origin: "https://hooks.example.com" };
    const body = JSON.stringify({ key: standIn.adminKey });
    const url = `${standIn.baseUrl}/ui/session`;
    const opened = await plainRequest(url, { method: "POST", body, headers: viaProxy });
    assert.match(String(opened.headers["set-cookie"]), /^__Host-posthorn-[0-9a-f]{8}=[\w-]+; .*; Secure$/);
    const plain = { host: "10.0.0.3:8080", origin: "http://10.0.0.3:8080" };
    const refused = await plainRequest(url, { method: "POST", body, headers: plain });
    assert.deepEqual([refused.status, refused.headers["set-cookie"]], [400, undefined]);
    // Without the prefix, a host in the same domain could have set the cookie.
    const [cookie = ""] = String(opened.headers["set-cookie"]).replace("__Host-", "").split(";");
    const tossed = await plainRequest(`${standIn.baseUrl}/v1/webhooks`, {
      method: "GET",
      headers: { ...viaProxy, cookie },
    });
    assert.equal(tossed.status, 401);
  });

  test("a session can change something only from a page of this server", async () => {
    const cookie = cookieOf(await login({ key: standIn.adminKey }));
    const publish = (headers: Record<string, string>) =>
      client().post("/v1/events", { event_type: "a.b", data: { n: 1 } }, { headers: { cookie, ...headers } });
    assert.equal((await publish(own)).status, 202);
    for (const headers of [
      {},
      { "x-posthorn-ui": "1" },
      { "sec-fetch-site": "same-origin" },
      { "x-posthorn-ui": "1", "sec-fetch-site": "cross-site" },
      { "x-posthorn-ui": "1", "origin": "https://evil.example" },
    ] as Record<string, string>[])
      assertProblem(await publish(headers), { status: 403, code: "forbidden" });
    // A key takes precedence over the cookie.
    assert.equal((await publish({ authorization: `Bearer ${standIn.adminKey}` })).status, 202);
    assertProblem(await publish({ ...own, authorization: "Bearer wrong" }), {
      status: 401,
      code: "unauthenticated",
    });
    assertProblem(await login({ key: standIn.adminKey }, { origin: "https://evil.example" }), {
      status: 403,
      code: "forbidden",
    });
  });

  test("logging out ends the session, even for a copied cookie; so does revoking its key", async () => {
    const cookie = cookieOf(await login({ key: standIn.adminKey }));
    const call = (method: string, path: string, headers: Record<string, string>) =>
      client().call(method, path, { headers });
    assertProblem(await call("DELETE", "/ui/session", { cookie }), { status: 403, code: "forbidden" });
    const left = await call("DELETE", "/ui/session", { cookie, ...own });
    assert.equal(left.status, 204);
    assert.match(left.headers.get("set-cookie") ?? "", /^posthorn-[0-9a-f]{8}=; .*Max-Age=0/);
    assertProblem(await call("GET", "/v1/webhooks", { cookie }), { status: 401, code: "unauthenticated" });

    const made = await client(standIn.adminKey).post("/v1/api-keys", {
      name: "x",
      role: "read",
      tenant_id: "acme",
    });
    const held = cookieOf(await login({ key: made.body["key"] }));
    assert.equal((await call("GET", "/v1/webhooks", { cookie: held })).status, 200);
    await client(standIn.adminKey).call("DELETE", `/v1/api-keys/${made.body["id"] as unknown as string}`);
    assertProblem(await call("GET", "/v1/webhooks", { cookie: held }), {
      status: 401,
      code: "unauthenticated",
    });
  });

  test("a code is created by a key, not by a session, and opens one session of that key", async () => {
    const manageKey = await client(standIn.adminKey).keyFor("manage", "acme");
    const made = await client(manageKey).post("/ui/login-codes");
    assert.equal(made.status, 201);
    assert.equal(made.body["path"], `ui/#c=${made.body["code"] as unknown as string}`);
    const opened = await login({ code: made.body["code"] });
    assert.equal(opened.body["role"], "manage");
    assertProblem(await login({ code: made.body["code"] }), { status: 401, code: "unauthenticated" });
    const cookie = cookieOf(opened);
    const refused = await client().post("/ui/login-codes", {}, { headers: { cookie, ...own } });
    assertProblem(refused, { status: 403, code: "forbidden" });
    assertProblem(await login({ key: "a", code: "b" }), { status: 400, code: "invalid_request" });
    assertProblem(await login({}), { status: 400, code: "invalid_request" });
  });

  test("five wrong logins per minute are allowed for an address, and a correct one still succeeds", async () => {
    const fresh = await openStandIn((options) => dashboardOf(options));
    const knock = (key: string) =>
      createClient({ baseUrl: fresh.baseUrl, key: null }).post("/ui/session", { key });
    for (let count = 0; count < 5; count += 1)
      assertProblem(await knock("wrong"), { status: 401, code: "unauthenticated" });
    const limited = await knock("wrong");
    assertProblem(limited, { status: 429, code: "rate_limited" });
    assert.ok(Number(limited.headers.get("retry-after")) > 0);
    assert.equal((await knock(fresh.adminKey)).status, 200);
    await fresh.close();
  });

  test("if disabled, no part of it is served, and a cookie has no effect", async () => {
    const off = await openStandIn(() => ({ dashboard: null }));
    const plain = createClient({ baseUrl: off.baseUrl, key: null });
    assert.equal((await plain.get("/")).headers.get("location"), "docs");
    for (const path of ["/ui", "/ui/", "/ui/session"])
      assert.equal((await plain.get(path)).status, 404, path);
    const cookie = cookieOf(await login({ key: standIn.adminKey }));
    assertProblem(await plain.get("/v1/webhooks", { headers: { cookie } }), {
      status: 401,
      code: "unauthenticated",
    });
    await off.close();
  });
});

interface PlainReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
}

/** A request with the required `Host` header and without the headers that `fetch` adds. */
function plainRequest(
  url: string,
  options: {
    readonly method: string;
    readonly encodings?: string;
    readonly body?: string;
    readonly headers?: Readonly<Record<string, string>>;
  },
): Promise<PlainReply> {
  const { method, encodings = "identity", body, headers = {} } = options;
  const { promise, resolve, reject } = Promise.withResolvers<PlainReply>();
  const sent = request(url, {
    method,
    headers: {
      "accept-encoding": encodings,
      ...(body !== undefined && {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
      }),
      ...headers,
    },
  });
  sent.once("error", reject);
  sent.once("response", (response) => {
    let text = "";
    response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    response.once("end", () => {
      const fields = Object.entries(response.headers).map(([name, value]) => [name, String(value)]);
      resolve({ status: response.statusCode ?? 0, headers: Object.fromEntries(fields), text });
    });
  });
  sent.end(body);
  return promise;
}
