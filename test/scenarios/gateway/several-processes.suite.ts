/**
 * Sources across several processes: two gateways, the API and workers. The other processes must know each message that
 * a gateway accepts.
 */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { type ReceivedRequest, type Receiver, startReceiver } from "../../peers/receiver.ts";
import { type Client, createClient, itemsOf } from "../api/client.fixture.ts";
import { eventually } from "../eventually.fixture.ts";
import type { Cluster, ClusterProcess } from "../postgres/cluster.fixture.ts";
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

const urlOf = (gateway: ClusterProcess | undefined) => gateway?.url ?? gateway?.probesUrl;

export function gatewayOfSeveralProcesses(name: string, open: () => Promise<Cluster>): void {
  suite(`the gateway over several processes: ${name}`, () => {
    let cluster: Cluster;
    let receiver: Receiver;
    let gateways: ClusterProcess[] = [];
    let worker: ClusterProcess;
    let admin: Client;
    before(async () => {
      [cluster, receiver] = await Promise.all([open(), startReceiver()]);
      const [api, gateway, other] = await cluster.start("api,scheduler,gateway", "gateway", "worker");
      assert.ok(api !== undefined && gateway !== undefined && other !== undefined);
      [gateways, worker] = [[gateway, api], other];
      admin = createClient({ baseUrl: api.url ?? "", key: cluster.adminKey });
    });
    after(async () => {
      await cluster.close();
      await receiver.close();
    });

    /** Both gateways have loaded the source's last change, which includes its connection. */
    async function sourceOf(mode: Mode, webhook: Json = {}): Promise<MadeSource> {
      const source = await makeSource(admin, { mode, webhooks: [hookOf(receiver, webhook)] });
      const last = { allow_put: true };
      assert.equal((await admin.call("PATCH", `/v1/sources/${source.id}`, { body: last })).status, 200);
      for (const gateway of gateways)
        await eventually("the gateway knows the source", {
          ask: async () => (await fetch(`${urlOf(gateway)}${source.path}`)).headers.get("allow"),
          holds: (allow) => allow === "POST, PUT",
        });
      receiver.script(() => ({}));
      receiver.clear();
      return source;
    }

    const send = (at: number, source: MadeSource, body: string, headers: SentHeaders = {}) =>
      post(`${urlOf(gateways[at])}${source.path}`, body, { headers: { ...signed(body), ...headers } });

    const logged = async ({ id }: MadeSource, outcome: string): Promise<readonly Json[]> =>
      itemsOf((await admin.get(`/v1/requests?source_id=${id}&outcome=${outcome}`)).body["data"]);

    for (const mode of modes) {
      test(`EDS-9.7-1 EDS-2-2 ${mode}: odd keys arrive byte for byte, and repeats are known at the other gateway`, async () => {
        const source = await sourceOf(mode);
        for (const [index, key] of oddKeys.entries()) {
          const body = `{ "n": ${index}.0 }`;
          const headers = { "idempotency-key": key };
          const first = await send(index % 2, source, body, headers);
          assert.ok(first.status >= 200 && first.status < 300, `${first.status} ${first.text}`);
          const got = (await receiver.waitForRequests(index + 1))[index] as ReceivedRequest;
          assert.equal(rawHeader(got, "idempotency-key"), key);
          assert.equal(got.text, body);
          const repeat = await send((index + 1) % 2, source, body, headers);
          assert.equal(repeat.status, first.status, repeat.text);
          const other = await send((index + 1) % 2, source, `${body} `, headers);
          assert.equal(other.status, 422, other.text);
        }
        assert.equal(receiver.requests.length, oddKeys.length);
        await eventually("both gateways wrote down what they saw", {
          ask: async () => [await logged(source, "accepted"), await logged(source, "duplicate")],
          holds: (rows) => rows.every(({ length }) => length === oddKeys.length),
        });
      });
    }

    test("EDS-9.7-7 IDK-20 IDK-23 pass_through: a repeat at the other gateway does not wait while the first is in flight", async () => {
      const source = await sourceOf("pass_through");
      let release = (): void => undefined;
      const gate = new Promise<void>((resolve) => (release = resolve));
      receiver.script(async () => {
        await gate;
        return { status: 201 };
      });
      const key = { "idempotency-key": "bare" };
      const before = receiver.requestCount;
      const first = send(0, source, '{"a":1}', key);
      await receiver.waitUntil(() => receiver.requestCount > before);
      const second = await send(1, source, '{"a":1}', key);
      assert.equal(second.status, 409, second.text);
      release();
      assert.equal((await first).status, 201);
      assert.equal((await send(1, source, '{"a":1}', key)).status, 201);
      assert.equal(receiver.requestCount, before + 1);
    });

    test("messages held by one gateway are sent once the connection is resumed elsewhere", async () => {
      const source = await sourceOf("store_and_forward");
      const pause = (paused: boolean) =>
        admin.call("PATCH", `/v1/connections/${source.connections[0]}`, { body: { paused } });
      assert.equal((await pause(true)).status, 200);
      const bodies: string[] = [];
      const held = async (): Promise<number> =>
        cluster.count(
          `SELECT count(*) FROM posthorn.gateway_held WHERE connection = '${source.connections[0]}'`,
        );
      // Waits until both gateways have loaded the pause and hold messages.
      for (const at of [0, 1])
        await eventually("the gateway holds", {
          ask: async () => {
            const before = await held();
            const body = `{"n":${bodies.length}}`;
            bodies.push(body);
            assert.equal((await send(at, source, body)).status, 202);
            return (await held()) > before;
          },
          holds: (isHeld) => isHeld,
        });
      // The gateways are notified slightly later than the API. Messages that they hold until then are sent as well.
      const resumed = pause(false);
      for (let n = 0; n < 10; n += 1) {
        const body = `{"late":${n}}`;
        bodies.push(body);
        assert.equal((await send(n % 2, source, body)).status, 202);
      }
      assert.equal((await resumed).status, 200);
      await receiver.waitForRequests(bodies.length);
      const came = new Set(receiver.requests.map(({ text }) => text));
      assert.deepEqual(
        bodies.filter((body) => !came.has(body)),
        [],
      );
      assert.equal(await held(), 0);
    });

    test("EDS-9.7-2 EDS-9.7-6 a killed gateway and a killed worker change neither key nor event", async () => {
      const source = await sourceOf("store_and_forward", { retry_config: { schedule_ms: [200, 200, 200] } });
      receiver.script(() => ({ status: 503 }));
      const key = { "idempotency-key": '"odd  \\"key\\"";a=1' };
      const first = await send(0, source, '{"a":1}', key);
      assert.equal(first.status, 202, first.text);
      await receiver.waitForRequests(1);
      await Promise.all([gateways[0]?.end("SIGKILL"), worker.end("SIGKILL")]);
      const repeat = await send(1, source, '{"a":1}', key);
      const { event_id: event } = JSON.parse(first.text) as { readonly event_id: string };
      assert.deepEqual(JSON.parse(repeat.text), { event_id: event, duplicate: true });
      receiver.script(() => ({}));
      const [again, next] = await cluster.start("gateway", "worker");
      assert.ok(again !== undefined && next !== undefined);
      [gateways, worker] = [[again, gateways[1] as ClusterProcess], next];
      const got = await receiver.waitForRequests(2);
      for (const request of got) {
        assert.equal(rawHeader(request, "idempotency-key"), key["idempotency-key"]);
        assert.equal(request.text, '{"a":1}');
      }
      const third = await send(0, source, '{"a":1}', key);
      assert.deepEqual(JSON.parse(third.text), { event_id: event, duplicate: true });
      const [row] = await logged(source, "accepted");
      assert.equal(row?.["event_id"], event, "the line of the killed gateway is there");
    });

    test("a gateway serves its addresses and not the API", async () => {
      const url = urlOf(gateways[0]);
      const answer = await fetch(`${url}/v1/sources`, {
        headers: { authorization: `Bearer ${cluster.adminKey}` },
      });
      assert.equal(answer.status, 404);
      assert.equal((await fetch(`${url}/in/${"x".repeat(32)}`, { method: "POST", body: "{}" })).status, 404);
    });
  });
}
