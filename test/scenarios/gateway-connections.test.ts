/**
 * The rules of a connection, in order: filter, delay, deduplication, retries; and the targets that a connection may
 * have.
 */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { comparedParts } from "../../src/features/gateway/connection-deduplication.ts";
import { MessageReading } from "../../src/features/gateway/incoming.ts";
import { OwnAddresses } from "../../src/features/gateway/address.ts";
import { packRelayed, unpackRelayed } from "../../src/features/gateway/relayed.ts";
import { assertProblem, textOf } from "./api/client.fixture.ts";
import { GatewayScene } from "./gateway/gateway-scene.fixture.ts";
import type { Json } from "./gateway/scene.fixture.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

suite("rules of connections", () => {
  const scene = new GatewayScene();
  before(() => scene.start());
  after(() => scene.stop());
  const modes = ["pass_through", "store_and_forward"] as const;

  for (const mode of modes)
    test(`${mode}: a repeat is ignored by the chosen fields, and the rule is recorded`, async () => {
      const deduplicate = { window_ms: 3_600_000, exclude_fields: ["/sent_at"] };
      const { send, requests } = await scene.source({ source: { mode }, connection: { deduplicate } });
      const answers = [];
      for (const body of [
        '{"order":1,"sent_at":"10:00"}',
        '{"order":1,"sent_at":"10:05"}',
        '{"order":2,"sent_at":"10:05"}',
      ])
        answers.push((await send(body)).status);
      const usual = mode === "pass_through" ? 200 : 202;
      assert.deepEqual(answers, [usual, 202, usual]);
      const got = await scene.receiver.waitForRequests(2);
      assert.deepEqual(
        got.map(({ text }) => (JSON.parse(text) as Json)["order"]),
        [1, 2],
      );
      const [, ignored] = await requests();
      assert.equal(ignored?.["outcome"], "ignored");
      assert.match(
        JSON.stringify(ignored?.["forwards"]),
        /deduplicate: the same message arrived within 3600000 ms/,
      );
    });

  for (const mode of modes)
    test(`${mode}: the sender's own repeat stays a duplicate, and a failed message may be sent again`, async () => {
      const deduplicate = { window_ms: 3_600_000, include_fields: ["/order"] };
      const { send, requests } = await scene.source({ source: { mode }, connection: { deduplicate } });
      scene.receiver.script(() => ({ status: scene.receiver.requests.length === 1 ? 500 : 200 }));
      const key = { "idempotency-key": '"k"' };
      const first = await send('{"order":7,"n":1}', key);
      const again = await send('{"order":7,"n":1}', key);
      const expected = mode === "pass_through" ? [503, 200] : [202, 202];
      assert.deepEqual([first.status, again.status], expected);
      await send('{"order":7,"n":1}', key);
      await send('{"order":7,"n":2}', { "idempotency-key": '"other"' });
      const outcomes = (await requests()).map(({ outcome }) => outcome).toReversed();
      const repeats = mode === "pass_through" ? ["failed", "accepted"] : ["accepted", "duplicate"];
      assert.deepEqual(outcomes, [...repeats, "duplicate", "ignored"]);
    });

  test("a filter is applied first: messages that it rejects do not count as seen", async () => {
    const rules = {
      filter: { body: { paid: true } },
      deduplicate: { window_ms: 3_600_000, include_fields: ["/order"] },
    };
    const { send, requests } = await scene.source({
      source: { mode: "store_and_forward" },
      connection: rules,
    });
    await send('{"order":1,"paid":false}');
    await send('{"order":1,"paid":true}');
    await scene.receiver.waitForRequests(1);
    const notes = (await requests()).map(({ forwards }) => (forwards as Json[])[0]);
    assert.deepEqual(
      notes.map((note) => [note?.["result"], note?.["detail"]]),
      [
        ["stored", null],
        ["ignored", "filter: body.paid"],
      ],
    );
  });

  test("a delayed message waits for its time, and others overtake it", async () => {
    const source = { mode: "store_and_forward" };
    const { id, send, requests } = await scene.source({ source, connection: { delay_ms: 600_000 } });
    await scene.connect(id, scene.receiver);
    const before = Date.now();
    await send('{"a":1}');
    await scene.receiver.waitForRequests(1);
    const [request] = await requests();
    const { body } = await scene.admin.get(`/v1/events/${String(request?.["event_id"])}/deliveries`);
    const deliveries = body["data"] as unknown as { status: string; next_attempt_at: string | null }[];
    const dueIn =
      Math.max(...deliveries.map(({ next_attempt_at: at }) => Date.parse(at ?? "1970-01-01"))) - before;
    assert.ok(dueIn >= 600_000, `due in ${dueIn} ms`);
  });

  test("a connection's own delays set the retries, even after a restart", async () => {
    const source = { mode: "store_and_forward" };
    const slow = { retry_config: { schedule_ms: [600_000] } };
    const connection = { retry_delays_ms: [20, 20] };
    const { send, requests } = await scene.source({ source, connection, webhook: slow });
    scene.receiver.script(() => ({ status: 500 }));
    await send('{"a":1}');
    await scene.receiver.waitForRequests(3);
    const [request] = await requests();
    for (;;) {
      const { body } = await scene.admin.get(`/v1/events/${String(request?.["event_id"])}/deliveries`);
      const [delivery] = body["data"] as unknown as { status: string; attempt_count: number }[];
      if (delivery?.status !== "exhausted") continue;
      assert.equal(delivery.attempt_count, 3);
      break;
    }
    const relayed = {
      key: null,
      webhookId: null,
      path: null,
      headers: ["A", "b"],
      retryDelaysMs: { w: [1, 2] },
    };
    assert.deepEqual(unpackRelayed(packRelayed(relayed)), relayed);
  });

  test("a webhook that leads back here is rejected, unless chains are allowed", async () => {
    const { id } = await scene.source({ to: [] });
    const { port } = new URL(scene.running.url ?? "");
    const refused = [
      `http://127.0.0.1:${port}/in/abc`,
      `http://127.0.0.1:${port}/elsewhere`,
      `http://localhost:${port}/in/abc`,
    ];
    for (const url of refused) {
      const webhook = await scene.created("/v1/webhooks", { url, events: ["relayed"] });
      const ends = { source_id: id, webhook_id: webhook["id"] };
      const answer = await scene.admin.post("/v1/connections", ends);
      assertProblem(answer, { status: 400, code: "invalid_request" });
      assert.match(answer.text, /allow_chain/);
      await scene.created("/v1/connections", { ...ends, allow_chain: true });
    }
  });

  test("messages of one source are found by it, including dead letters, and retried by source and time", async () => {
    const source = { mode: "store_and_forward" };
    const connection = { retry_delays_ms: [1] };
    const wanted = await scene.source({ source, connection });
    const other = await scene.source({ source, connection });
    scene.receiver.script(() => ({ status: 500 }));
    for (const { send } of [wanted, other]) await send('{"lost":true}');
    const lost = async (id: string) => {
      const found = await scene.admin.get(`/v1/deliveries?status=exhausted&source_id=${id}`);
      return found.body["data"] as unknown as Json[];
    };
    while ((await lost(wanted.id)).length + (await lost(other.id)).length < 2);
    assert.equal((await lost(wanted.id)).length, 1);
    scene.receiver.clear();
    scene.receiver.script(() => ({}));
    const filter = { source_id: wanted.id, status: ["exhausted"], from: "2020-01-01" };
    const started = await scene.admin.post("/v1/deliveries/retry-batch", { filter });
    assert.equal(started.body["count"], 1, started.text);
    await scene.receiver.waitForRequests(1);
    const operation = await scene.admin.get(`/v1/operations/${textOf(started.body["batch_operation_id"])}`);
    assert.match(operation.text, new RegExp(`"source_id":"${wanted.id}"`));
    assert.equal((await lost(other.id)).length, 1, "what came from elsewhere stays where it is");
  });

  test("the two kinds of fields exclude each other", async () => {
    const { connections } = await scene.source();
    const deduplicate = { window_ms: 1_000, include_fields: ["/a"], exclude_fields: ["/b"] };
    const path = `/v1/connections/${connections[0]}`;
    const answer = await scene.admin.call("PATCH", path, { body: { deduplicate } });
    assertProblem(answer, { status: 400, code: "invalid_request" });
  });
});

