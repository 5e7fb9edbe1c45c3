import assert from "node:assert/strict";
import { test } from "node:test";
import type { Clock } from "../../ports/clock.ts";
import { KeptRankings, type Ranking } from "./webhook-ranking.ts";

const start = Date.UTC(2026, 0, 2);

/** Computed orders are numbered; each completes when `finish` is called. */
class Scene {
  atMs = 0;
  asked = 0;
  finish: () => void = () => undefined;
  readonly rankings = new KeptRankings({
    now: () => start + this.atMs,
    monotonicMs: () => this.atMs,
  } as Partial<Clock> as Clock);

  readonly find = async (): Promise<Ranking> => {
    this.asked += 1;
    const number = this.asked;
    await new Promise<void>((resolve) => {
      this.finish = resolve;
    });
    return { placeOf: () => String(number), isComplete: true, searchedTo: null, waiting: null };
  };

  /** The returned order and its age. */
  async ask(): Promise<readonly [order: string, ageMs: number]> {
    const { placeOf, rankedAt } = await this.rankings.of("backlog", this.find);
    return [placeOf({} as Parameters<Ranking["placeOf"]>[0]), start + this.atMs - rankedAt];
  }

  /** By default, it takes long enough that later callers would not wait for it. */
  async found({ tookMs = 200 }: { readonly tookMs?: number } = {}): Promise<void> {
    this.atMs += tookMs;
    this.finish();
    await new Promise((resolve) => void setImmediate(resolve));
  }
}

test("who asks again gets the order that is kept, and a newer one is found meanwhile", async () => {
  const scene = new Scene();
  const first = scene.ask();
  await scene.found();
  assert.deepEqual(await first, ["1", 200]);
  scene.atMs = 2_000;
  assert.deepEqual([await scene.ask(), scene.asked], [["1", 2_000], 1]);
  scene.atMs = 5_000;
  assert.deepEqual(await Promise.all([scene.ask(), scene.ask()]), [
    ["1", 5_000],
    ["1", 5_000],
  ]);
  assert.equal(scene.asked, 2, "one looks for it");
  await scene.found();
  scene.atMs = 6_000;
  assert.deepEqual(await scene.ask(), ["2", 1_000]);
});

test("after a minute nobody is given what is kept, and a failure is told", async () => {
  const scene = new Scene();
  const first = scene.ask();
  await scene.found();
  await first;
  scene.atMs = 60_200;
  await assert.rejects(
    scene.rankings.of("backlog", () => Promise.reject(new Error("no store"))),
    /no store/,
  );
  const again = scene.ask();
  await scene.found();
  assert.deepEqual(await again, ["2", 200]);
});

test("where a newer order cannot be found, the kept one is given until it is too old", async () => {
  const scene = new Scene();
  const first = scene.ask();
  await scene.found();
  await first;
  scene.atMs = 10_000;
  const kept = await scene.rankings.of("backlog", () => Promise.reject(new Error("no store")));
  assert.equal(kept.rankedAt, start);
  assert.deepEqual(await scene.ask(), ["1", 10_000]);
});

test("an order that is found in no time is waited for, and a failure of that gives the kept one", async () => {
  const scene = new Scene();
  const first = scene.ask();
  await scene.found({ tookMs: 5 });
  await first;
  scene.atMs = 2_000;
  assert.deepEqual(await scene.ask(), ["1", 2_000]);
  scene.atMs = 4_000;
  const newer = scene.ask();
  await scene.found({ tookMs: 5 });
  assert.deepEqual(await newer, ["2", 5]);
  scene.atMs = 10_000;
  const kept = await scene.rankings.of("backlog", () => Promise.reject(new Error("no store")));
  assert.equal(kept.rankedAt, start + 4_000);
});
