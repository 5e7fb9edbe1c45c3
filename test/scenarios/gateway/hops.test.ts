/** Two deployments in a row, loops, and destinations that fail while they respond. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  answeringThenClosing,
  answeringThenResetting,
  behaviours,
  startHostileReceiver,
} from "../../peers/hostile-receiver.ts";
import { type ReceivedRequest, type Receiver, startReceiver } from "../../peers/receiver.ts";
import { itemsOf } from "../api/client.fixture.ts";
import { openGateway, type RunningServer } from "../api/running-server.fixture.ts";
import { eventually } from "../eventually.fixture.ts";
import {
  hookOf,
  type Json,
  makeSource,
  type MadeSource,
  type Mode,
  modes,
  oddKeys,
  post,
  rawHeader,
  type SentHeaders,
  signed,
} from "./scene.fixture.ts";

let front: RunningServer;
let back: RunningServer;
let receiver: Receiver;

before(async () => {
  [front, back, receiver] = await Promise.all([openGateway(), openGateway(), startReceiver()]);
});
after(async () => {
  await Promise.all([front.close(), back.close()]);
  await receiver.close();
});

function send(world: RunningServer, source: MadeSource, body: string, headers: SentHeaders = {}) {
  return post(`${world.baseUrl}${source.path}`, body, { headers: { ...signed(body), ...headers } });
}

async function rejections(world: RunningServer, { id }: MadeSource): Promise<readonly Json[]> {
  const { body } = await world.admin.get(`/v1/requests?source_id=${id}&outcome=rejected`);
  return body["data"] as unknown as readonly Json[];
}

/** The front deployment forwards to the back deployment, which verifies its signature and forwards to the receiver. */
async function chain(how: { readonly first: Mode; readonly second: Mode }) {
  const second = await makeSource(back.admin, { mode: how.second, webhooks: [hookOf(receiver)] });
  const profile = { profile: "standard", signing: { schemes: ["v1"] }, bearer_token: undefined };
  const first = await makeSource(front.admin, {
    mode: how.first,
    webhooks: [{ url: `${back.baseUrl}${second.path}`, ...profile }],
  });
  const shown = await front.admin.get(`/v1/webhooks/${first.webhooks[0]}/secret`);
  const { secret } = (shown.body["current"] ?? shown.body) as unknown as { readonly secret: string };
  const verification = { type: "standard_webhooks", secrets: [secret] };
  const changed = await back.admin.call("PATCH", `/v1/sources/${second.id}`, { body: { verification } });
  assert.equal(changed.status, 200, changed.text);
  return first;
}

for (const first of modes)
  for (const second of modes)
    test(`EDS-5-1 EDS-9.7-1 a chain of two gateways, ${first} and ${second}: the key arrives byte for byte`, async () => {
      receiver.clear();
      const source = await chain({ first, second });
      for (const [index, key] of oddKeys.entries()) {
        const body = `{ "n": ${index}.0 }`;
        const answer = await send(front, source, body, { "idempotency-key": key });
        assert.ok(answer.status >= 200 && answer.status < 300, `${answer.status} ${answer.text}`);
        const got = (await receiver.waitForRequests(index + 1))[index] as ReceivedRequest;
        assert.equal(rawHeader(got, "idempotency-key"), key);
        assert.equal(got.text, body);
        const hops = (rawHeader(got, "posthorn-hop") ?? "").split(";");
        assert.equal(new Set(hops).size, 2, `one name for each deployment: ${hops.join(";")}`);
      }
      // A repeat is detected at the first hop, so nothing arrives twice.
      const again = await send(front, source, `{ "n": 0.0 }`, { "idempotency-key": oddKeys[0] ?? "" });
      assert.ok(again.status < 300, again.text);
      assert.equal(receiver.requests.length, oddKeys.length);
    });

test("EDS-9.7-7 a chain with pass-through returns the response of the last gateway to the sender", async () => {
  const first = await chain({ first: "pass_through", second: "pass_through" });
  receiver.clear();
  receiver.script(() => ({ status: 422, body: "no" }));
  const refused = await send(front, first, '{"a":1}', { "idempotency-key": '"of the chain"' });
  receiver.script(() => ({ status: 201, body: "made" }));
  assert.equal(refused.status, 422, refused.text);
  const made = await send(front, first, '{"a":1}', { "idempotency-key": '"of the chain"' });
  receiver.script(() => ({}));
  assert.deepEqual([made.status, made.text], [201, "made"]);
});

