/** A receiver gets exactly the text of `data` that the publisher wrote, in every profile and in every attempt. */
import assert from "node:assert/strict";
import { assertProblem, fieldsOf, itemsOf, textOf } from "../api/client.fixture.ts";
import type { Json } from "../api/client.fixture.ts";
import { eventually } from "../eventually.fixture.ts";
import { fieldOf, type TenantScene } from "../tenant-scene.fixture.ts";
import { type Scenarios, soon } from "./scenario.fixture.ts";

/** Notations of `data`. Each is a single valid JSON text that would be changed by parsing and serializing it. */
const texts: Readonly<Record<string, string>> = {
  "integers beyond 2^53": '{"id":9007199254740993,"big":[-9223372036854775808,18446744073709551615]}',
  "an integer of 400 digits": `{"n":${"1234567890".repeat(40)}}`,
  "a decimal of 400 digits": `{"n":-0.${"0987654321".repeat(40)}}`,
  "numbers as written": '{"n":[-0,1.0,1.50,1E+2,1e-400,0.1000000000000000055511151231257827]}',
  "a number beyond a double": '{"n":[1e400,-1e400]}',
  "escapes": '{"\\u0061\\/b":"\\u00fc \\ud83d\\ude00 \\ud800 \\u0000 \\u003c","plain":"\u00fc \u{1f600} <"}',
  "names that look like numbers, in their order": '{"10":1,"9":2,"b":3,"a":4,"":5}',
  "white space": '{ "a" :\t[ 1 ,\r\n 2 ] ,\n"b":{ } }',
  "a nest of 62 lists": `{"a":${"[".repeat(62)}${"]".repeat(62)}}`,
};

/** Returns the body that each profile sends, and the receipt of the event. */
const profiles: Readonly<Record<string, (data: string, receipt: Json) => string>> = {
  standard: (data, { timestamp }) =>
    `{"type":"order.paid","timestamp":"${textOf(timestamp)}","data":${data}}`,
  "ts-16a": (data, { timestamp }) =>
    `{"type":"order.paid","timestamp":"${textOf(timestamp)}","data":${data}}`,
  "event-delivery": (data) => data,
  "x-webhook": (data, { id, timestamp, sequence_number: number }) =>
    `{"id":"${textOf(id)}","event_type":"order.paid","data":${data},"timestamp":"${textOf(timestamp)}",` +
    `"idempotency_key":"${textOf(id)}","source":null,"priority":"normal","sequence_number":${number as unknown as number}}`,
  "cloudevents-binary": (data) => data,
  "cloudevents-structured": (data, { id, tenant_id, timestamp }) =>
    `{"specversion":"1.0","id":"${textOf(id)}","source":"/tenants/${textOf(tenant_id)}","type":"order.paid",` +
    `"time":"${textOf(timestamp)}","datacontenttype":"application/json","data":${data}}`,
};

async function addWebhooks(scene: TenantScene): Promise<void> {
  const { receiver } = scene;
  // The receiver rejects each body once, so that two attempts can be compared.
  const seen = new Set<string>();
  receiver.script(({ method, path, text }) => {
    if (method === "OPTIONS")
      return { headers: { "WebHook-Allowed-Origin": "*", "WebHook-Allowed-Rate": "*" } };
    const attempt = `${path} ${text}`;
    const isFirst = !seen.has(attempt);
    seen.add(attempt);
    return { status: isFirst ? 500 : 200 };
  });
  for (const profile of Object.keys(profiles)) {
    const isCloudEvent = profile.startsWith("cloudevents");
    const id = await scene.addWebhook({
      ...soon,
      url: receiver.url(`/${profile}`),
      profile: isCloudEvent ? "cloudevents" : profile,
      circuit_breaker_config: { enabled: false },
      ...(isCloudEvent && { payload_format: profile, bearer_token: "content-token" }),
    });
    await eventually(`the webhook of ${profile} is active`, {
      ask: async () => (await scene.api.get(`/v1/webhooks/${id}`)).body,
      holds: ({ status }) => (status as unknown) === "active",
    });
  }
}

