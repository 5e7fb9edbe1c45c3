/** The OpenAPI document and the pages, and whether both match the server. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { errorTable } from "../../../src/domain/errors.ts";
import { assertProblem, type Client } from "./client.fixture.ts";
import { type ApiDocument, operationsOf, PublishedSchemas } from "./published-schemas.fixture.ts";
import { tour } from "./tour.fixture.ts";

export function documentsSuite(client: () => Client): void {
  const read = async (): Promise<ApiDocument> =>
    (await client().get("/openapi.json")).body as unknown as ApiDocument;

  test("every reference resolves, and operation ids are unique", async () => {
    const document = await read();
    const text = JSON.stringify(document);
    for (const [, name = ""] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g))
      assert.ok(name in document.components.schemas, name);
    const ids = operationsOf(document).map(({ operation }) => operation.operationId);
    assert.equal(new Set(ids).size, ids.length);
    assert.ok(!text.includes('"~kind"') && !text.includes("x-rule"));
  });

  test("the document uses only standard formats, and lists every status that webhooks distinguish", async () => {
    const { body, text } = await client().get("/openapi.json");
    const formats = new Set([...text.matchAll(/"format":"([^"]+)"/g)].map(([, format]) => format));
    for (const format of formats)
      assert.ok(["date-time", "date", "uuid", "uri"].includes(format ?? ""), String(format));
    for (const method of ["put", "patch"])
      assert.ok("422" in (body["paths"]?.["/v1/webhooks/{id}"]?.[method]?.["responses"] ?? {}), method);
  });

  test("WDS-5 every route that accepts a key documents 429 and its header fields", async () => {
    const document = await read();
    const { headers } = document.components;
    assert.deepEqual(Object.keys(headers), ["Retry-After", "RateLimit-Policy", "RateLimit"]);
    for (const { method, path, operation } of operationsOf(document)) {
      if (operation.security?.length === 0) continue;
      const answer = operation.responses["429"];
      assert.match(answer?.description ?? "", /`rate_limited`/, `${method} ${path}`);
      const refs = Object.entries(answer?.headers ?? {}).map(([name, { $ref }]) => [name, $ref]);
      const expected = Object.keys(headers).map((name) => [name, `#/components/headers/${name}`]);
      assert.deepEqual(refs, expected, `${method} ${path}`);
    }
  });

  test("every documented route exists, rejects callers without a key, and rejects other methods", async () => {
    const document = await read();
    for (const { method, path, operation } of operationsOf(document)) {
      const url = path.replaceAll(/\{\w+\}/g, "0198c3f2-7a4e-7c11-9d3e-5b0a6f1e2d3c");
      const isPublic = operation.security?.length === 0;
      // A callback URL or a link in an email contains its own key. Without a valid key, the response is 404.
      const isCallback = path.endsWith("/verification-callback") || path.startsWith("/notifications/");
      const reply = await client()
        .withKey(null)
        .call(
          method,
          path.endsWith("/verification-callback") ? `${url}?key=wrong` : url,
          method === "GET" ? {} : { body: {} },
        );
      const found = isCallback ? 404 : (sessionStatuses[operation.operationId] ?? 200);
      assert.equal(reply.status, isPublic ? found : 401, `${method} ${path}`);
      // With a different method, a path segment such as `/revoke` may be treated as an ID.
      const matching = Object.entries(document.paths).filter(([one]) =>
        new RegExp(`^${one.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(url),
      );
      const others = ["POST", "PUT", "PATCH", "DELETE"].filter((other) =>
        matching.every(([, methods]) => !(other.toLowerCase() in methods)),
      );
      for (const other of others) {
        assertProblem(await client().call(other, url), { status: 405, code: "method_not_allowed" });
      }
    }
  });

  test("addresses that users type into a browser lead to the dashboard or the documentation", async () => {
    for (const [path, target] of [
      ["/", "/ui/"],
      ["/ui", "/ui/"],
      ["/docs/", "/docs"],
      ["/v1/", "/v1"],
    ] as const) {
      const reply = await client().withKey(null).get(path);
      assert.equal(reply.status, 302, path);
      const location = String(reply.headers.get("location"));
      assert.equal(new URL(location, `http://posthorn.test${path}`).pathname, target);
    }
    const index = await client().withKey(null).get("/v1");
    assert.deepEqual(index.body, {
      service: "posthorn",
      documentation: "/docs",
      openapi: "/openapi.json",
    });
  });

  test("every POST with an API key documents the responses of Idempotency-Key", async () => {
    for (const { method, path, operation } of operationsOf(await read())) {
      if (method !== "POST" || operation.security?.length === 0) continue;
      assert.ok(JSON.stringify(operation).includes('"Idempotency-Key"'), path);
      for (const [status, code] of [
        ["400", "malformed"],
        ["409", "in_progress"],
        ["422", "reused"],
      ] as const) {
        assert.ok(
          operation.responses[status]?.description.includes(`idempotency_key_${code}`),
          `${path} ${status}`,
        );
      }
    }
  });

  test("TS16-102 real responses match the schemas of their routes", async () => {
    const document = await read();
    const checker = new PublishedSchemas(document);
    const answered = new Set<string>();
    for await (const { operationId, reply } of tour(client())) {
      answered.add(operationId);
      checker.check(operationId, reply);
    }
    const all = operationsOf(document).map(({ operation }) => operation.operationId);
    assert.deepEqual(
      all.filter((operationId) => !answered.has(operationId) && !needReceivers.has(operationId)),
      [],
      "operations that the tour leaves out",
    );
  });

  test("errors match the schema of problems", async () => {
    const checker = new PublishedSchemas(await read());
    checker.check("publishEvent", await client().post("/v1/events", { nonsense: 1 }));
    checker.check("publishEvent", await client().withKey(null).post("/v1/events", {}));
    checker.check("getWebhook", await client().get("/v1/webhooks/0198c3f2-7a4e-7c11-9d3e-5b0a6f1e2d3c"));
  });

  test("IDK-4 IDK-7 IDK-13 IDK-28 the uniqueness, format and expiry of keys are published", async () => {
    const { text } = await client().withKey(null).get("/docs/idempotency");
    assert.match(text, /<h2>Scope<\/h2>\s*<p>A key belongs to the API key and the route/);
    assert.match(text, /<h2>Format<\/h2>\s*<p>A structured-field string[^<]*1 to 255 characters/);
    assert.match(text, /<h2>Expiry<\/h2>\s*<p>A response is kept for 24 hours/);
    const refused = await client().post("/v1/events", {}, { headers: { "idempotency-key": '"a' } });
    assert.match(refused.headers.get("link") ?? "", /idempotency>; rel="describedby"/);
  });

  test("the pages are self-contained, and every error code is explained", async () => {
    for (const path of ["/docs", "/docs/errors", "/docs/idempotency"]) {
      const page = await client().withKey(null).get(path);
      assert.equal(page.headers.get("content-type"), "text/html; charset=utf-8");
      const policy = page.headers.get("content-security-policy") ?? "";
      assert.match(policy, /^default-src 'none'; style-src 'sha256-[^']+'/);
      // If the page contains a script, its policy lists the script's hash. Without a script, the policy lists no hash.
      const inline = /<script type="module">(.*?)<\/script>/gs;
      assert.ok(!/<script|src=|<link|@import|url\(/i.test(page.text.replaceAll(inline, "")), path);
      const hashes = [...policy.matchAll(/script-src '(sha256-[^']+)'/g)].map(([, hash]) => hash);
      const scripts = [...page.text.matchAll(inline)].map(
        ([, text = ""]) => `sha256-${createHash("sha256").update(text).digest("base64")}`,
      );
      assert.deepEqual(hashes, scripts, path);
    }
    const errors = (await client().get("/docs/errors")).text;
    for (const [code, { title }] of Object.entries(errorTable)) {
      assert.ok(errors.includes(`id="${code}"`) && errors.includes(title), code);
    }
    assert.equal(errors.match(/<tr id=/g)?.length, Object.keys(errorTable).length);
    const docs = (await client().get("/docs")).text;
    for (const { operation } of operationsOf(await read()))
      assert.ok(docs.includes(`id="${operation.operationId}"`), operation.operationId);
    for (const [, target = ""] of docs.matchAll(/href="#([^"]+)"/g))
      assert.ok(docs.includes(`id="${target}"`), target);
  });

  test("HEAD answers as GET without a body", async () => {
    for (const path of ["/livez", "/docs", "/v1/events"]) {
      const reply = await client().call("HEAD", path);
      assert.equal(reply.status, 200);
      assert.equal(reply.text, "");
    }
  });
}

/** Routes that contact a receiver; portal.browser.test.ts tests them. */
const needReceivers: ReadonlySet<string> = new Set(["checkReceiver"]);

/** Statuses without a session: there is no token, no login and no dashboard page. */
const sessionStatuses: Readonly<Record<string, number>> = {
  login: 400,
  getSession: 401,
  logout: 403,
  redeemPortalCode: 400,
};
