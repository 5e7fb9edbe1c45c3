import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { keptByEvent, samplingOf, SlowTimes } from "./sampling.ts";
import {
  attemptSpanId,
  packTraceContext,
  parseTraceContext,
  publishSpanId,
  traceIdOf,
  traceparentOf,
  unpackTraceContext,
} from "./trace-context.ts";

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const eventId = "01938f2e-7b1c-7abc-9def-0123456789ab";

suite("trace context", () => {
  test("is read, packed into 25 bytes, and written back unchanged", () => {
    const context = parseTraceContext(traceparent);
    assert.ok(context !== null);
    const packed = packTraceContext(context);
    assert.equal(packed.byteLength, 25);
    assert.deepEqual(unpackTraceContext(packed), context);
    assert.equal(traceparentOf(context), traceparent);
  });

  test("of a later version is read as far as this version defines it", () => {
    const later = `cc${traceparent.slice(2)}-what-the-future-will-be-like`;
    assert.equal(parseTraceContext(later)?.spanId, "b7ad6b7169203331");
  });

  test("is ignored when the specification says so", () => {
    for (const text of [
      "",
      "00",
      traceparent.toUpperCase(),
      `${traceparent}-more`,
      `ff${traceparent.slice(2)}`,
      traceparent.replace("0af7651916cd43dd8448eb211c80319c", "0".repeat(32)),
      `${traceparent}.`,
      traceparent.replace("b7ad6b7169203331", "0".repeat(16)),
      `${traceparent}, ${traceparent}`,
      undefined,
      7,
      `cc${traceparent.slice(2)}-${"a".repeat(200)}`,
    ])
      assert.equal(parseTraceContext(text), null, String(text));
  });

  test("keeps the vendors' state, unless it is invalid", () => {
    const stateOf = (tracestate: string) => parseTraceContext(traceparent, tracestate)?.state;
    assert.equal(
      stateOf("congo=t61rcWkgMzE, rojo=00f067aa0ba902b7,"),
      "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7",
    );
    for (const none of ["", "a", "A=1", "a=\n", `a=${"x".repeat(513)}`, Array(33).fill("a=1").join()])
      assert.equal(stateOf(none), null, none);
    const context = parseTraceContext(traceparent, "fw529a3039@dt=FfAB");
    assert.ok(context !== null);
    assert.deepEqual(unpackTraceContext(packTraceContext(context)), context);
  });
});

suite("span ids", () => {
  test("are derived from stored values and are distinct", () => {
    const neighbour = `${eventId.slice(0, -1)}c`;
    const ids = [eventId, neighbour].flatMap((id) => [
      publishSpanId(id),
      attemptSpanId(id, 1),
      attemptSpanId(id, 2),
    ]);
    assert.equal(new Set(ids).size, ids.length);
    for (const id of ids) assert.match(id, /^(?!0{16})[0-9a-f]{16}$/);
    assert.equal(attemptSpanId(eventId, 2), attemptSpanId(eventId, 2));
  });

  test("the trace is the publisher's, or is derived from the event id", () => {
    assert.equal(traceIdOf(eventId, null), "01938f2e7b1c7abc9def0123456789ab");
    const trace = parseTraceContext(traceparent);
    assert.equal(traceIdOf(eventId, trace), "0af7651916cd43dd8448eb211c80319c");
  });
});

suite("sampling", () => {
  const recorded = { id: eventId, trace: parseTraceContext(traceparent) };
  const notRecorded = {
    id: eventId,
    trace: parseTraceContext(traceparent.replace(/1$/, "0")),
  };
  const untraced = { id: eventId, trace: null };
  const keptBy = (sampler: string | undefined, argument: string | undefined) => {
    const sampling = samplingOf(sampler, argument);
    assert.ok(sampling !== null);
    return [recorded, notRecorded, untraced].map((event) => keptByEvent(event.id, event.trace, sampling));
  };

  test("selects traces that the publisher records, and one in a thousand", () => {
    assert.deepEqual(keptBy(undefined, undefined), ["sampled", null, null]);
    assert.deepEqual(keptBy("traceidratio", "1"), ["sampled", "ratio", "ratio"]);
    assert.deepEqual(keptBy("traceidratio", "0"), ["sampled", null, null]);
  });

  test("follows the standard samplers", () => {
    assert.deepEqual(keptBy("always_on", undefined), ["sampled", "ratio", "ratio"]);
    assert.deepEqual(keptBy("always_off", undefined), [null, null, null]);
    assert.deepEqual(keptBy("parentbased_always_off", undefined), ["sampled", null, null]);
    assert.deepEqual(keptBy("parentbased_traceidratio", "1"), ["sampled", null, "ratio"]);
    assert.equal(samplingOf("jaeger_remote", undefined), null);
    assert.equal(samplingOf(undefined, "2"), null);
  });

  test("uses the random end of the ids, so every process decides alike", () => {
    const sampling = samplingOf("traceidratio", "0.25");
    assert.ok(sampling !== null);
    let kept = 0;
    for (let number = 0; number < 4_096; number += 1) {
      const id = `${eventId.slice(0, -8)}${((number * 0x9e3779b1) >>> 0).toString(16).padStart(8, "0")}`;
      if (keptByEvent(id, null, sampling) !== null) kept += 1;
    }
    assert.ok(kept > 900 && kept < 1_150, `${kept} of 4,096`);
    const keptOf = (end: string, argument: string) => {
      const of = samplingOf("traceidratio", argument);
      return of !== null && keptByEvent(`${eventId.slice(0, -8)}${end}`, null, of) !== null;
    };
    assert.deepEqual([keptOf("3fffffff", "0.25"), keptOf("40000000", "0.25")], [true, false]);
    assert.deepEqual([keptOf("ffffffff", "1"), keptOf("00000000", "0")], [true, false]);
  });
});

test("treats as slow what took longer than nearly all earlier events", () => {
  const times = new SlowTimes();
  for (let number = 0; number < 1_000; number += 1)
    assert.equal(times.isSlow(10 + (number % 5)), false, "what is like the others");
  assert.equal(times.isSlow(500), true);
  assert.equal(times.isSlow(12), false);
});
