import { strict as assert } from "node:assert";
import { describe, it, type TestContext } from "node:test";
import { type Answer, type Receiver, startReceiver } from "../../../test/peers/receiver.ts";
import { createAddressPolicy } from "../../domain/egress/address-policy.ts";
import { systemClock } from "../../system/clock.ts";
import { createHostNames } from "../../system/host-names.ts";
import { createHttpTransport } from "../../transport/http/http-transport.ts";
import { type AccessToken, type OAuth2Credentials, OAuth2Tokens } from "./oauth2-tokens.ts";

interface World {
  readonly tokens: OAuth2Tokens;
  readonly server: Receiver;
  wait(delayMs: number): void;
}

const secret = "canary:secret /%";

/** A token server on real sockets, with a manual clock. */
async function setUp(t: TestContext, { credentials = {}, allowLoopback = true }: SetUp = {}): Promise<World> {
  const server = await startReceiver();
  t.after(() => server.close());
  server.script((_, index) =>
    granted({ access_token: `token-${index}`, token_type: "Bearer", expires_in: 3600 }),
  );
  const transport = createHttpTransport({
    addressPolicy: createAddressPolicy([], allowLoopback),
    clock: systemClock,
    dns: createHostNames(),
    socketsMax: 5,
    idleSocketMs: 1000,
  });
  t.after(() => transport.close());
  let nowMs = 1000;
  const tokens = new OAuth2Tokens(
    transport,
    { monotonicMs: () => nowMs },
    {
      tokenUrl: server.url("/token?tenant=1"),
      clientId: "client:1",
      clientSecret: secret,
      scope: null,
      audience: null,
      authentication: "basic",
      ...credentials,
    },
  );
  return { tokens, server, wait: (delayMs) => (nowMs += delayMs) };
}

interface SetUp {
  readonly credentials?: Partial<OAuth2Credentials>;
  readonly allowLoopback?: boolean;
}

function granted(members: object): Answer {
  return { headers: { "Content-Type": "application/json" }, body: JSON.stringify(members) };
}

function token(accessToken: string): AccessToken {
  return { kind: "token", accessToken };
}

async function failureOf(tokens: OAuth2Tokens): Promise<string> {
  const answer = await tokens.token();
  assert.equal(answer.kind, "failed");
  assert.doesNotMatch(answer.detail, /canary/, "no secret is in the message");
  return answer.detail;
}