test("a loop, or more than eight names: 508, and nothing is stored", async () => {
  for (const mode of modes) {
    receiver.clear();
    const source = await makeSource(front.admin, { mode, webhooks: [hookOf(receiver)] });
    const sent = await send(front, source, '{"way":"out"}');
    assert.ok(sent.status < 300, sent.text);
    const [first] = await receiver.waitForRequests(1);
    const own = rawHeader(first as ReceivedRequest, "posthorn-hop") ?? "";
    assert.match(own, /^[0-9a-f]{12}$/);
    const others = Array.from({ length: 9 }, (_, index) => String(index).repeat(12));
    const ways = [own, `${others[0]};${own}`, others.slice(0, 8).join(";"), others.join(";")];
    for (const [index, way] of ways.entries()) {
      const answer = await send(front, source, `{"way":${index}}`, { "posthorn-hop": way });
      assert.equal(answer.status, 508, way);
    }
    const seven = await send(front, source, '{"way":7}', { "posthorn-hop": others.slice(0, 7).join(";") });
    assert.ok(seven.status < 300, seven.text);
    const got = await receiver.waitForRequests(2);
    assert.equal(
      rawHeader(got[1] as ReceivedRequest, "posthorn-hop"),
      [...others.slice(0, 7), own].join(";"),
    );
    const causes = (await rejections(front, source)).map((one) => one["rejection_cause"]);
    assert.deepEqual(
      causes,
      ways.map(() => "loop"),
    );
  }
});

const head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n";
/** Ways in which a destination fails while it responds. The sender gets 504, because the outcome is unknown. */
const deaths = {
  "resets in the middle of its body": answeringThenResetting(`${head}half`),
  "resets in the middle of its head": answeringThenResetting("HTTP/1.1 200 OK\r\nX-"),
  "closes in the middle of its body": answeringThenClosing(`${head}half`),
  "does not respond in time": behaviours.hangAfterRequest,
} as const;

for (const [name, behave] of Object.entries(deaths))
  test(`EDS-9.7-7 EDS-9.7-6 a destination that ${name}: 504, and the repeat is sent under the same key`, async (t) => {
    const dying = await startHostileReceiver({ behave });
    t.after(() => dying.close());
    for (const mode of modes) {
      receiver.clear();
      const source = await makeSource(front.admin, {
        mode,
        more: { budget_ms: 5_000 },
        webhooks: [
          { url: `${dying.origin}/hook`, retry_config: { schedule_ms: [60_000], timeout_ms: 5_000 } },
        ],
      });
      const key = { "idempotency-key": `bare ; "${mode}"` };
      const answer = await send(front, source, '{"a":1}', key);
      assert.equal(answer.status, mode === "pass_through" ? 504 : 202, answer.text);
      if (mode === "pass_through") assert.equal(answer.headers["retry-after"], undefined);
      if (mode === "store_and_forward") await failedFirst(source);
      // Moves the destination to a URL that works.
      const url = receiver.url("/hook");
      const moved = await front.admin.call("PATCH", `/v1/webhooks/${source.webhooks[0]}`, {
        body: { url, bearer_token: "t" },
      });
      assert.equal(moved.status, 200, moved.text);
      const repeat = await send(front, source, '{"a":1}', key);
      assert.equal(repeat.status, mode === "pass_through" ? 200 : 202, repeat.text);
      if (mode === "store_and_forward") await retryNow(source);
      const [got] = await receiver.waitForRequests(1);
      assert.equal(rawHeader(got as ReceivedRequest, "idempotency-key"), key["idempotency-key"]);
    }
  });

/** The delivery to the source's webhook, after one failed attempt. */
async function failedFirst({ webhooks: [webhook] }: MadeSource): Promise<Json> {
  const found = await eventually("the first attempt has failed", {
    ask: async () => itemsOf((await front.admin.get(`/v1/webhooks/${webhook}/deliveries`)).body["data"])[0],
    holds: (delivery) => (delivery?.["status"] as unknown) === "failed",
  });
  return found as unknown as Json;
}

/** Retries immediately instead of waiting for the schedule. */
async function retryNow(source: MadeSource): Promise<void> {
  const { id } = await failedFirst(source);
  const [webhook] = source.webhooks;
  const retried = await front.admin.post(`/v1/webhooks/${webhook}/deliveries/${String(id)}/retry`, {});
  assert.equal(retried.status, 202, retried.text);
}

test("EDS-9.7-7 an unreachable destination is 502, whatever its name", async () => {
  const gone = await startReceiver();
  const url = gone.url("/hook");
  await gone.close();
  const source = await makeSource(front.admin, { mode: "pass_through", webhooks: [{ url }] });
  const answer = await send(front, source, '{"a":1}');
  assert.equal(answer.status, 502, answer.text);
});
