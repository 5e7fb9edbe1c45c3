/** A dry run of a filter. Its result for a message must match what the gateway then does with the message. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { assertProblem } from "./api/client.fixture.ts";
import { eventually } from "./eventually.fixture.ts";
import { GatewayScene } from "./gateway/gateway-scene.fixture.ts";
import { type Json, modes } from "./gateway/scene.fixture.ts";

interface Evaluation {
  readonly matches: boolean | null;
  readonly rule: string | null;
  readonly trace: readonly Json[];
  readonly samples: Readonly<Record<"matched" | "not_matched" | "not_examined", readonly Json[]>>;
}

suite("filter trials", () => {
  const scene = new GatewayScene();
  before(() => scene.start());
  after(() => scene.stop());

  const evaluate = async (body: Json): Promise<Evaluation & Json> => {
    const reply = await scene.admin.post("/v1/filters/evaluate", body);
    assert.equal(reply.status, 200, reply.text);
    return reply.body as unknown as Evaluation & Json;
  };
  /**
   * A run ends when its time budget is used up, which may happen on a busy machine. This function repeats the run until
   * all results are available.
   */
  const evaluateAll = (body: Json): Promise<Evaluation & Json> =>
    eventually("the look at the last requests is complete", {
      ask: () => evaluate(body),
      holds: ({ complete }) => complete === true,
    });
  const refused = async (body: Json): Promise<readonly string[]> => {
    const reply = await scene.admin.post("/v1/filters/evaluate", body);
    assertProblem(reply, { status: 400, code: "invalid_request" });
    return (reply.body["errors"] as unknown as readonly { readonly field: string }[]).map(
      ({ field }) => field,
    );
  };

  for (const mode of modes)
    test(`${mode}: the last requests are filtered as the connection does once the filter is saved`, async () => {
      const { id, send, requests, connections } = await scene.source({ source: { mode } });
      const filter = { body: { total: { $gte: 100 } }, headers: { "x-shop": "one" } };
      const messages: readonly (readonly [total: number, shop: string])[] = [
        [100, "one"],
        [99, "one"],
        [250, "two"],
        [101, "one"],
      ];
      for (const [total, shop] of messages)
        assert.ok((await send(JSON.stringify({ total, n: 1 }), { "x-shop": shop })).status < 300);
      const found = await evaluateAll({ filter, source_id: id });
      assert.deepEqual(
        [found["examined"], found["matched"], found["not_matched"], found["not_examined"], found["complete"]],
        [4, 2, 2, 0, true],
      );
      assert.deepEqual(
        found.samples.not_matched.map(({ rule }) => rule),
        ["headers.x-shop", "body.total.$gte"],
      );
      const rows = await requests();
      assert.deepEqual(
        found.samples.matched.map(({ request_id: one }) => one),
        [rows[0]?.["id"], rows[3]?.["id"]],
      );
      assert.equal(found["searched_to"], rows[3]?.["received_at"]);
      await scene.change(`/v1/connections/${connections[0] ?? ""}`, { filter });
      for (const [total, shop] of messages)
        assert.ok((await send(JSON.stringify({ total, n: 2 }), { "x-shop": shop })).status < 300);
      const rules = (await requests()).slice(0, 4).map(({ forwards }) => (forwards as Json[])[0]?.["detail"]);
      const ignored = rules.filter((rule) => typeof rule === "string" && rule.startsWith("filter: "));
      assert.deepEqual(ignored, ["filter: headers.x-shop", "filter: body.total.$gte"]);
    });

  test("one request is shown with every condition; secrets are neither shown nor guessable", async () => {
    const { id, send, requests } = await scene.source();
    const secret = "Bearer canary-of-the-sender";
    await send('{"action":"opened","n":7}', { "authorization": secret, "x-shop": "one" });
    const [request] = await requests();
    const target = { request_id: request?.["id"] };
    const { matches, rule, trace } = await evaluate({
      filter: { body: { action: { $in: ["closed"] }, n: { $gt: 6 } }, headers: { "x-shop": "one" } },
      ...target,
    });
    assert.deepEqual([matches, rule], [false, "body.action.$in"]);
    assert.deepEqual(
      trace.map(({ path, operator, expected, actual, result }) => [path, operator, expected, actual, result]),
      [
        ["body.action.$in", "$in", '["closed"]', '"opened"', false],
        ["body.n.$gt", "$gt", "6", "7", true],
        ["headers.x-shop", "$eq", '"one"', '"one"', true],
      ],
    );
    for (const guess of ["Bearer canary", "Bearer other", secret]) {
      const filter = { headers: { authorization: { $startsWith: guess } } };
      const one = await evaluate({ filter, ...target });
      assert.deepEqual([one.matches, one.trace[0]?.["unknown"]], [null, "masked"]);
      assert.equal(one.trace[0]?.["actual"], null);
      const many = await evaluateAll({ filter, source_id: id });
      assert.deepEqual([many["examined"], many["not_examined"]], [0, 1]);
    }
    const there = { headers: { authorization: { $exist: true } } };
    assert.equal((await evaluate({ filter: there, ...target })).matches, true);
  });

  test("rejected and repeated requests are not filtered; each can be tried singly", async () => {
    const { id, send, requests } = await scene.source();
    const key = { "idempotency-key": '"k"' };
    await send('{"n":1}', key);
    await send('{"n":1}', key);
    await send('{"n":2}', { "x-hub-signature-256": "sha256=00" });
    const found = await evaluateAll({ filter: { body: { n: 1 } }, source_id: id });
    assert.deepEqual([found["examined"], found["matched"], found["not_routed"]], [1, 1, 2]);
    const rejected = (await requests()).find(({ outcome }) => outcome === "rejected");
    const one = await evaluate({ filter: { body: { n: 2 } }, request_id: rejected?.["id"] });
    assert.equal(one.matches, true);
  });

  test("a missing body is reported, and a filter that needs none is still evaluated", async () => {
    const { id, send } = await scene.source({ connection: { filter: { path: "/nobody" } } });
    // The store keeps the bodies of a hundred requests without an event, per source and day.
    for (let n = 0; n < 103; n += 1) await send(JSON.stringify({ n }), { "x-shop": n < 50 ? "one" : "two" });
    const byBody = await evaluateAll({ filter: { body: { n: { $gte: 50 } } }, source_id: id, last: 110 });
    assert.deepEqual(
      [byBody["examined"], byBody["matched"], byBody["not_matched"], byBody["not_examined"]],
      [100, 50, 50, 3],
    );
    const gone = byBody.samples.not_examined[0]?.["request_id"];
    const { matches, trace } = await evaluate({ filter: { body: { n: 1 } }, request_id: gone });
    assert.deepEqual([matches, trace[0]?.["result"], trace[0]?.["unknown"]], [null, null, "not_kept"]);
    const byHeader = await evaluateAll({
      filter: { headers: { "x-shop": "one" } },
      source_id: id,
      last: 110,
    });
    assert.deepEqual([byHeader["examined"], byHeader["matched"], byHeader["not_examined"]], [103, 50, 0]);
    const last = await evaluateAll({ filter: {}, source_id: id, last: 7 });
    assert.deepEqual([last["examined"], last["complete"], last.samples.matched.length], [7, true, 5]);
  });

  test("a given message is read like a received one", async () => {
    const message = { headers: { "X-Shop": "one" }, query: { test: "1" }, path: "/orders" };
    const filter = { body: { n: 1 }, headers: { "x-shop": "one" }, query: { test: "1" }, path: "/orders" };
    for (const [body, matches] of [
      [{ n: 1 }, true],
      ['{"n":1}', true],
      ["no JSON", false],
      [null, false],
      [[1], false],
    ] as const)
      assert.equal(
        (await evaluate({ filter, message: { ...message, body } })).matches,
        matches,
        JSON.stringify(body),
      );
    assert.equal((await evaluate({ filter: { body: { $exist: false } }, message: {} })).matches, true);
    assert.equal((await evaluate({ filter: { body: null }, message: { body: null } })).matches, true);
  });

  test("errors are reported with their position; exactly one input is required", async () => {
    const { id } = await scene.source();
    assert.deepEqual(await refused({ filter: { body: { a: { $in: 3 } } }, source_id: id }), [
      "filter.body.a.$in",
    ]);
    const three = ["request_id", "source_id", "message"];
    assert.deepEqual(await refused({ filter: {} }), three);
    assert.deepEqual(await refused({ filter: {}, source_id: id, message: {} }), three);
    assert.deepEqual(await refused({ filter: {}, message: {}, last: 5 }), ["last"]);
    assert.deepEqual(await refused({ filter: {}, source_id: id, last: 1_001 }), ["last"]);
    assert.deepEqual(await refused({ source_id: id }), ["filter"]);
    const nobody = "0198c3f2-7a4e-7c11-9d3e-5b0a6f1e2d3c";
    for (const target of [{ request_id: nobody }, { source_id: nobody }])
      assertProblem(await scene.admin.post("/v1/filters/evaluate", { filter: {}, ...target }), {
        status: 404,
        code: "not_found",
      });
  });

  test("callers that may read requests may try filters, on those of their own tenant", async () => {
    const { id, send, requests } = await scene.source();
    await send('{"n":1}');
    const [request] = await requests();
    const body = { filter: {}, request_id: request?.["id"] };
    const keyed = async (role: string, tenant: string) =>
      scene.admin.withKey(await scene.admin.keyFor(role, tenant)).post("/v1/filters/evaluate", body);
    assert.equal((await keyed("read", "default")).status, 200);
    assert.equal((await keyed("publish", "default")).status, 403);
    assert.equal((await keyed("read", "stranger")).status, 404);
    const foreign = scene.admin.withKey(await scene.admin.keyFor("manage", "stranger"));
    assertProblem(await foreign.post("/v1/filters/evaluate", { filter: {}, source_id: id }), {
      status: 404,
      code: "not_found",
    });
  });
});
