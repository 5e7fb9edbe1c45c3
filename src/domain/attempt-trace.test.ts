import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type AttemptTrace,
  boundedTrace,
  isTraced,
  packTrace,
  traceBytesMax,
  unpackTrace,
} from "./attempt-trace.ts";

const trace: AttemptTrace = {
  url: "https://a.test/hook?a=1",
  httpVersion: "2",
  peerAddress: "192.0.2.7",
  responseHeaders: ["retry-after", "30", "server", "a"],
  timings: { dnsMs: 2, connectMs: 9, tlsMs: null, waitMs: 187 },
  configRevision: 3,
  truncated: false,
};

const bytesOf = (each: AttemptTrace): number => Buffer.byteLength(JSON.stringify(packTrace(each)));

test("a trace that fits is stored completely and read back unchanged", () => {
  assert.equal(boundedTrace(trace), trace);
  assert.deepEqual(unpackTrace(JSON.parse(JSON.stringify(packTrace(trace)))), trace);
  const nowhere = { ...trace, httpVersion: null, peerAddress: null, truncated: true };
  assert.deepEqual(unpackTrace(JSON.parse(JSON.stringify(packTrace(nowhere)))), nowhere);
});

test("unknown data is not read as a trace", () => {
  for (const other of [undefined, null, {}, "text", [1, 2]]) assert.equal(unpackTrace(other), null);
});

test("a trace is at most 1 KiB long, and is marked if it was cut", () => {
  const long = ["x".repeat(5_000), "\u{1F99B}".repeat(2_000), "\u0001".repeat(3_000), "\ud800".repeat(900)];
  for (const text of long)
    for (const given of [
      { ...trace, url: `https://a.test/${text}` },
      { ...trace, responseHeaders: ["x-long", text, "retry-after", "30"] },
      { ...trace, url: `https://a.test/${text}`, responseHeaders: Array.from({ length: 80 }, () => text) },
      { ...trace, responseHeaders: Array.from({ length: 80 }, (_, at) => `x-${at}`) },
    ]) {
      const kept = boundedTrace(given);
      assert.ok(bytesOf(kept) <= traceBytesMax, `${bytesOf(kept)} bytes`);
      assert.equal(kept.truncated, bytesOf(given) > traceBytesMax);
      assert.ok(given.url.startsWith(kept.url) && kept.url.length > 15);
      assert.equal(kept.responseHeaders.length % 2, 0);
    }
  const { responseHeaders } = boundedTrace({
    ...trace,
    responseHeaders: ["x", "v".repeat(2_000), "retry-after", "30"],
  });
  assert.deepEqual(responseHeaders.slice(2), ["retry-after", "30"], "a short one after a long one is kept");
});

test("about one delivery in a hundred is traced, and the selection is stable", () => {
  const ids = Array.from({ length: 20_000 }, () => crypto.randomUUID());
  const traced = ids.filter((id) => isTraced(id));
  assert.ok(traced.length > 120 && traced.length < 300, `${traced.length} of 20,000`);
  assert.ok(isTraced("018f0000-0000-7000-8000-000000000064"));
  assert.ok(!isTraced("018f0000-0000-7000-8000-000000000065"));
});
