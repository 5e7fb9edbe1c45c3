import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo, LookupFunction } from "node:net";
import { test } from "node:test";
import { createSmtpMailer } from "../../src/system/mail/smtp-mailer.ts";
import { openRabbitMqQueue } from "../../src/queue/rabbitmq/open.ts";
import { openPostgresStore } from "../../src/store/postgres/open.ts";
import { systemClock as clock } from "../../src/system/clock.ts";
import { createSystemRandom } from "../../src/system/random.ts";
import { OtlpTracer } from "../../src/system/telemetry/otlp-tracer.ts";
import { samplingOf } from "../../src/domain/tracing/sampling.ts";
import { createTestVirtualHost, RecordedLog } from "../conformance/queue/rabbitmq-broker.fixture.ts";
import { openRedis, sharedRedisUrl } from "../conformance/shared-state/redis-state.fixture.ts";
import { createTestDatabase } from "../conformance/store/postgres-database.fixture.ts";
import { start } from "../conformance/store/scene.fixture.ts";
import { startMailServer } from "../peers/mail-server.ts";

/** Only the lookup under test can resolve this name; the system has no such name. */
const name = "server.posthorn.invalid";

function lookupHere(): { readonly lookup: LookupFunction; readonly asked: string[] } {
  const asked: string[] = [];
  const lookup: LookupFunction = (hostname, options, callback) => {
    asked.push(hostname);
    if (options.all === true) callback(null, [{ address: "127.0.0.1", family: 4 }]);
    else callback(null, "127.0.0.1", 4);
  };
  return { lookup, asked };
}

function renamed(address: string): string {
  const url = new URL(address);
  url.hostname = name;
  return url.href;
}

test("PostgreSQL is found by the configured lookup, over every connection", async (t) => {
  const database = await createTestDatabase();
  t.after(() => database.drop());
  const { lookup, asked } = lookupHere();
  const masterKeyIds = { current: "key-1", previous: [] };
  const store = await openPostgresStore({ url: renamed(database.url), now: start, masterKeyIds, lookup });
  assert.ok(asked.length >= 2, String(asked.length));
  await store.close();
  assert.deepEqual([...new Set(asked)], [name]);
});

test("RabbitMQ is found by the configured lookup", async (t) => {
  const virtualHost = await createTestVirtualHost();
  t.after(() => virtualHost.drop());
  const { lookup, asked } = lookupHere();
  const telemetry = { log: new RecordedLog() };
  const parts = { clock, random: createSystemRandom(), telemetry, prefix: "named", lookup };
  const queue = await openRabbitMqQueue({ url: renamed(virtualHost.url), ...parts });
  await queue.close();
  assert.deepEqual(asked, [name, name]);
});

test("Redis is found by the configured lookup", async () => {
  const { lookup, asked } = lookupHere();
  const state = await openRedis({ url: renamed(sharedRedisUrl), lookup });
  await state.close();
  assert.ok(asked.length > 0);
  assert.deepEqual([...new Set(asked)], [name]);
});

test("a mail server is found by the configured lookup, and a failure is reported", async (t) => {
  const server = await startMailServer(t);
  const { lookup, asked } = lookupHere();
  const mail = {
    to: "a@example.com",
    channelId: "c",
    subject: "s",
    text: "t",
    html: "<p>t</p>",
    messageId: "<1@example.com>",
    unsubscribeUrl: null,
  };
  const mailer = createSmtpMailer({
    url: renamed(server.url),
    from: "p@example.com",
    requiresTls: false,
    lookup,
  });
  assert.deepEqual(await mailer.send(mail), { kind: "sent" });
  assert.deepEqual(asked, [name]);
  mailer.close();
  assert.equal(server.mails.length, 1);
  const unknown: LookupFunction = (hostname, _options, callback) =>
    callback(Object.assign(new Error(`cannot resolve ${hostname}`), { code: "EAI_AGAIN" }), "");
  const lost = createSmtpMailer({
    url: renamed(server.url),
    from: "p@example.com",
    requiresTls: false,
    lookup: unknown,
  });
  const result = await lost.send(mail);
  lost.close();
  assert.equal(result.kind, "unreachable");
  assert.match("error" in result ? result.error : "", /cannot resolve/);
  const closed = createSmtpMailer({
    url: `smtp://${name}:1`,
    from: "p@example.com",
    requiresTls: false,
    lookup,
  });
  assert.equal((await closed.send(mail)).kind, "unreachable");
  closed.close();
});

test("a collector of traces is found by the configured lookup", async (t) => {
  const arrived = Promise.withResolvers<string>();
  const collector = createServer((request, response) => {
    arrived.resolve(request.headers.host ?? "");
    request.resume();
    response.end("{}");
  });
  await new Promise<void>((resolve) => collector.listen(0, "127.0.0.1", resolve));
  t.after(() => collector.close());
  const { port } = collector.address() as AddressInfo;
  process.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = `http://${name}:${port}`;
  t.after(() => delete process.env["OTEL_EXPORTER_OTLP_ENDPOINT"]);
  const sampling = samplingOf("always_on", undefined);
  assert.ok(sampling !== null);
  const { lookup, asked } = lookupHere();
  const tracer = new OtlpTracer({ sampling, serviceVersion: "1", clock, log: new RecordedLog(), lookup });
  tracer.ended({
    name: "posthorn.deliver",
    kind: "client",
    traceId: "a".repeat(32),
    spanId: "b".repeat(16),
    parentSpanId: null,
    isParentRemote: false,
    state: null,
    startedAt: 1,
    endedAt: 2,
    error: null,
    attributes: {},
    links: [],
  });
  await tracer.close();
  assert.equal(await arrived.promise, `${name}:${port}`);
  assert.deepEqual(asked, [name]);
});
