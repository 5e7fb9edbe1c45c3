import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { addCoverage, emptyCoverage, missingBoundaries, simulate } from "./simulate.ts";
import type { Coverage } from "./simulate.ts";
import { modelDisk, sqliteDisk } from "./stores.ts";
import type { WorldOptions } from "./world.ts";

const modelSeeds = 200;
const sqliteSeeds = 20;

describe("simulation: the whole engine in virtual time", () => {
  it(`keeps every invariant over ${modelSeeds} seeds, and dies at every commit boundary`, async () => {
    const coverage = await liveThrough({ seeds: modelSeeds, disk: modelDisk, flag: "" });
    assert.deepEqual(missingBoundaries(coverage), [], "no world died at these boundaries");
    for (const state of ["success", "failed", "exhausted"]) assert.ok(coverage.states.has(state), state);
    for (const phase of ["open", "half_open", "closed"]) assert.ok(coverage.circuits.has(phase), phase);
    for (const fault of ["commit.settle:unavailable", "commit.publish:unavailable", "claim:unavailable"]) {
      assert.ok(coverage.storeFaults.has(fault), fault);
    }
  });

  it(`keeps every invariant over ${sqliteSeeds} seeds on the embedded store, opened again after each crash`, async () => {
    await liveThrough({ seeds: sqliteSeeds, disk: sqliteDisk, flag: " --sqlite" });
  });

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

async function liveThrough(run: {
  readonly seeds: number;
  readonly disk: WorldOptions["disk"];
  readonly flag: string;
}): Promise<Coverage> {
  const total = emptyCoverage();
  for (let seed = 1; seed <= run.seeds; seed += 1) {
    const { violation, coverage } = await simulate({ seed, disk: run.disk });
    const replay = `npm run simulate -- --seed ${seed}${run.flag} --trace`;
    assert.equal(violation, null, `seed ${seed} broke ${violation?.message}\nreplay it with: ${replay}`);
    addCoverage(total, coverage);
  }
  return total;
}
