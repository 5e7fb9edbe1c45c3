import assert from "node:assert/strict";
import { test } from "node:test";
import { ReceiverError } from "../../src/receiver/receiver-error.ts";
import { endpointWith } from "./endpoint.fixture.ts";
import { textOf } from "./messages.fixture.ts";

test("CEW-2.2-5 processed without a body is 204, with nothing else", async () => {
  const { send, seen } = endpointWith();
  assert.deepEqual(await send(), { status: 204, headers: {}, body: null });
  assert.equal(seen.runs, 1);
});

test("CEW-2.2-4 processed with a body is 200 with its content type", async () => {
  const json = await endpointWith({ handler: () => ({ body: { ok: true } }) }).send();
  assert.deepEqual(json, {
    status: 200,
    headers: { "content-type": "application/json" },
    body: '{"ok":true}',
  });
  const bytes = await endpointWith({
    handler: () => ({ body: new Uint8Array([1, 255]), status: 201 }),
  }).send();
  assert.equal(bytes.status, 201);
  assert.deepEqual(bytes.body, new Uint8Array([1, 255]));
  assert.equal(bytes.headers["content-type"], "application/octet-stream");
});

test("a handler's bare 200 becomes 204", async () => {
  assert.equal((await endpointWith({ handler: () => ({ status: 200 }) }).send()).status, 204);
});

test("TS16-16 statuses that a producer requires replace the usual ones", async () => {
  const statuses = { processed: 200, unauthenticated: 403, duplicate: 208, method_not_allowed: 404 };
  const { send } = endpointWith({ statuses });
  assert.equal((await send()).status, 200);
  assert.equal((await send()).status, 208);
  assert.equal((await send({ headers: { "x-producer": undefined } })).status, 403);
  assert.equal((await send({ method: "GET" })).status, 404);
});

test("CEW-2.2-2 no option causes a redirect", () => {
  for (const status of [301, 308, 199, 600, 204.5]) {
    assert.throws(() => endpointWith({ statuses: { processed: status } }), { code: "misconfigured" });
  }
});

test("CEW-2.2-2 a handler that redirects is an error, and nothing is redirected", async () => {
  for (const status of [300, 301, 302, 303, 304, 307, 308]) {
    const handler = () => ({ status }) as unknown as { readonly status: 200 };
    const answer = await endpointWith({ handler }).send();
    assert.equal(answer.status, 500, String(status));
    assert.equal(answer.headers["location"], undefined);
  }
});

test("EDS-9.2.5-1 CEW-2.2-1 errors are problem details", async () => {
  const answer = await endpointWith({ documentationUrl: "https://docs.example/hooks" }).send({
    method: "PUT",
  });
  assert.equal(answer.status, 405);
  assert.equal(answer.headers["allow"], "POST");
  assert.equal(answer.headers["content-type"], "application/problem+json");
  assert.deepEqual(JSON.parse(textOf(answer)), {
    type: "https://docs.example/hooks#method-not-allowed",
    title: "This method is not supported here",
    status: 405,
    detail: "Messages are delivered by POST.",
  });
});

test("TS16-18 a body that the handler cannot read is 400", async () => {
  const { send, seen } = endpointWith({ handler: ({ json }) => void json() });
  const answer = await send({ body: "{oops" });
  assert.equal(answer.status, 400);
  assert.deepEqual(seen.errors, []);
  assert.equal(
    (await send({ body: new Uint8Array([0xff]), headers: { "idempotency-key": '"b"' } })).status,
    400,
  );
});

test("TS16-18 a handler can report that a message does not match its schema", async () => {
  const handler = (): never => {
    throw new ReceiverError("invalid_message", "order is missing");
  };
  const answer = await endpointWith({ handler }).send();
  assert.equal(answer.status, 400);
  assert.match(textOf(answer), /order is missing/);
});

test("TS16-19 TS16-55 TS16-80 EDS-9.4-6 EDS-11.3-1 EDS-11.3-3 a message that is not authentic is 401 and runs nothing", async () => {
  const { send, seen } = endpointWith();
  const answer = await send({ headers: { "x-producer": undefined } });
  assert.equal(answer.status, 401);
  assert.equal(seen.runs, 0);
  assert.deepEqual(
    seen.incidents.map(({ kind, cause }) => [kind, cause]),
    [["bad_signature", "no_matching_signature"]],
  );
  assert.doesNotMatch(textOf(answer), /producer/, "attackers learn nothing");
});

test("401 requests a bearer token if one is expected", async () => {
  const wrongToken = endpointWith({
    verifier: { verify: () => ({ kind: "rejected", cause: "bad_token", detail: "" }) },
  });
  assert.equal((await wrongToken.send()).headers["www-authenticate"], "Bearer");
  const missing = { headers: { "x-producer": undefined } };
  assert.equal((await endpointWith().send(missing)).headers["www-authenticate"], undefined);
  const expected = await endpointWith({ expectsBearerToken: true }).send(missing);
  assert.equal(expected.headers["www-authenticate"], "Bearer");
});

test("TS16-20 an authentic sender without permission is 403 and runs nothing", async () => {
  const { send, seen } = endpointWith({ authorize: async ({ producer }) => producer === "other" });
  assert.equal((await send()).status, 403);
  assert.equal(seen.runs, 0);
});

test("TS16-21 an unknown path is 404, before any other check", async () => {
  const { send } = endpointWith({ isServed: (path) => path === "/hooks" });
  assert.equal((await send({ url: "https://example.com/other?x=1", method: "GET" })).status, 404);
  assert.equal((await send({ url: "https://example.com/hooks?x=1" })).status, 204);
});

