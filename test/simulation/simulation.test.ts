import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { addCoverage, emptyCoverage, missingBoundaries, simulate } from "./simulate.ts";
import type { Coverage } from "./simulate.ts";
import { modelDisk, sqliteDisk } from "./stores.ts";
import type { WorldOptions } from "./world.ts";

const modelSeeds = 200;
const sqliteSeeds = 20;

/** Why a delivery had ended when its answer came, and what the answer made of it. */
const lateAnswers = [
  "webhook_deleted, success",
  "webhook_deleted, cancelled",
  "superseded, success",
  "superseded, cancelled",
  "expired, success",
  "expired, exhausted",
];

describe("simulation: the whole engine in virtual time", () => {
  const coverage = emptyCoverage();
  for (const seeds of chunksOf(modelSeeds)) {
    it(`keeps every invariant, seeds ${seeds.first} to ${seeds.last}`, () =>
      liveThrough({ seeds, disk: modelDisk, flag: "", coverage }));
  }

  it(`dies at every commit boundary in ${modelSeeds} seeds, and meets every state, phase and fault`, () => {
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
      liveThrough({ seeds, disk: sqliteDisk, flag: " --sqlite", coverage: emptyCoverage() }));
  }

  it("tells the same story for the same seed, and another one for another seed", async () => {
    const [first, again, other] = [
      await simulate({ seed: 4 }),
      await simulate({ seed: 4 }),
      await simulate({ seed: 5 }),
    ];
    assert.equal(first.traceHash, again.traceHash);
    assert.notEqual(first.traceHash, other.traceHash);
  });
});

interface Seeds {
  readonly first: number;
  readonly last: number;
}

/** So many that a test of them says something every few seconds. */
function chunksOf(count: number, size = 10): readonly Seeds[] {
  return Array.from({ length: Math.ceil(count / size) }, (_, chunk) => ({
    first: chunk * size + 1,
    last: Math.min(count, (chunk + 1) * size),
  }));
}

async function liveThrough(run: {
  readonly seeds: Seeds;
  readonly disk: WorldOptions["disk"];
  readonly flag: string;
  readonly coverage: Coverage;
}): Promise<void> {
  for (let seed = run.seeds.first; seed <= run.seeds.last; seed += 1) {
    const { violation, coverage } = await simulate({ seed, disk: run.disk });
    const replay = `npm run simulate -- --seed ${seed}${run.flag} --trace`;
    assert.equal(violation, null, `seed ${seed} broke ${violation?.message}\nreplay it with: ${replay}`);
    addCoverage(run.coverage, coverage);
  }
}
