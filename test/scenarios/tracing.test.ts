/** Traces as a collector receives them, from a publisher through a failed and a successful attempt to the receiver. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { openPosthorn, type Posthorn } from "../../src/app/library.ts";
import { type ReceivedRequest, type Receiver, startReceiver } from "../peers/receiver.ts";
import { TraceCollector } from "../peers/trace-collector.ts";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const traceparent = `00-${traceId}-b7ad6b7169203331-01`;
const tracestate = "congo=t61rcWkgMzE";
const secretOfPayload = "a secret of the payload";
const variables = {
  OTEL_SERVICE_NAME: "hooks",
  OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
  OTEL_EXPORTER_OTLP_HEADERS: "x-collector-key=k1",
  OTEL_TRACES_SAMPLER: "traceidratio",
  OTEL_TRACES_SAMPLER_ARG: "0",
};

describe("tracing", () => {
  let folder: string;
  let collector: TraceCollector;
  let receiver: Receiver;
  let posthorn: Posthorn;
  const requests = new Map<string, readonly ReceivedRequest[]>();

  const settings = () => ({ ...variables, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });

  /** Makes the first request fail; returns both requests. */
  async function delivered(
    tenantId: string,
    given: { readonly traceContext?: "always" | "off" | "forward_with_state"; readonly traced: boolean },
  ): Promise<readonly ReceivedRequest[]> {
    receiver.clear();
    let answers = 0;
    receiver.script(() => ({ status: answers++ === 0 ? 500 : 200 }));
    await posthorn.tenants.put({ id: tenantId, input: {} });
    const { view } = await posthorn.webhooks.create({
      url: receiver.url(`/hook?token=t0p`),
      events: ["*"],
      tenantId,
      retry: { scheduleMs: [20, 20] },
      ...(given.traceContext !== undefined && { traceContext: given.traceContext }),
    });
    const event = { eventType: "order.created", data: { note: secretOfPayload }, tenantId };
    await posthorn.publish({ ...event, ...(given.traced && { traceparent, tracestate }) });
    const got = [...(await receiver.waitForRequests(2))];
    await posthorn.webhooks.delete(view.webhook.id);
    requests.set(tenantId, got);
    return got;
  }

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "posthorn-tracing-"));
    collector = await TraceCollector.start();
    receiver = await startReceiver();
    Object.assign(process.env, settings());
    posthorn = await openPosthorn({ dataDir: folder, dev: true, tracing: true });
  });
  after(async () => {
    await posthorn.close();
    await receiver.close();
    Object.assign(process.env, Object.fromEntries(Object.keys(settings()).map((name) => [name, ""])));
    await collector.close();
    await rm(folder, { recursive: true });
  });

  const contextOf = (request: ReceivedRequest | undefined): readonly string[] =>
    String(request?.headers["traceparent"]).split("-");

  test("a receiver gets the publisher's trace with its own span id for each request", async () => {
    const [first, second] = await delivered("forwarded", { traced: true });
    assert.deepEqual([contextOf(first)[1], contextOf(second)[1]], [traceId, traceId]);
    assert.deepEqual([contextOf(first)[3], contextOf(second)[3]], ["01", "01"]);
    assert.notEqual(contextOf(first)[2], contextOf(second)[2]);
    assert.ok(!contextOf(first).includes("b7ad6b7169203331"));
    assert.equal(first?.headers["tracestate"], undefined, "nobody agreed to it");
  });

  test("tracestate is sent to receivers that agreed to it, and nothing to those without tracing", async () => {
    const [agreed] = await delivered("agreed", { traced: true, traceContext: "forward_with_state" });
    assert.equal(agreed?.headers["tracestate"], tracestate);
    const [off] = await delivered("off", { traced: true, traceContext: "off" });
    assert.equal(off?.headers["traceparent"], undefined);
  });

  test("a trace is created only for receivers that want one", async () => {
    const [silent] = await delivered("silent", { traced: false });
    assert.equal(silent?.headers["traceparent"], undefined);
    const [asked] = await delivered("asked", { traced: false, traceContext: "always" });
    assert.match(String(asked?.headers["traceparent"]), /^00-[0-9a-f]{32}-[0-9a-f]{16}-03$/);
  });

  test("the collector gets publish and attempts, linked, with the ids that the receiver saw", async () => {
    await posthorn.close();
    assert.deepEqual([...new Set(collector.paths)], ["POST /v1/traces"]);
    assert.equal(collector.headers[0]?.["x-collector-key"], "k1");
    const spans = collector.spans.filter(
      ({ attributes }) => attributes["posthorn.tenant.id"] === "forwarded",
    );
    const [publish, failed, accepted] = spans.toSorted((left, right) => left.startMs - right.startMs);
    assert.ok(publish !== undefined && failed !== undefined && accepted !== undefined && spans.length === 3);
    const sent = requests.get("forwarded")?.map((request) => contextOf(request)[2]);
    assert.deepEqual([failed.spanId, accepted.spanId], sent);
    assert.deepEqual(new Set(spans.map((span) => span.traceId)), new Set([traceId]));
    assert.deepEqual(
      [publish, failed, accepted].map(({ name, kind, parentSpanId, isError }) => [
        name,
        kind,
        parentSpanId,
        isError,
      ]),
      [
        ["posthorn.publish", 4, "b7ad6b7169203331", false],
        ["posthorn.deliver", 3, publish.spanId, true],
        ["posthorn.deliver", 3, publish.spanId, false],
      ],
    );
    const toPublish = { traceId, spanId: publish.spanId, attributes: { "posthorn.relation": "publish" } };
    const toEarlier = {
      traceId,
      spanId: failed.spanId,
      attributes: { "posthorn.relation": "earlier_attempt" },
    };
    assert.deepEqual([failed.links, accepted.links], [[toPublish], [toPublish, toEarlier]]);
    assert.deepEqual(
      [failed, accepted].map(({ attributes }) => attributes["http.response.status_code"]),
      [500, 200],
    );
    assert.ok(failed.endMs <= accepted.startMs && failed.startMs < failed.endMs);
    assert.deepEqual(
      [publish.resource["service.name"], publish.resource["deployment.environment.name"]],
      ["hooks", "test"],
    );
  });

  test("without a publisher's trace, failures are sampled with their publish, and successes are not", () => {
    const spans = collector.spans.filter(({ attributes }) => attributes["posthorn.tenant.id"] === "silent");
    const [publish, failed] = spans.toSorted((left, right) => left.startMs - right.startMs);
    assert.equal(spans.length, 2);
    assert.equal(failed?.attributes["posthorn.kept"], "failed");
    assert.deepEqual([publish?.parentSpanId, failed?.parentSpanId], [undefined, publish?.spanId]);
  });

  test("no span contains payload, query or headers", () => {
    const text = JSON.stringify(collector.spans);
    assert.ok(!text.includes(secretOfPayload) && !text.includes("t0p") && !text.includes("/hook"));
  });
});
