import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { CloudEvent, type CloudEventV1, HTTP } from "cloudevents";
import type { PayloadFormatName } from "../../../src/domain/profile.ts";
import type { PublishInput } from "../../../src/features/services.ts";
import { type EngineWorld, openEngineWorld } from "../../scenarios/engine-world.fixture.ts";
import { type ReceivedRequest, type Receiver, startReceiver } from "../receiver.ts";

/** The SDK of the CloudEvents project reads messages of the `cloudevents` profile in both content modes. */
let world: EngineWorld;
let receiver: Receiver;

before(async () => {
  world = await openEngineWorld();
  receiver = await startReceiver();
  for (const mode of ["structured", "binary"] as const) {
    await world.addWebhook(
      {
        url: receiver.url(`/${mode}`),
        events: ["*"],
        profile: "cloudevents",
        payloadFormat: `cloudevents-${mode}` satisfies PayloadFormatName,
      },
      { bearer: "token-1" },
    );
  }
});
after(async () => {
  await world.close();
  await receiver.close();
});

async function deliver(
  input: PublishInput,
): Promise<{ readonly id: string; readonly requests: readonly ReceivedRequest[] }> {
  receiver.clear();
  const id = await world.publish("default", input);
  return { id, requests: await receiver.waitForRequests(2) };
}

function read(requests: readonly ReceivedRequest[], path: string): CloudEventV1<unknown> {
  const request = requests.find((one) => one.path === path);
  assert.ok(request !== undefined);
  const binary = request.headers["ce-id"] !== undefined;
  assert.equal(binary, path === "/binary");
  const isJson = (request.headers["content-type"] ?? "").includes("json");
  const event = HTTP.toEvent({
    headers: request.headers,
    body: isJson || path === "/structured" ? request.text : request.body,
  });
  assert.ok(!Array.isArray(event));
  assert.equal(new CloudEvent(event).validate(), true);
  return event;
}

test("the npm package cloudevents reads JSON events in structured and binary mode", async () => {
  const data = { order: 17, note: "Größe ✓", list: [1, { a: "}" }] };
  const timestamp = "2026-03-15T12:34:56.789Z";
  const { id, requests } = await deliver({ eventType: "order.created", data, timestamp, source: "/shops/7" });
  for (const path of ["/structured", "/binary"]) {
    const event = read(requests, path);
    assert.equal(event.id, id, path);
    assert.equal(event.type, "order.created");
    assert.equal(event.source, "/shops/7");
    assert.equal(event.specversion, "1.0");
    assert.equal(new Date(event.time ?? "").toISOString(), timestamp);
    assert.deepEqual(event.data, data);
  }
});

test("the npm package cloudevents reads other media types, text and bytes, byte for byte", async () => {
  const contents = [
    ["application/xml", Buffer.from("<a>ü</a>")],
    ["application/octet-stream", Buffer.from([0, 255, 1, 254])],
  ] as const;
  for (const [contentType, body] of contents) {
    const { requests } = await deliver({ eventType: "file.stored", raw: { contentType, body } });
    for (const path of ["/structured", "/binary"]) {
      const event = read(requests, path);
      assert.equal(event.datacontenttype, contentType, path);
      assert.deepEqual(bytesOf(event), body, `${path} ${contentType}`);
    }
  }
});

test("CEW-3-1 CEW-3.1-1 every delivery carries the bearer token in Authorization", async () => {
  const { requests } = await deliver({ eventType: "order.created", data: { a: 1 } });
  for (const request of requests) assert.equal(request.headers.authorization, "Bearer token-1");
});

function bytesOf(event: CloudEventV1<unknown>): Buffer {
  if (event.data_base64 !== undefined) return Buffer.from(event.data_base64, "base64");
  const { data } = event;
  return typeof data === "string" ? Buffer.from(data) : Buffer.from(data as Uint8Array);
}