/** All distinct bodies that were received, by profile. */
async function bodiesOf(
  scene: TenantScene,
  count: number,
): Promise<Readonly<Record<string, readonly string[]>>> {
  const posts = () => scene.receiver.requests.filter(({ method }) => method === "POST");
  await scene.receiver.waitUntil(() => posts().length >= count);
  return Object.fromEntries(
    Object.keys(profiles).map((profile) => {
      const own = posts().filter(({ path }) => path === `/${profile}`);
      return [profile, [...new Set(own.map(({ text }) => text))].toSorted()];
    }),
  );
}

function expected(receipts: readonly (readonly [data: string, receipt: Json])[]) {
  return Object.fromEntries(
    Object.entries(profiles).map(([profile, body]) => [
      profile,
      receipts.map(([data, receipt]) => body(data, receipt)).toSorted(),
    ]),
  );
}

const attemptsOfAll = 2 * Object.keys(profiles).length;

export const content: Scenarios = {
  "the text of data reaches receivers of every profile as published": async (scene) => {
    await addWebhooks(scene);
    const receipts: (readonly [data: string, receipt: Json])[] = [];
    for (const [what, data] of Object.entries(texts)) {
      const raw = `{"event_type":"order.paid", "data" : ${data} }`;
      const published = await scene.api.post("/v1/events", undefined, { raw });
      assert.equal(published.status, 202, `${what}: ${published.text}`);
      assert.equal(published.body["deliveries"], Object.keys(profiles).length);
      receipts.push([data, published.body]);
      const { text } = await scene.api.get(`/v1/events/${textOf(published.body["id"])}`);
      assert.ok(text.includes(`,"data":${data},"metadata":null,`), `${what}: ${text}`);
    }
    assert.deepEqual(await bodiesOf(scene, receipts.length * attemptsOfAll), expected(receipts));
  },

  "a batch and a replay keep the text of every event": async (scene) => {
    await addWebhooks(scene);
    const datas = Object.values(texts);
    const events = datas.map((data) => `{"data":${data},"event_type":"order.paid"}`);
    // One event is rejected, to show that texts are not assigned to the wrong event. Another one has a member name with
    // escapes.
    const raw = `{"events":[ 5, ${events.join(" , ")}, {"event_type":"order.paid","d\\u0061ta": {"n":1.0}} ]}`;
    const published = await scene.api.post("/v1/events/batch", undefined, { raw });
    assert.equal(published.status, 202, published.text);
    const [refused, ...results] = itemsOf(published.body["results"]);
    assert.equal(refused?.["error"]?.["code"], "invalid_request");
    const receipts = [...datas, '{"n":1.0}'].map((data, index) => [data, results[index] as Json] as const);
    assert.deepEqual(await bodiesOf(scene, receipts.length * attemptsOfAll), expected(receipts));

    scene.receiver.clear();
    const [data, receipt] = receipts[0] ?? assert.fail();
    const replayed = await scene.api.post(`/v1/events/${textOf(receipt["id"])}/replay`);
    assert.equal(replayed.status, 202, replayed.text);
    assert.deepEqual(await bodiesOf(scene, attemptsOfAll / 2), expected([[data, receipt]]));
  },

  "metadata keeps its text too": async (scene) => {
    await scene.addWebhook();
    const metadata = '{ "9":1, "id": 9007199254740993, "1": 1e400 }';
    const raw = `{"event_type":"order.paid","metadata":${metadata},"data":{"n":1},"links":[{"rel":"self"}]}`;
    const published = await scene.api.post("/v1/events", undefined, { raw });
    assert.equal(published.status, 202, published.text);
    const shown = `"data":{"n":1},"metadata":${metadata},"links":[{"rel":"self"}]`;
    const [received] = await scene.receiver.waitForRequests(1);
    assert.ok(received !== undefined && received.text.endsWith(`,${shown}}`), received?.text ?? "");
    const { text } = await scene.api.get(`/v1/events/${textOf(published.body["id"])}`);
    assert.ok(text.includes(`,${shown},`), text);
  },

  "TS16-48 data without a member is withheld only from webhooks of ts-16a, even on redelivery": async (
    scene,
  ) => {
    const { receiver } = scene;
    await scene.addWebhook({ url: receiver.url("/standard") });
    const strict = await scene.addWebhook({ url: receiver.url("/ts-16a"), profile: "ts-16a" });
    const published = await scene.api.post("/v1/events", undefined, {
      raw: '{"event_type":"order.paid","data":{ \n}}',
    });
    assert.deepEqual([published.status, published.body["deliveries"]] as unknown[], [202, 2], published.text);
    const id = textOf(published.body["id"]);
    const states = async () =>
      (await scene.list(`/v1/events/${id}/deliveries`))
        .map((delivery) => `${textOf(delivery["status"])} ${String(delivery["reason"] as unknown)}`)
        .toSorted();
    const refused = "exhausted empty_data";
    await eventually("one has it, one refused it", {
      ask: states,
      holds: (found) => found.join() === `${refused},success null`,
    });
    const command = { webhook_ids: [strict] };
    assert.equal((await scene.api.post(`/v1/events/${id}/replay`, command)).status, 202);
    await eventually("it is refused again", {
      ask: states,
      holds: (found) => found.join() === `${refused},${refused},success null`,
    });
    assert.deepEqual(
      receiver.requests.map(({ path, text }) => [path, text.includes('"data":{ \n}}')]),
      [["/standard", true]],
    );
    const { body } = await scene.api.get(`/v1/webhooks/${strict}`);
    assert.equal(body["status"], "active", "what was published is not the endpoint's fault");
  },

  "a duplicate name in one object is rejected, however it is escaped": async (scene) => {
    const twice: Readonly<Record<string, string>> = {
      '{"event_type":"order.paid","data":{"a":1,"a":1}}': "data.a",
      '{"event_type":"order.paid","data":{"l":[{},{"a":{"b":1,"c":2,"\\u0062":3}}]}}': "data.l[1].a.b",
      '{"event_type":"order.paid","data":{"n":1},"data":{"n":2}}': "data",
      '{"event_type":"order.paid","data":{"n":1},"metadata":{"":1,"":1}}': "metadata.",
    };
    for (const [raw, field] of Object.entries(twice)) {
      const refused = await scene.api.post("/v1/events", undefined, { raw });
      assertProblem(refused, { status: 400, code: "invalid_request" });
      assert.deepEqual(fieldsOf(refused), [field]);
      // Only this event of the batch is rejected.
      const good = '{"event_type":"order.paid","data":{"n":1}}';
      const batch = await scene.api.post("/v1/events/batch", undefined, {
        raw: `{"events":[${raw},${good}]}`,
      });
      assert.equal(batch.status, 202, batch.text);
      const [spoilt, accepted] = itemsOf(batch.body["results"]);
      assert.deepEqual(
        [spoilt?.["error"]?.["code"], fieldOf(itemsOf(spoilt?.["error"]?.["errors"]), "field")] as unknown[],
        ["invalid_request", [field]],
      );
      assert.equal(typeof accepted?.["id"], "string", batch.text);
    }
    // The same name may occur in two different objects.
    await scene.publish({ data: { a: { a: 1 }, b: [{ a: 1 }, { a: 1 }] } });
  },

  "under one key, numbers that a double cannot distinguish are two events, and different white space is one event":
    async (scene) => {
      const publish = (data: string) =>
        scene.api.post("/v1/events", undefined, {
          raw: `{"event_type":"order.paid","idempotency_key":"number","data":${data}}`,
        });
      const first = await publish('{"n":9007199254740993,"t":" a  b "}');
      assert.equal(first.status, 202, first.text);
      const spaced = await publish('\n{ "n" : 9007199254740993 ,\t"t":" a  b " }');
      assert.deepEqual([spaced.body["id"], spaced.body["duplicate"]] as unknown[], [first.body["id"], true]);
      for (const other of ['{"n":9007199254740992,"t":" a  b "}', '{"n":9007199254740993,"t":" a b "}'])
        assertProblem(await publish(other), { status: 422, code: "event_key_reused" });
    },
};