describe("oauth2 tokens", () => {
  it("sends client credentials form-encoded in the Authorization header (RFC 6749, 2.3.1)", async (t) => {
    const { tokens, server } = await setUp(t, {
      credentials: { scope: "a b", audience: "https://api.test" },
    });
    assert.deepEqual(await tokens.token(), token("token-0"));
    const [request] = server.requests;
    assert.equal(request?.method, "POST");
    assert.equal(request.path, "/token?tenant=1");
    assert.equal(request.headers["content-type"], "application/x-www-form-urlencoded");
    const [scheme, encoded] = (request.headers.authorization ?? "").split(" ");
    assert.equal(scheme, "Basic");
    assert.equal(Buffer.from(encoded ?? "", "base64").toString(), "client%3A1:canary%3Asecret+%2F%25");
    assert.deepEqual(Object.fromEntries(new URLSearchParams(request.text)), {
      grant_type: "client_credentials",
      scope: "a b",
      audience: "https://api.test",
    });
  });

  it("puts the client into the body on request, and then not into a header", async (t) => {
    const { tokens, server } = await setUp(t, { credentials: { authentication: "body" } });
    await tokens.token();
    const [request] = server.requests;
    assert.ok(request !== undefined && request.headers.authorization === undefined);
    assert.deepEqual(Object.fromEntries(new URLSearchParams(request.text)), {
      grant_type: "client_credentials",
      client_id: "client:1",
      client_secret: secret,
    });
  });

  it("uses a valid token at once, and fetches another shortly before it expires", async (t) => {
    const { tokens, server, wait } = await setUp(t);
    await tokens.token();
    wait(3600_000 - 60_000 - 1);
    assert.deepEqual(tokens.token(), token("token-0"));
    wait(1);
    assert.deepEqual(await tokens.token(), token("token-1"));
    assert.equal(server.requestCount, 2);
  });

  it("uses short-lived tokens for three quarters of their life, and tokens without a lifetime for minutes", async (t) => {
    const { tokens, server, wait } = await setUp(t);
    server.script((_, index) =>
      granted({ access_token: `t${index}`, expires_in: ["8", undefined, 1_780_272_120][index] }),
    );
    await tokens.token();
    wait(5999);
    assert.deepEqual(tokens.token(), token("t0"));
    wait(1);
    assert.deepEqual(await tokens.token(), token("t1"));
    wait(239_999);
    assert.deepEqual(tokens.token(), token("t1"));
    wait(1);
    assert.deepEqual(await tokens.token(), token("t2"));
    // A timestamp in place of a lifetime is ignored, as if no lifetime was given.
    wait(240_000);
    assert.deepEqual(await tokens.token(), token("t3"));
  });

  it("fetches once for all waiting callers", async (t) => {
    const { tokens, server } = await setUp(t);
    const answers = await Promise.all(Array.from({ length: 50 }, async () => tokens.token()));
    assert.equal(new Set(answers.map((answer) => JSON.stringify(answer))).size, 1);
    assert.equal(server.requestCount, 1);
  });

  it("fetches a new token after a rejection, with one resend for each delivery", async (t) => {
    const { tokens, server } = await setUp(t);
    await tokens.token();
    assert.equal(tokens.rejected("token-0", "dlv_1"), true);
    assert.deepEqual(await tokens.token(), token("token-1"));
    assert.equal(tokens.rejected("token-0", "dlv_2"), true, "another delivery had the old token");
    assert.deepEqual(tokens.token(), token("token-1"), "which is no reason to give up the new one");
    assert.equal(tokens.rejected("token-1", "dlv_1"), false);
    assert.equal(tokens.rejected("token-1", "dlv_1"), false);
    assert.deepEqual(await tokens.token(), token("token-2"));
    assert.equal(server.requestCount, 3);
  });

  it("says what to fix, without secrets, whatever the server responds", async (t) => {
    const huge = JSON.stringify({ access_token: "x".repeat(70_000) });
    const rows: readonly [Answer, RegExp][] = [
      [
        { status: 401, body: `{"error":"invalid_client","error_description":"${secret}"}` },
        /401 invalid_client: check client_id/,
      ],
      [{ status: 400, body: '{"error":"invalid_scope"}' }, /400 invalid_scope: check scope/],
      [{ status: 400, body: `{"error":"${secret}"}` }, /^the token URL responded with 400: check/],
      [{ status: 400, body: '{"error":"toString"}' }, /^the token URL responded with 400: check/],
      [{ status: 403 }, /403: check client_id and client_secret/],
      [{ status: 500, body: secret }, /responded with 500/],
      [
        { status: 302, headers: { Location: `/${encodeURIComponent(secret)}` } },
        /302; redirects are not followed/,
      ],
      [{ body: "<html>" }, /not a JSON object/],
      [{ body: "[]" }, /not a JSON object/],
      [{ body: "" }, /not a JSON object/],
      [{ body: huge }, /longer than 65536 bytes/],
      [granted({ token_type: "Bearer" }), /no access_token/],
      [granted({ access_token: 7 }), /no access_token/],
      [granted({ access_token: "a\r\nX-Injected: 1" }), /does not fit into a header/],
      [granted({ access_token: "a", token_type: "mac" }), /token_type other than Bearer/],
    ];
    for (const [answer, expected] of rows) {
      const { tokens, server } = await setUp(t);
      server.script(() => answer);
      assert.match(await failureOf(tokens), expected);
    }
  });

  it("remembers a failure for seconds, not longer", async (t) => {
    const { tokens, server, wait } = await setUp(t);
    server.script((_, index) => (index === 0 ? { status: 503 } : granted({ access_token: "good" })));
    await failureOf(tokens);
    wait(4999);
    await failureOf(tokens);
    assert.equal(server.requestCount, 1);
    wait(1);
    assert.deepEqual(await tokens.token(), token("good"));
  });

  it("reports an unreachable token server", async (t) => {
    const { tokens, server } = await setUp(t);
    await server.close();
    assert.match(await failureOf(tokens), /could not be reached: .*ECONNREFUSED/);
  });

  it("does not contact an address that the egress guard rejects", async (t) => {
    const { tokens, server } = await setUp(t, { allowLoopback: false });
    assert.match(await failureOf(tokens), /egress refused: 127\.0\.0\.1 is loopback/);
    assert.equal(server.connectionCount, 0);
  });
});