test("compared parts of a message", () => {
  const compared = (text: string, rule: object) =>
    comparedParts(new MessageReading(bytes(text)), bytes(text), {
      windowMs: 1,
      includeFields: null,
      excludeFields: null,
      ...rule,
    });
  const whole = compared("a", {});
  assert.notEqual(compared("b", {}), whole);
  const include = { includeFields: ["/a/b", "/c"] };
  assert.equal(
    compared('{"a":{"b":1},"c":2,"d":3}', include),
    compared('{"d":4,"c":2,"a":{"b":1,"x":0}}', include),
  );
  assert.equal(compared('{"c":2}', include), null, "a message without a field is new");
  assert.equal(compared("no JSON", include), null);
  const exclude = { excludeFields: ["/a/0/t", "/b~1c", "/none/there"] };
  assert.equal(
    compared('{"a":[{"t":1,"u":2}],"b/c":3}', exclude),
    compared('{"a":[{"t":9,"u":2}]}', exclude),
  );
  assert.notEqual(compared('{"a":[{"u":2}]}', exclude), compared('{"a":[{"u":3}]}', exclude));
  const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  assert.ok((compared(deep, exclude)?.length ?? 0) > 0, "as deep as a body may be nested");
});

test("our own addresses, by name, by address behind the proxy, and below a path", async () => {
  const known: Record<string, string[]> = {
    "hooks.example.com": ["192.0.2.1"],
    "alias.example.com": ["192.0.2.1"],
  };
  const addressesOf = async (name: string) => known[name] ?? [];
  const own = new OwnAddresses({ urls: ["https://hooks.example.com"], basePath: "", addressesOf });
  assert.equal(await own.includes("https://hooks.example.com/anything"), true);
  assert.equal(await own.includes("https://hooks.example.com:444/in/x"), false);
  assert.equal(await own.includes("https://alias.example.com/in/x"), true);
  assert.equal(await own.includes("https://alias.example.com/_webhooks/shop"), true);
  assert.equal(await own.includes("https://alias.example.com/orders"), false, "another site of one proxy");
  assert.equal(await own.includes("https://unknown.example.com/in/x"), false);
  const below = new OwnAddresses({
    urls: ["https://hooks.example.com/hooks"],
    basePath: "/hooks",
    addressesOf,
  });
  assert.equal(await below.includes("https://hooks.example.com/hooks/in/x"), true);
  assert.equal(await below.includes("https://hooks.example.com/shop"), false);
});
