import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type SeedRequest, SeedThread } from "./seed-thread.ts";
import { addCoverage, type Coverage, emptyCoverage, missingBoundaries } from "./simulate.ts";

const modelSeeds = 200;
const sqliteSeeds = 20;

/**
 * Combinations that must occur: the reason why a delivery had ended when its response arrived, and the resulting state.
 */
const lateAnswers = [
  "webhook_deleted, success",
  "webhook_deleted, cancelled",
  "expired, success",
  "expired, exhausted",
];

describe("simulation: the whole engine in virtual time", () => {
  let thread: SeedThread;
  before(() => {
    thread = new SeedThread();
  });
  after(() => thread.close());

  const coverage = emptyCoverage();
  for (const seeds of chunksOf(modelSeeds)) {
    it(`keeps every invariant, seeds ${seeds.first} to ${seeds.last}`, () =>
      liveThrough(thread, { seeds, disk: "model", flag: "", coverage }));
  }

  it(`crashes at every commit boundary in ${modelSeeds} seeds, and reaches every state, phase and fault`, () => {
    assert.deepEqual(missingBoundaries(coverage), [], "no world died at these boundaries");
    for (const state of ["success", "failed", "exhausted"]) assert.ok(coverage.states.has(state), state);
    for (const phase of ["open", "half_open", "closed"]) assert.ok(coverage.circuits.has(phase), phase);
    for (const late of lateAnswers) assert.ok(coverage.lateAnswers.has(late), `answered late: ${late}`);
    for (const fault of ["commit.settle:unavailable", "commit.publish:unavailable", "claim:unavailable"]) {
      assert.ok(coverage.storeFaults.has(fault), fault);
    }
  });

  for (const seeds of chunksOf(sqliteSeeds)) {
    it(`keeps every invariant on the embedded store, opened again after each crash, seeds ${seeds.first} to ${seeds.last}`, () =>
      liveThrough(thread, { seeds, disk: "sqlite", flag: " --sqlite", coverage: emptyCoverage() }));
  }

  it("has the same history for the same seed, and another one for another seed", async () => {
    const [first, again, other] = [
      await thread.live({ seed: 4, disk: "model" }),
      await thread.live({ seed: 4, disk: "model" }),
      await thread.live({ seed: 5, disk: "model" }),
    ];
    assert.equal(first.traceHash, again.traceHash);
    assert.notEqual(first.traceHash, other.traceHash);
  });
});

interface Seeds {
  readonly first: number;
  readonly last: number;
}

/** Divides the seeds into tests that are short enough to report progress every few seconds. */
function chunksOf(count: number, size = 10): readonly Seeds[] {
  return Array.from({ length: Math.ceil(count / size) }, (_, chunk) => ({
    first: chunk * size + 1,
    last: Math.min(count, (chunk + 1) * size),
  }));
}

interface Run {
  readonly seeds: Seeds;
  readonly disk: SeedRequest["disk"];
  readonly flag: string;
  readonly coverage: Coverage;
}

async function liveThrough(thread: SeedThread, run: Run): Promise<void> {
  for (let seed = run.seeds.first; seed <= run.seeds.last; seed += 1) {
    const { violation, coverage } = await thread.live({ seed, disk: run.disk });
    const replay = `npm run simulate -- --seed ${seed}${run.flag} --trace`;
    assert.equal(violation, null, `seed ${seed} broke ${violation?.message}\nreplay it with: ${replay}`);
    addCoverage(run.coverage, coverage);
  }
}
