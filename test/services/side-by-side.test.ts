import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { suite, test } from "node:test";
import { runSideBySide } from "../../scripts/side-by-side.ts";

/** Jobs that end when the test decides, and a machine whose CPU load the test sets. */
class Stage {
  readonly started: number[] = [];
  isIdle = false;
  look: () => void = () => undefined;
  looksHaveEnded = false;
  readonly #ends = new Map<number, () => void>();
  readonly ended: Promise<void>;

  constructor(count: number, bounds: { readonly min: number; readonly max: number }) {
    const jobs = Array.from({ length: count }, (_, index) => () => this.#job(index));
    this.ended = runSideBySide(jobs, {
      ...bounds,
      hasRoom: () => this.isIdle,
      eachLook: (look) => {
        this.look = look;
        return () => {
          this.looksHaveEnded = true;
        };
      },
    });
  }

  async end(...indexes: readonly number[]): Promise<void> {
    for (const index of indexes) this.#ends.get(index)?.();
    await turn();
  }

  #job(index: number): Promise<void> {
    this.started.push(index);
    return new Promise((resolve) => this.#ends.set(index, resolve));
  }
}

suite("jobs side by side", () => {
  test("a busy processor runs the minimum, starting one job for each that ends", async () => {
    const stage = new Stage(4, { min: 2, max: 3 });
    stage.look();
    assert.deepEqual(stage.started, [0, 1]);
    await stage.end(1);
    assert.deepEqual(stage.started, [0, 1, 2]);
    await stage.end(0, 2);
    assert.deepEqual(stage.started, [0, 1, 2, 3]);
    await stage.end(3);
    await stage.ended;
    assert.ok(stage.looksHaveEnded);
  });

  test("an idle processor gets one more at each check, up to the maximum", async () => {
    const stage = new Stage(5, { min: 1, max: 3 });
    stage.isIdle = true;
    stage.look();
    assert.deepEqual(stage.started, [0, 1]);
    stage.look();
    stage.look();
    assert.deepEqual(stage.started, [0, 1, 2]);
    await stage.end(0);
    stage.look();
    assert.deepEqual(stage.started, [0, 1, 2, 3]);
    await stage.end(1, 2, 3);
    assert.deepEqual(stage.started, [0, 1, 2, 3, 4]);
    await stage.end(4);
    await stage.ended;
  });

  test("a processor that is busy again returns to the minimum", async () => {
    const stage = new Stage(4, { min: 1, max: 3 });
    stage.isIdle = true;
    stage.look();
    stage.look();
    stage.isIdle = false;
    await stage.end(0, 1);
    stage.look();
    assert.deepEqual(stage.started, [0, 1, 2]);
    await stage.end(2);
    await stage.end(3);
    await stage.ended;
  });

  test("no jobs are done at once, and a failing job ends the run", async () => {
    await new Stage(0, { min: 2, max: 3 }).ended;
    const broken = new Error("broken");
    const options = { min: 1, max: 1, hasRoom: () => false, eachLook: () => () => undefined };
    await assert.rejects(runSideBySide([() => Promise.reject(broken)], options), (error) => error === broken);
  });
});
