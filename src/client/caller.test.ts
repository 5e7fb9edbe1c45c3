import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { parseKeyHeader } from "../domain/http/idempotency-key.ts";
import { Caller } from "./caller.ts";
import { callerWith, json, problem } from "./caller.fixture.ts";
import { ApiError, UnansweredError, UnexpectedAnswerError } from "./client-error.ts";

const broken = new TypeError("fetch failed", { cause: new Error("read ECONNRESET") });
const post = { path: "/v1/events", body: { event_type: "a.b", data: {} } };

suite("keys of calls", () => {
  test("IDK-2 IDK-12 every POST has its own key, as a quoted string, and no other method has one", async () => {
    const { caller, seen } = callerWith([json({})]);
    for (const method of ["POST", "POST", "GET", "PUT", "PATCH", "DELETE"]) await caller.call(method, post);
    const [first, second, ...others] = seen.map(({ headers }) => headers.get("idempotency-key"));
    for (const key of [first, second]) {
      const parsed = parseKeyHeader(key ?? "");
      assert.ok(parsed.kind === "ok" && parsed.form === "string", String(key));
      assert.match(parsed.key, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    }
    assert.notEqual(first, second);
    assert.deepEqual(others, [null, null, null, null]);
  });

  test("IDK-5 on pages without TLS, where randomUUID is missing, keys are still random", async (t) => {
    const own = crypto.randomUUID.bind(crypto);
    Object.defineProperty(crypto, "randomUUID", { value: undefined, configurable: true });
    t.after(() => Object.defineProperty(crypto, "randomUUID", { value: own, configurable: true }));
    const { caller, seen } = callerWith([json({})]);
    await caller.call("POST", post);
    assert.match(seen[0]?.headers.get("idempotency-key") ?? "", /^"[0-9a-f]{32}"$/);
  });

  test("a key that the server's published format does not allow is rejected before sending", async () => {
    const { caller, seen } = callerWith([json({})]);
    for (const idempotencyKey of ["", "é", "a\nb", "x".repeat(256)])
      await assert.rejects(caller.call("POST", { ...post, idempotencyKey }), {
        name: "UnserializableKeyError",
      });
    assert.equal(seen.length, 0);
    await caller.call("POST", { ...post, idempotencyKey: 'a"b' });
    assert.equal(seen[0]?.headers.get("idempotency-key"), '"a\\"b"');
  });

  test("IDK-3 a repeat has the same key, method and body, byte for byte", async () => {
    const { caller, seen } = callerWith([broken, problem(503, "unavailable"), json({ id: "1" })]);
    assert.deepEqual(await caller.call("POST", post), { id: "1" });
    assert.equal(seen.length, 3);
    const sent = seen.map(
      ({ method, body, headers }) => `${method} ${headers.get("idempotency-key") ?? ""} ${body}`,
    );
    assert.equal(new Set(sent).size, 1);
  });
});

suite("retried calls", () => {
  for (const code of ["idempotency_key_in_progress", "event_in_progress"]) {
    test(`IDK-25 409 ${code} is temporary: the same request is repeated`, async () => {
      const { caller, seen } = callerWith([problem(409, code), json({ id: "1" })]);
      await caller.call("POST", post);
      assert.equal(seen.length, 2);
    });
  }

  for (const [status, code] of [
    [422, "idempotency_key_reused"],
    [422, "event_key_reused"],
    [409, "conflict"],
    [400, "invalid_request"],
    [401, "unauthenticated"],
    [403, "forbidden"],
    [404, "not_found"],
    [413, "payload_too_large"],
  ] as const) {
    test(`IDK-25 IDK-26 ${status} ${code} is permanent: the request must be fixed`, async () => {
      const { caller, seen, slept } = callerWith([problem(status, code)]);
      const error = await caller.call("POST", post).catch((thrown: unknown) => thrown);
      assert.ok(error instanceof ApiError);
      assert.deepEqual([error.code, error.status, error.message], [code, status, `no: ${code}`]);
      assert.deepEqual([seen.length, slept.length, error.call.attempts], [1, 0, 1]);
      assert.equal(`"${error.call.idempotencyKey ?? ""}"`, seen[0]?.headers.get("idempotency-key"));
    });
  }

  for (const status of [408, 429, 500, 502, 503, 504]) {
    test(`IDK-26 ${status} is retried with doubled waits, regardless of which server responded`, async () => {
      for (const reply of [problem(status, "unavailable"), new Response("<p>", { status })]) {
        const { caller, seen, slept } = callerWith([reply]);
        await assert.rejects(caller.call("POST", post), { name: /ApiError|UnexpectedAnswerError/ });
        assert.deepEqual([seen.length, slept], [4, [250, 500, 1_000]]);
      }
    });
  }

  test("Retry-After is respected, and a wait that is too long ends the call", async () => {
    const limited = (seconds: string) => problem(429, "rate_limited", { "retry-after": seconds });
    const patient = callerWith([limited("7"), json({})]);
    await patient.caller.call("GET", { path: "/v1/events" });
    assert.deepEqual(patient.slept, [7_000]);
    const dated = callerWith([limited(new Date(1_800_000_009_000).toUTCString()), json({})]);
    await dated.caller.call("GET", { path: "/v1/events" });
    assert.deepEqual(dated.slept, [9_000]);
    const { caller, slept } = callerWith([limited("61")]);
    await assert.rejects(caller.call("GET", { path: "/v1/events" }), {
      code: "rate_limited",
      retryAfterSeconds: 61,
    });
    assert.deepEqual(slept, []);
  });

  test("the application can disable some or all retries", async () => {
    for (const retry of [false, { attemptsMax: 1 }, { mayRetry: () => false }] as const) {
      const { caller, seen } = callerWith([broken], { retry });
      await assert.rejects(caller.call("POST", post), UnansweredError);
      assert.equal(seen.length, 1);
    }
  });

  test("a retried deletion succeeds if the resource is already gone", async () => {
    const { caller } = callerWith([broken, problem(404, "not_found")]);
    assert.equal(await caller.call("DELETE", { path: "/v1/webhooks/1" }), undefined);
    const other = callerWith([problem(404, "not_found")]);
    await assert.rejects(other.caller.call("DELETE", { path: "/v1/webhooks/1" }), { code: "not_found" });
  });
});

suite("ended calls", () => {
  test("an abort ends the call with its reason, both during and between requests", async () => {
    const reason = new Error("not needed any more");
    const stop = new AbortController();
    const { caller, seen } = callerWith([
      () => {
        stop.abort(reason);
        throw new DOMException("aborted", "AbortError");
      },
    ]);
    await assert.rejects(caller.call("POST", { ...post, signal: stop.signal }), reason);
    await assert.rejects(caller.call("POST", { ...post, signal: stop.signal }), reason);
    assert.equal(seen.length, 1);
  });

  test("a request that times out is repeated with its key, and finally reported as a timeout", async () => {
    const keys: (string | null)[] = [];
    const never: typeof fetch = (_, init) => {
      keys.push(new Headers(init?.headers).get("idempotency-key"));
      return new Promise((_resolve, reject) => {
        init?.signal?.addEventListener("abort", () => reject(init.signal?.reason as Error));
      });
    };
    const retry = { attemptsMax: 2, delayMsMin: 1 };
    const caller = new Caller({ url: "https://a.example", key: "k", timeoutMs: 1, fetch: never, retry });
    await assert.rejects(caller.call("POST", post), { name: "UnansweredError", reason: "timeout" });
    assert.equal(keys.length, 2);
    assert.equal(new Set(keys).size, 1);
  });

  test("a redirect is an error, because the key goes to one server only", async () => {
    const moved = new Response(null, { status: 307, headers: { location: "https://evil.example/" } });
    const { caller, seen } = callerWith([moved]);
    const error = await caller.call("GET", { path: "/v1/me" }).catch((thrown: unknown) => thrown);
    assert.ok(error instanceof UnexpectedAnswerError);
    assert.deepEqual([error.status, error.location, seen.length], [307, "https://evil.example/", 1]);
  });

  test("a response that is not JSON is an error that names the server", async () => {
    const { caller } = callerWith([new Response("<p>hello", { status: 200 })]);
    await assert.rejects(caller.call("GET", { path: "/v1/me" }), {
      name: "UnexpectedAnswerError",
      message: "https://hooks.example.com did not respond with JSON",
    });
  });

  test("errors contain neither key nor content", async () => {
    for (const reply of [broken, problem(400, "invalid_request"), new Response("x", { status: 418 })]) {
      const { caller } = callerWith([reply], { key: "phk_canary", retry: false });
      const error = await caller.call("POST", { ...post, body: { data: "content-canary" } }).catch(String);
      assert.doesNotMatch(String(error), /canary/);
    }
  });
});

suite("addresses", () => {
  test("the base path of a proxy is kept; lists and absent query values are sent as the API reads them", () => {
    const caller = new Caller({ url: "https://example.com/hooks", key: "k" });
    const url = caller.addressOf("/v1/webhooks", {
      status: ["active", "disabled"],
      q: undefined,
      failing: false,
    });
    assert.equal(
      url.href,
      "https://example.com/hooks/v1/webhooks?status=active&status=disabled&failing=false",
    );
  });

  test("an invalid server address is rejected at once, with the expected format", () => {
    for (const url of ["", "hooks.example.com", "ftp://x", "https://x.example/v1", "https://x.example/v1/"])
      assert.throws(() => new Caller({ url, key: "k" }), TypeError);
  });

  test("a key can be looked up for each request", async () => {
    let asked = 0;
    const { caller, seen } = callerWith([json({})], { key: async () => `key-${(asked += 1)}` });
    await caller.call("GET", { path: "/v1/me" });
    await caller.call("GET", { path: "/v1/me" });
    assert.deepEqual(
      seen.map(({ headers }) => headers.get("authorization")),
      ["Bearer key-1", "Bearer key-2"],
    );
  });
});