test("CEW-2.2-11 unsupported formats are 415", async () => {
  const { send } = endpointWith();
  for (const type of ["text/plain", "application/xml", "", "application//x+json", undefined]) {
    assert.equal((await send({ headers: { "content-type": type } })).status, 415, String(type));
  }
  assert.equal((await send({ headers: { "content-encoding": "gzip" } })).status, 415);
  const events = await send({ headers: { "content-type": "Application/CloudEvents+JSON; charset=utf-8" } });
  assert.equal(events.status, 204);
  const any = endpointWith({ contentTypes: "any" });
  assert.equal((await any.send({ headers: { "content-type": undefined } })).status, 204);
});

test("a body over the limit is 413", async () => {
  const { send, seen } = endpointWith({ bodyBytesMax: 11 });
  assert.equal((await send({ body: "{  'a':  1 }" })).status, 413);
  assert.equal(seen.runs, 0);
  assert.equal((await send()).status, 204);
});

test("TS16-22 CEW-2.2-9 above the rate it is 429 with Retry-After, separately for each producer", async () => {
  const { send, seen } = endpointWith({ rateLimit: { requestsPerMinute: 60, burst: 2 } });
  const key = (text: string) => ({ "idempotency-key": `"${text}"` });
  for (const text of ["a", "b"]) assert.equal((await send({ headers: key(text) })).status, 204);
  const refused = await send({ headers: key("c") });
  assert.equal(refused.status, 429);
  assert.equal(refused.headers["retry-after"], "1");
  assert.equal((await send({ headers: { ...key("d"), "x-producer": "other" } })).status, 204);
  seen.now += 1_000;
  assert.equal((await send({ headers: key("e") })).status, 204);
});

test("attackers do not use up the rate of a producer", async () => {
  const { send } = endpointWith({ rateLimit: { requestsPerMinute: 1, burst: 1 } });
  for (let count = 0; count < 5; count += 1) {
    assert.equal((await send({ headers: { "x-producer": undefined } })).status, 401);
  }
  assert.equal((await send()).status, 204);
});

test("EDS-6.3-2 EDS-9.5-1 TS16-109 overload is 503 with Retry-After", async () => {
  const asked = await endpointWith({ overload: { isOverloaded: () => true, retryAfterSeconds: 7 } }).send();
  assert.deepEqual([asked.status, asked.headers["retry-after"]], [503, "7"]);

  const { promise, resolve } = Promise.withResolvers<undefined>();
  const { send } = endpointWith({ overload: { inFlightMax: 1 }, handler: () => promise });
  const first = send();
  const second = await send({ headers: { "idempotency-key": '"key-2"' } });
  assert.deepEqual([second.status, second.headers["retry-after"]], [503, "30"]);
  resolve(undefined);
  assert.equal((await first).status, 204);
  assert.equal((await send()).status, 204);
});

test("TS16-23 a handler that throws is 500, and the response does not say why", async () => {
  const handler = (): never => {
    throw new Error("password in connection string");
  };
  const { send, seen } = endpointWith({ handler });
  const answer = await send();
  assert.equal(answer.status, 500);
  assert.doesNotMatch(textOf(answer), /password/);
  assert.match(String((seen.errors[0] as ReceiverError).cause), /password/);
});

test("a response that a handler must not give is 500", async () => {
  for (const returned of [
    { status: 302 },
    { status: 204, body: "x" },
    200,
    null,
    { contentType: "a\r\nb", body: "" },
  ]) {
    const { send } = endpointWith({ handler: () => returned as never });
    assert.equal((await send()).status, 500, JSON.stringify(returned));
  }
});

test("a handler's own rejection is sent as problem details, 429 and 503 with Retry-After", async () => {
  for (const status of [400, 403, 404, 409, 410, 413, 415, 422, 429, 500, 503] as const) {
    const answer = await endpointWith({ handler: () => ({ status }) }).send();
    assert.equal(answer.status, status);
    assert.equal((JSON.parse(textOf(answer)) as { status: number }).status, status);
    assert.equal(answer.headers["retry-after"], [429, 503].includes(status) ? "30" : undefined);
  }
  const told = await endpointWith({ handler: () => ({ status: 429, retryAfterSeconds: 1.2 }) }).send();
  assert.equal(told.headers["retry-after"], "2");
});

test("CEW-2.2-7 a retired endpoint is 410 from then on", async () => {
  const { send, receiver } = endpointWith();
  assert.equal((await send()).status, 204);
  receiver.retire();
  for (const method of ["POST", "OPTIONS", "GET"]) assert.equal((await send({ method })).status, 410);
});

test("CEW-3.2-4 success is private to caches when the token came in the query", async () => {
  const { send } = endpointWith();
  const headersOf = async (changes: object) => (await send(changes)).headers["cache-control"];
  assert.equal(await headersOf({ url: "/hooks?a=1&access_token=secret" }), "private");
  assert.equal(await headersOf({ url: "/hooks?a=1" }), undefined);
  assert.equal(await headersOf({ url: "/hooks?access_token=secret", method: "GET" }), undefined);
});

test("hooks that throw change nothing", async () => {
  const fail = (): never => {
    throw new Error("hook");
  };
  const { send } = endpointWith({ onError: fail, onSecurityIncident: fail });
  assert.equal((await send({ headers: { "x-producer": undefined } })).status, 401);
});
