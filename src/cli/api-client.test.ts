import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { suite, test, type TestContext } from "node:test";
import { ApiClient } from "./api-client.ts";
import { CommandFailure } from "./failures.ts";

for (const [url, flag] of [
  ["http://127.0.0.1:8080", ""],
  ["http://127.0.0.1:8080/", ""],
  ["http://127.0.0.1:9000", " --url http://127.0.0.1:9000"],
  ["https://example.com/posthorn/", " --url https://example.com/posthorn"],
] as const) {
  test(`suggested commands for ${url} use ${flag === "" ? "no --url" : flag.trim()}`, () => {
    assert.equal(new ApiClient(url, "key").urlFlag, flag);
  });
}

/** A server that may not be Posthorn. Records the requests it receives. */
async function serve(t: TestContext, answer: RequestListener) {
  const seen: { readonly path: string; readonly key: string | undefined }[] = [];
  const server = createServer((request, response) => {
    seen.push({ path: request.url ?? "", key: request.headers.authorization });
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, seen, client: new ApiClient(url, "canary") };
}

const index = JSON.stringify({ service: "posthorn" });

suite("the key is never sent to a server that is not Posthorn", () => {
  const answers: Readonly<Record<string, RequestListener>> = {
    "an empty 200": (_, response) => response.end(),
    "an empty 204": (_, response) => response.writeHead(204).end(),
    "a page": (_, response) => response.writeHead(200, { "content-type": "text/html" }).end("<p>hello"),
    "other JSON": (_, response) => response.end('{"status":"ok"}'),
    "no object": (_, response) => response.end("null"),
    "a 404 of another kind": (_, response) => response.writeHead(404).end("Cannot GET /v1"),
    "a 500": (_, response) => response.writeHead(500).end(),
  };
  for (const [what, answer] of Object.entries(answers)) {
    test(what, async (t) => {
      const { client, seen, url } = await serve(t, answer);
      await assert.rejects(client.post("/v1/events", { body: {} }), (error) => {
        assert.ok(error instanceof CommandFailure);
        assert.equal(error.message, `${url} is not a Posthorn server`);
        assert.equal(error.status, 1);
        return true;
      });
      assert.deepEqual(seen, [{ path: "/v1", key: undefined }]);
    });
  }

  test("a redirect is reported, not followed", async (t) => {
    const { client, seen } = await serve(t, (_, response) =>
      response.writeHead(301, { location: "https://posthorn.example/v1" }).end(),
    );
    await assert.rejects(client.get("/v1/events"), (error) => {
      assert.ok(error instanceof CommandFailure);
      assert.match(error.message, /redirects to https:\/\/posthorn\.example/);
      return true;
    });
    assert.equal(seen.length, 1);
  });
});

test("a Posthorn server is identified once, then gets the key", async (t) => {
  const { client, seen } = await serve(t, (request, response) =>
    response.end(request.url === "/v1" ? index : '{"data":[]}'),
  );
  await client.get("/v1/events");
  await client.get("/v1/events");
  assert.deepEqual(
    seen.map(({ path, key }) => `${path} ${key ?? "-"}`),
    ["/v1 -", "/v1/events Bearer canary", "/v1/events Bearer canary"],
  );
});

test("an unexpected empty response is an error", async (t) => {
  const { client, url } = await serve(t, (request, response) => {
    if (request.url === "/v1") response.end(index);
    else response.writeHead(request.method === "DELETE" ? 204 : 200).end();
  });
  await assert.rejects(client.get("/v1/events"), {
    message: `${url} responded with 200 without any content`,
  });
  assert.deepEqual(await client.call("DELETE", { path: "/v1/webhooks/1" }), {});
});

test("https to a server without TLS is reported", async (t) => {
  const { url } = await serve(t, (_, response) => response.end(index));
  const client = new ApiClient(url.replace("http:", "https:"), "canary");
  await assert.rejects(client.get("/v1/events"), (error) => {
    assert.ok(error instanceof CommandFailure);
    assert.match(error.message, /does not support TLS/);
    assert.match(error.hints.join("\n"), new RegExp(`--url ${url}`));
    return true;
  });
});
