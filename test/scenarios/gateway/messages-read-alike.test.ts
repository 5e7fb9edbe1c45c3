/** Every component that reads a message reads the same values: digits, header names, a byte order mark. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { assertProblem, textOf } from "../api/client.fixture.ts";
import { GatewayScene } from "./gateway-scene.fixture.ts";
import { type Json, modes } from "./scene.fixture.ts";

suite("reading of messages", () => {
  const scene = new GatewayScene();
  before(() => scene.start());
  after(() => scene.stop());

  const bigId = "9007199254740993";
  const nextId = "9007199254740992";
  const results = (requests: readonly Json[]) =>
    requests.map(({ outcome, forwards }) => [outcome, (forwards as Json[])[0]?.["result"]]).toReversed();
  const connected = async (connection: string, mode: string, source: Json = {}) => {
    const made = await scene.source({ source: { mode, ...source } });
    const [id = ""] = made.connections;
    const path = `/v1/connections/${id}`;
    const changed = await scene.admin.call("PATCH", path, { raw: connection });
    assert.equal(changed.status, 200, changed.text);
    return { ...made, path };
  };

  for (const mode of modes) {
    test(`${mode}: a filter compares all digits of a number, and numbers by value`, async () => {
      const { send, requests, path } = await connected(`{"filter":{"body":{"id":${bigId}}}}`, mode);
      for (const id of [bigId, nextId, `${bigId}.0`, "9.007199254740993E15", `"${bigId}"`])
        await send(`{"id":${id}}`);
      assert.deepEqual(
        results(await requests()).map(([outcome]) => outcome),
        ["accepted", "ignored", "accepted", "accepted", "ignored"],
      );
      assert.match((await scene.admin.get(path)).text, new RegExp(`"id":${bigId}\\b`));
    });

    test(`${mode}: keys from the body distinguish numbers by all of their digits`, async () => {
      const { send, requests } = await connected("{}", mode, { key_pointers: ["/id"] });
      for (const id of [bigId, nextId, `${bigId}.0`, "-0", "0"]) await send(`{"id":${id}}`);
      assert.deepEqual(
        (await requests()).map(({ outcome, status }) => [outcome, Number(status) < 300]).toReversed(),
        [
          ["accepted", true],
          ["accepted", true],
          // Rejected because the key is the same but the bytes differ.
          ["rejected", false],
          ["accepted", true],
          ["rejected", false],
        ],
      );
    });

    test(`${mode}: deduplication distinguishes numbers by all of their digits`, async () => {
      const rule = '{"deduplicate":{"window_ms":600000,"include_fields":["/id"]}}';
      const { send, requests } = await connected(rule, mode);
      for (const id of [bigId, nextId, `${bigId}.0`]) await send(`{"id":${id}}`);
      assert.deepEqual(
        results(await requests()).map(([outcome]) => outcome),
        ["accepted", "accepted", "ignored"],
      );
    });

    test(`${mode}: names of headers in a filter are compared without case`, async () => {
      const { send, requests } = await connected('{"filter":{"headers":{"X-Shop-Topic":"orders"}}}', mode);
      await send('{"n":1}', { "x-shop-topic": "orders" });
      await send('{"n":2}', { "x-shop-topic": "users" });
      assert.deepEqual(
        results(await requests()).map(([outcome]) => outcome),
        ["accepted", "ignored"],
      );
    });

    test(`${mode}: a byte order mark does not prevent a body from being read`, async () => {
      const more = { event_type: { pointer: "/topic" }, key_pointers: ["/id"] };
      const filter =
        '{"filter":{"body":{"topic":"orders"}},"deduplicate":{"window_ms":600000,"include_fields":["/n"]}}';
      const { send, requests } = await connected(filter, mode, more);
      const mark = "\u{feff}";
      for (const [id, n] of [
        [1, 1],
        [2, 1],
        [1, 2],
      ])
        await send(`${mark}{"topic":"orders","id":${id},"n":${n}}`);
      const seen = (await requests()).toReversed();
      assert.deepEqual(
        seen.map(({ outcome, event_type: type }) => [outcome, type]),
        [
          ["accepted", "orders"],
          ["ignored", "orders"],
          ["rejected", "orders"],
        ],
      );
    });
  }

  test("an event type that is a large number keeps its digits", async () => {
    const { send, requests } = await connected("{}", "store_and_forward", {
      event_type: { pointer: "/kind" },
    });
    await send(`{"kind":${bigId}}`);
    assert.equal((await requests())[0]?.["original_type"], bigId);
  });

  test("a filter that no message can match is rejected with the reason", async () => {
    const { path } = await connected("{}", "store_and_forward");
    const cases: readonly (readonly [Json, string])[] = [
      [{ headers: { "x-count": 5 } }, "filter.headers.x-count"],
      [{ headers: { "x count": "5" } }, "filter.headers.x count"],
      [{ headers: { $eq: "5" } }, "filter.headers.$eq"],
      [{ headers: { "x-a": { b: "1" } } }, "filter.headers.x-a.b"],
      [{ query: { page: { $in: ["1", 2] } } }, "filter.query.page.$in"],
      [{ path: { $gt: 5 } }, "filter.path.$gt"],
      [{ body: { n: { $in: [] } } }, "filter.body.n.$in"],
      [{ body: { n: { $gt: 5, $lt: 5 } } }, "filter.body.n"],
      [{ body: { n: { $gte: 6, $lte: 5 } } }, "filter.body.n"],
      [{ body: { n: { $gte: 6, $lte: "9" } } }, "filter.body.n"],
    ];
    for (const [filter, field] of cases) {
      const refused = await scene.admin.call("PATCH", path, { body: { filter } });
      assertProblem(refused, { status: 400, code: "invalid_request" });
      const [error] = refused.body["errors"] as unknown as readonly Json[];
      assert.equal(error?.["field"], field);
      assert.match(String(error?.["message"]), /never matches|is not a header name/);
    }
    await scene.change(path, {
      filter: { body: { n: { $gte: 5, $lte: 5 } }, headers: { "X-A": { $exist: false } } },
    });
  });

  for (const mode of modes)
    test(`${mode}: a message whose rules cost too much is rejected for now, and can be replayed`, async () => {
      const to = Array.from({ length: 5 }, () => scene.receiver);
      const { send, requests, connections } = await scene.source({ source: { mode }, to });
      const setRules = async (rulesOf: (at: number) => Json | null): Promise<void> => {
        for (const [at, id] of connections.entries())
          await scene.change(`/v1/connections/${id}`, { deduplicate: rulesOf(at) });
      };
      // Every pointer refers to a member that contains nearly the whole body.
      const pointer = (depth: number) => "/a".repeat(depth);
      await setRules((at) => ({
        window_ms: 600_000,
        include_fields: Array.from({ length: 16 }, (_, n) => pointer(1 + at * 16 + n)),
      }));
      const nested = (depth: number): string =>
        depth === 0 ? JSON.stringify("x".repeat(240_000)) : `{"a":${nested(depth - 1)}}`;
      const refused = await send(nested(81));
      assert.equal(refused.status, 503);
      assert.ok(Number(refused.headers["retry-after"]) > 0);
      assert.equal((JSON.parse(refused.text) as Json)["reason"], "rules_too_costly");
      assert.equal(scene.receiver.requests.length, 0);
      const [request] = await requests();
      assert.deepEqual([request?.["outcome"], request?.["rejection_cause"]], ["failed", "rules_too_costly"]);
      assert.match(String(request?.["detail"]), /simplify the filters/);
      const replay = `/v1/requests/${textOf(request?.["id"] as never)}/replay`;
      const replayed = await scene.admin.post(replay, {});
      assert.ok(replayed.status < 300, String(replayed.status));
      await scene.receiver.waitForRequests(5);
    });
});
