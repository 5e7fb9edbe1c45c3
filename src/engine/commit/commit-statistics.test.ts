import assert from "node:assert/strict";
import { test } from "node:test";
import { Counts } from "../../domain/statistics/counts.ts";
import { keys } from "../../domain/statistics/facts.ts";
import type { CommitResult, PublishCommand } from "../../ports/store/deliveries.ts";
import type { StatisticsBatch } from "../../ports/store/statistics.ts";
import { ManualClock } from "../manual-clock.fixture.ts";
import { CommitStatistics } from "./commit-statistics.ts";

function world() {
  const clock = new ManualClock();
  let touched = 0;
  let filled = 0;
  const statistics = new CommitStatistics(
    { clock, random: { uniform: () => 0.5, bytes: (count) => new Uint8Array(count).fill((filled += 1)) } },
    { rowsPerCommitMax: 64 },
    () => void (touched += 1),
  );
  const publish = {
    event: { tenantId: "oak", eventType: "order.created", createdAt: clock.now() },
    deliveries: [],
  } as unknown as PublishCommand;
  const compose = (publishes: readonly PublishCommand[] = [publish], carriesRows = true) =>
    statistics.compose(publishes, [], carriesRows);
  const accepted = (batch: StatisticsBatch): void => {
    const publishes = batch.published.map(() => ({
      kind: "accepted" as const,
      sequenceNumber: 1,
      leases: [],
    }));
    statistics.committed(batch, { publishes, requeues: [], retries: [], settled: [] } satisfies CommitResult);
  };
  const published = ({ rows }: StatisticsBatch) => {
    const all = rows.find(({ tenant }) => tenant === null);
    return all === undefined ? null : Counts.unpack(all.counts).get(keys.published);
  };
  return { clock, statistics, compose, accepted, published, touched: () => touched };
}

test("a commit is counted after it, and its counts are written with a later one", () => {
  const { clock, statistics, compose, accepted, published } = world();
  const first = compose();
  assert.deepEqual([first.rows, first.published.length], [[], 1]);
  accepted(first);
  clock.advance(1_000);
  const second = compose();
  assert.deepEqual([published(second), second.writtenTo, second.number], [1, 1, 2]);
  accepted(second);
  assert.equal(statistics.unwrittenSince, clock.now());
});

test("after a failed commit no bucket is written before the next success", () => {
  const { clock, statistics, compose, accepted, published } = world();
  accepted(compose());
  clock.advance(1_000);
  const failed = compose();
  assert.equal(published(failed), 1);
  statistics.failed(failed);
  const again = compose();
  assert.deepEqual([again.rows, again.writtenTo], [[], 0]);
  accepted(again);
  const last = compose([]);
  assert.deepEqual([published(last), last.writtenTo], [2, 3]);
});

test("a separately written part of a commit carries no statistics", () => {
  const { clock, compose, accepted } = world();
  accepted(compose());
  clock.advance(1_000);
  assert.deepEqual(compose(undefined, false).rows, []);
  assert.equal(compose().rows.length, 3);
});

test("a replaced store gets rows from a new writer, without data of the earlier store", () => {
  const { clock, statistics, compose, accepted } = world();
  const before = compose();
  accepted(before);
  statistics.restart();
  accepted(before);
  clock.advance(60_000);
  assert.deepEqual(compose([]).rows, []);
  assert.equal(statistics.unwrittenSince, null);
});

test("buckets request a commit if there is none, and not while there are others", () => {
  const { clock, compose, accepted, touched } = world();
  accepted(compose());
  for (let second = 0; second < 5; second += 1) {
    clock.advance(1_000);
    accepted(compose());
  }
  assert.equal(touched(), 0);
  clock.advance(4_000);
  assert.ok(touched() >= 1);
});

test("at the end everything is written, however recent", () => {
  const { statistics, compose, accepted } = world();
  accepted(compose());
  statistics.end();
  assert.equal(compose([]).rows.length, 3);
  assert.equal(statistics.unwrittenSince, null);
});
