import assert from "node:assert/strict";
import { test } from "node:test";
import { bucketAt } from "../../domain/statistics/facts.ts";
import {
  gaugeNames,
  type GaugeReading,
  type GaugeSpan,
  joinedSpans,
  spanOf,
} from "../../domain/statistics/gauges.ts";
import { AlertReadings } from "./alert-readings.ts";

const now = Date.UTC(2026, 10, 2, 12, 30, 45);
const minute = bucketAt(now, "minute");

const unknown = Object.fromEntries(gaugeNames.map((name) => [name, null])) as unknown as GaugeReading;

/** Samples of the event loop lag of one process, 15 s apart. */
function spanOfSamples(...samples: readonly number[]): GaugeSpan {
  const spans = samples.map((oldest_due_ms, index) =>
    spanOf({ ...unknown, oldest_due_ms }, minute + index * 15_000),
  );
  return spans.reduce(joinedSpans);
}

function readingsOf(...spans: readonly GaugeSpan[]): AlertReadings {
  const rows = spans.map((span, writer) => ({ start: minute, writer, document: JSON.stringify(span) }));
  return readingsOfRows(rows);
}

function readingsOfRows(rows: readonly object[]): AlertReadings {
  const store = { statistics: { readGauges: async () => rows }, deliveries: {} };
  return new AlertReadings(store as unknown as ConstructorParameters<typeof AlertReadings>[0], now);
}

test("one sample is not enough: a lasting value is the minimum of at least two", async () => {
  assert.equal(await readingsOf(spanOfSamples(90_000)).lasting("oldest_due_ms"), null);
  assert.equal(await readingsOf(spanOfSamples(0, 90_000, 0, 0)).lasting("oldest_due_ms"), 0);
  assert.equal(await readingsOf(spanOfSamples(70_000, 85_000)).lasting("oldest_due_ms"), 70_000);
});

test("samples of the previous minute count if a process samples once a minute", async () => {
  const rows = [70_000, 130_000].map((sample, index) => ({
    start: minute - index * 60_000,
    writer: 1,
    document: JSON.stringify(spanOfSamples(sample)),
  }));
  assert.equal(await readingsOfRows(rows).lasting("oldest_due_ms"), 70_000);
});

test("with several processes the latest sample counts", async () => {
  const readings = readingsOf(spanOfSamples(0, 0), spanOfSamples(70_000, 90_000), spanOfSamples(500_000));
  assert.equal(await readings.lasting("oldest_due_ms"), 70_000);
});
