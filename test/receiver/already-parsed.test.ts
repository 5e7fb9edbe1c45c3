import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { fastify } from "fastify";
import { Hono } from "hono";
import { expressHandler } from "../../src/receiver/frameworks/express.ts";
import { fastifyReceiver } from "../../src/receiver/frameworks/fastify.ts";
import { fetchHandler } from "../../src/receiver/frameworks/fetch.ts";
import { honoHandler } from "../../src/receiver/frameworks/hono.ts";
import { ReceiverError } from "../../src/receiver/receiver-error.ts";
import { endpointWith } from "./endpoint.fixture.ts";
import { importExpress, listen, listenFetch, type RunningServer } from "./frameworks.fixture.ts";
import { nowMs } from "./messages.fixture.ts";

const post = ({ url }: RunningServer, path: string, changes: Record<string, string> = {}) =>
  fetch(url + path, {
    method: "POST",
    body: '{"order":1}',
    headers: {
      "content-type": "application/json",
      "idempotency-key": '"key-1"',
      "x-producer": "shop",
      "x-time": String(nowMs / 1_000),
      ...changes,
    },
  });

function assertAlreadyParsed(error: unknown, remedy: RegExp): void {
  assert.ok(error instanceof ReceiverError, String(error));
  assert.equal(error.code, "body_already_parsed");
  assert.match(error.message, remedy);
}

for (const version of ["express", "express4"] as const) {
  test(`${version}: behind express.json() the error shows the remedy, and the remedies work`, async (t) => {
    const express = await importExpress(version);
    const { receiver, seen } = endpointWith({ contentTypes: "any" });
    const errors: unknown[] = [];
    const app = express();
    app.all("/before", expressHandler(receiver));
    app.all("/raw", express.raw({ type: () => true }), expressHandler(receiver));
    app.use(express.json());
    app.all("/behind", expressHandler(receiver));
    app.all("/kept", (request: { rawBody?: Uint8Array }, response: ServerResponse, next: () => void) => {
      request.rawBody = new TextEncoder().encode('{"kept":1}');
      expressHandler(receiver)(request as never, response, next);
    });
    app.use(
      (error: unknown, _request: unknown, response: { sendStatus(status: number): void }, _next: unknown) => {
        errors.push(error);
        response.sendStatus((error as ReceiverError).status);
      },
    );
    const server = await listen(app);
    t.after(() => server.close());

    assert.equal((await post(server, "/behind")).status, 500);
    assertAlreadyParsed(
      errors[0],
      /app\.all\("\/webhooks\/posthorn", expressHandler\(receiver\)\);\n {2}app\.use\(express\.json\(\)\);/,
    );
    assert.equal((await post(server, "/before")).status, 204);
    assert.equal((await post(server, "/raw")).status, 204);
    // A parser for other media types has no effect.
    assert.equal((await post(server, "/behind", { "content-type": "text/csv" })).status, 204);
    assert.equal((await post(server, "/kept")).status, 204);
    assert.equal(seen.runs, 4);
  });
}

test("hono: behind middleware that reads the body the error shows the remedy", async (t) => {
  const { receiver } = endpointWith();
  const errors: unknown[] = [];
  const app = new Hono();
  app.all("/before", honoHandler(receiver));
  app.use(async ({ req }, next) => {
    await req.json();
    await next();
  });
  app.all("/behind", honoHandler(receiver));
  app.onError((error, context) => {
    errors.push(error);
    return context.body(null, 500);
  });
  const server = await listenFetch((request) => app.fetch(request));
  t.after(() => server.close());
  assert.equal((await post(server, "/behind")).status, 500);
  assertAlreadyParsed(errors[0], /app\.all\("\/webhooks\/posthorn", honoHandler\(receiver\)\);/);
  assert.equal((await post(server, "/before")).status, 204);
});

test("fetch: a used request is rejected with the remedy, and its clone is not", async () => {
  const { receiver } = endpointWith();
  const handle = fetchHandler(receiver);
  const headers = { "content-type": "application/json", "idempotency-key": '"a"', "x-producer": "shop" };
  const request = new Request("https://example.com/hooks", { method: "POST", body: "{}", headers });
  const clone = request.clone();
  await request.text();
  await assert.rejects(handle(request), (error) => {
    assertAlreadyParsed(error, /handle\(request\.clone\(\)\)/);
    return true;
  });
  assert.equal((await handle(clone)).status, 204);
});

test("fastify: the rest of the application keeps its parsers, and a hook that reads first is reported", async (t) => {
  const { receiver } = endpointWith();
  const errors: unknown[] = [];
  const app = fastify();
  app.addHook("onRequest", async ({ raw, headers }) => {
    if (headers["x-read"] !== undefined) for await (const _ of raw);
  });
  app.setErrorHandler((error, _request, reply) => {
    errors.push(error);
    return reply.code(500).send();
  });
  await app.register(fastifyReceiver, { path: "/hooks", receiver });
  app.post("/json", async ({ body }) => ({ body }));
  const url = await app.listen({ port: 0, host: "127.0.0.1" });
  t.after(() => app.close());
  const server = { url, close: () => app.close() };
  assert.deepEqual(await (await post(server, "/json")).json(), { body: { order: 1 } });
  assert.equal((await post(server, "/hooks")).status, 204);
  assert.equal((await post(server, "/hooks", { "x-read": "1" })).status, 500);
  assertAlreadyParsed(errors[0], /request\.raw/);
});
