import assert from "node:assert/strict";
import { test } from "node:test";
import type { Clock } from "../../ports/clock.ts";
import { KeptRankings, type Ranking } from "./webhook-ranking.ts";

const start = Date.UTC(2026, 0, 2);

/** Computed rankings are numbered. Each computation waits until the test calls `finish`. */
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

  /** The ranking that the caller gets, and its age. */
  async ask(): Promise<readonly [order: string, ageMs: number]> {
    const { placeOf, rankedAt } = await this.rankings.of("backlog", this.find);
    return [placeOf({} as Parameters<Ranking["placeOf"]>[0]), start + this.atMs - rankedAt];
  }

  /** By default, the computation takes so long that later callers get the cached ranking instead. */
  async found({ tookMs = 200 }: { readonly tookMs?: number } = {}): Promise<void> {
    this.atMs += tookMs;
    this.finish();
    await new Promise((resolve) => void setImmediate(resolve));
  }
}

test("a repeated query gets the cached order while a newer one is computed", async () => {
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

test("after a minute the cached order is no longer used, and a failure is reported", async () => {
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

test("if a newer order cannot be computed, the cached one is used until it is too old", async () => {
  const scene = new Scene();
  const first = scene.ask();
  await scene.found();
  await first;
  scene.atMs = 10_000;
  const kept = await scene.rankings.of("backlog", () => Promise.reject(new Error("no store")));
  assert.equal(kept.rankedAt, start);
  assert.deepEqual(await scene.ask(), ["1", 10_000]);
});

test("an order that is computed quickly is waited for, and if it fails the cached one is used", async () => {
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
