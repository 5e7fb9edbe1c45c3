/**
 * The gateway's log when messages are forwarded, rejected or fail. It must never contain a payload or a part of one.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../../src/engine/manual-clock.fixture.ts";
import { GatewayInbound } from "../../../src/features/gateway/inbound.ts";
import { loggedError } from "../../../src/features/gateway/limited-log.ts";
import { RequestLog } from "../../../src/features/gateway/request-log.ts";
import { newSource } from "../../../src/features/gateway/source-service.ts";
import type { LogFields, Logger } from "../../../src/ports/telemetry.ts";
import { startReceiver } from "../../peers/receiver.ts";
import { openServer } from "../api/running-server.fixture.ts";
import { hookOf, makeSource, modes, post, signed } from "./scene.fixture.ts";

/** Asserts that none of these values occurs in a log line: as text, as bytes, in the usual encodings, or in part. */
const canary = "canary-7f3a9c51e8";

/** All lines of every level, with all their fields. */
function recordingLog(): { readonly log: Logger; readonly lines: string[] } {
  const lines: string[] = [];
  const write =
    (level: string) =>
    (fields: LogFields, message: string): void =>
      void lines.push([level, message, ...textsIn(fields)].join(" "));
  return {
    log: { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") },
    lines,
  };
}

function textsIn(value: unknown, depth = 0): readonly string[] {
  if (value instanceof Uint8Array) return [Buffer.from(value).toString("latin1")];
  if (value instanceof Error) return [String(value), value.stack ?? "", ...textsIn(value.cause, depth + 1)];
  if (typeof value !== "object" || value === null || depth > 6) return [String(value)];
  return [...Object.keys(value), ...Object.values(value).flatMap((member) => textsIn(member, depth + 1))];
}

function assertNoPayload(lines: readonly string[]): void {
  const parts = [canary, canary.slice(0, 8), canary.slice(-8)];
  const plain = parts.flatMap((part) => [part, Buffer.from(part).toString("hex")]);
  // The base64 encoding of a text depends on its offset, so all three offsets are checked.
  const shifted = parts.flatMap((part) => [part, `x${part}`, `xx${part}`]);
  const forms = [...plain, ...shifted.map((part) => Buffer.from(part).toString("base64").slice(4, -4))];
  for (const line of lines)
    for (const form of forms)
      if (form.length >= 6)
        assert.ok(!line.includes(form), `a payload is in the log: ${line.split(" ", 8).join(" ")}`);
}

test("EDS-11.6-2 no line of the gateway's log, at any level, has a part of a payload, whatever its outcome", async (t) => {
  const { log, lines } = recordingLog();
  const settings = { dev: true, logLevel: "debug", payloadBytesMax: 4_096 } as const;
  const server = await openServer(settings, { log });
  const { admin } = server;
  const receiver = await startReceiver();
  t.after(() => receiver.close());
  let n = 0;
  const payload = (): string => JSON.stringify({ [canary]: { text: canary, n: (n += 1) } });
  for (const mode of modes) {
    const rules = { filter: { body: { ignored: { $exist: false } } }, deduplicate: { window_ms: 60_000 } };
    const more = { retries_within_budget: true, budget_ms: 1_500 };
    const source = await makeSource(admin, {
      mode,
      more,
      webhooks: [hookOf(receiver, { timeout_ms: 1_000 })],
      rules,
    });
    const send = (body: string, headers: object = {}): Promise<{ readonly status: number }> =>
      post(source.address, body, { headers: { ...signed(body), ...headers } });
    const accepted = payload();
    assert.ok((await send(accepted)).status < 300);
    assert.ok((await send(accepted)).status < 300, "a repeat");
    assert.equal((await post(source.address, payload())).status, 401);
    assert.equal((await send(payload(), { "x-hub-signature-256": `sha256=${"0".repeat(64)}` })).status, 401);
    assert.equal((await send(payload(), { "idempotency-key": '"' })).status, 400);
    const key = { "idempotency-key": `"${mode}"` };
    assert.ok((await send(payload(), key)).status < 300);
    await send(payload(), key);
    assert.ok((await send(JSON.stringify({ ignored: canary }))).status < 300);
    assert.ok((await send(canary, { "content-type": canary.replaceAll("-", "") })).status < 300, "no JSON");
    assert.equal((await send(payload() + " ".repeat(5_000))).status, 413);
    assert.equal((await post(source.address, payload(), { method: "PATCH" })).status, 405);
    receiver.script(({ text }) => ({ status: 500, body: text }));
    await send(payload());
    receiver.script(() => "reset");
    await send(payload());
    receiver.script(({ text }) => ({ status: 400, body: text, headers: { "x-echo": text } }));
    await send(payload());
    receiver.script(() => ({}));
    await admin.call("PATCH", `/v1/connections/${String(source.connections[0])}`, { body: { paused: true } });
    await send(payload());
    await admin.call("PATCH", `/v1/connections/${String(source.connections[0])}`, {
      body: { paused: false },
    });
    await admin.call("PATCH", `/v1/sources/${source.id}`, { body: { active: false } });
    assert.equal((await send(payload())).status, 503);
  }
  await server.close();
  assert.ok(lines.some((line) => line.includes("a message to the gateway was not authentic")));
  assertNoPayload(lines);
});

test("EDS-11.6-2 errors that quote a payload are logged without it, both for a failed message and a failed row", async () => {
  const { log, lines } = recordingLog();
  const clock = new ManualClock();
  const body = Buffer.from(`{"name":"${canary}"`);
  const quoting = [
    () => JSON.parse(canary) as never,
    () => assert.fail(`invalid input syntax for type json: "${body.toString()}" in row 1`),
    () => assert.fail(`value too long: ${canary.slice(0, 9)}`),
  ];
  const failing = { addRequests: async () => assert.fail(`row ("${canary}") cannot be stored`) };
  const requests = new RequestLog({ store: failing as never, clock, log });
  for (const fail of quoting) {
    const source = { ...newSource, id: "s", tenantId: "t", tokens: [], createdAt: 0 };
    const inbound = new GatewayInbound({
      directory: { sourceByParty: () => source } as never,
      box: {
        verifier: () => ({ methods: ["POST"], probes: [], secretParameters: [], receive: fail }),
      } as never,
      access: { nextId: () => "0198c3f2-7a4e-7c11-9d3e-5b0a6f1e2d3c" },
      deliverer: {} as never,
      requests: Object.assign(requests, { keepsBody: () => false }),
      clock,
      telemetry: { log, metrics: {} as never },
      deploymentId: "0123456789ab",
    });
    const answer = await inbound.handle({ method: "POST", url: "/_webhooks/shop", rawHeaders: [], body });
    assert.equal(answer.status, 503);
    assert.ok(!JSON.stringify(answer).includes(canary));
  }
  clock.advance(1_000);
  await clock.turn();
  assert.ok(
    lines.filter((line) => line.includes("a request of the gateway failed")).length === quoting.length,
  );
  assert.ok(lines.some((line) => line.includes("to the log failed")));
  assert.match(lines.join("\n"), /invalid input syntax for type json/, "what went wrong can still be told");
  assertNoPayload(lines);
  assertNoPayload([loggedError(new Error(canary)), loggedError(canary)]);
  clock.advance(0);
});
