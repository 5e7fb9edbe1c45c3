import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { clientAddressReader } from "../../http/serve-inbound.ts";
import { ManualClock } from "../../engine/manual-clock.fixture.ts";
import type { LogFields } from "../../ports/telemetry.ts";
import { FailedSenders } from "./request-admission.ts";
import { LimitedLog } from "./limited-log.ts";

suite("limits of failed senders", () => {
  const fail = (senders: FailedSenders, count: number, address: string, hadProof = false): void => {
    for (let n = 0; n < count; n += 1) senders.failed("s", address, hadProof);
  };

  test("an address that fails often needs a valid signature, at that source only, and is forgiven over time", () => {
    const clock = new ManualClock();
    const senders = new FailedSenders(clock);
    fail(senders, 29, "192.0.2.1");
    assert.equal(senders.limit("s", "192.0.2.1"), null);
    fail(senders, 1, "192.0.2.1");
    assert.deepEqual(senders.limit("s", "192.0.2.1"), {
      needsProof: true,
      isClosed: false,
      retryAfterSeconds: 2,
    });
    assert.deepEqual([senders.limit("s", "192.0.2.2"), senders.limit("t", "192.0.2.1")], [null, null]);
    clock.advance(2_001);
    assert.equal(senders.limit("s", "192.0.2.1"), null);
  });

  test("an address that sent an authentic message is not blocked by invalid signatures of others behind it", () => {
    const clock = new ManualClock();
    const senders = new FailedSenders(clock);
    fail(senders, 300, "192.0.2.1", true);
    assert.equal(senders.limit("s", "192.0.2.1")?.isClosed, true);
    senders.verified("s", "192.0.2.1");
    fail(senders, 300, "192.0.2.1", true);
    assert.equal(senders.limit("s", "192.0.2.1"), null);
  });

  test("addresses of one IPv6 network count as one, and memory is bounded", () => {
    const senders = new FailedSenders(new ManualClock());
    for (let n = 0; n < 40; n += 1) senders.failed("s", `2001:db8:0:1::${n.toString(16)}`, false);
    assert.equal(senders.size, 1);
    assert.equal(senders.limit("s", "2001:0db8::1:ffff:0:0:9")?.needsProof, true);
    assert.equal(senders.limit("s", "2001:db8:0:2::1"), null);
    for (let n = 0; n < 20_000; n += 1)
      senders.failed("s", `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`, false);
    assert.equal(senders.size, 10_000);
  });
});

test("each kind of line is logged once a minute, with the count of the rest", () => {
  const clock = new ManualClock();
  const written: string[] = [];
  const write = (fields: LogFields, message: string): void =>
    void written.push(`${message} ${JSON.stringify(fields)}`);
  const log = new LimitedLog(clock, { debug: write, info: write, warn: write, error: write });
  for (let n = 0; n < 1_000; n += 1) log.warn({ sourceId: n % 2 === 0 ? "a" : "b" }, "refused");
  log.error({}, "failed");
  assert.deepEqual(written, ['refused {"sourceId":"a"}', "failed {}"]);
  clock.advance(60_000);
  assert.deepEqual(written.slice(2), [
    'refused (more) {"count":999,"seconds":60,"sources":{"b":500,"a":499}}',
  ]);
  log.warn({ sourceId: "a" }, "refused");
  assert.equal(written.length, 3);
  log.stop();
  assert.deepEqual(written.slice(3), ['refused (more) {"count":1,"seconds":60,"sources":{"a":1}}']);
  assert.equal(clock.timers, 0);
});

test("the address of a sender is the last untrusted one in X-Forwarded-For", () => {
  const read = clientAddressReader(["10.0.0.0/8", "fd00::/8"]);
  const cases: readonly (readonly [peer: string, fields: readonly string[], expected: string])[] = [
    ["203.0.113.5", ["192.0.2.1"], "203.0.113.5"],
    ["::ffff:203.0.113.5", [], "203.0.113.5"],
    ["10.1.1.1", [], "10.1.1.1"],
    ["10.1.1.1", ["192.0.2.1"], "192.0.2.1"],
    ["::ffff:10.1.1.1", ["6.6.6.6, 192.0.2.1, 10.2.2.2"], "192.0.2.1"],
    ["10.1.1.1", ["6.6.6.6", "192.0.2.1"], "192.0.2.1"],
    ["fd00::1", ["[2001:db8::1]:443"], "2001:db8::1"],
    ["10.1.1.1", ["192.0.2.1:5000"], "192.0.2.1"],
    ["10.1.1.1", ["192.0.2.1, nonsense"], "10.1.1.1"],
    ["10.1.1.1", ["nonsense, 10.3.3.3"], "10.3.3.3"],
  ];
  for (const [peer, fields, expected] of cases) {
    const rawHeaders = fields.flatMap((value) => ["X-Forwarded-For", value]);
    assert.equal(read(peer, rawHeaders), expected, `${peer} ${fields.join(" | ")}`);
  }
});
