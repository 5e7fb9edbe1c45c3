import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../engine/manual-clock.fixture.ts";
import type { Scope } from "../services.ts";
import type { PointView, StatisticsView } from "../statistics/statistics-service.ts";
import { LiveFeed, type LiveFeedOptions, type LiveNews } from "./live-feed.ts";

const minute = 60_000;
const noon = Date.UTC(2026, 0, 2, 12);

/** Statistics of one tenant. Each kind has one point per minute, starting at the kind's first minute. */
class Minutes {
  attempts: readonly number[] = [];
  published: readonly number[] = [];
  readonly #clock = new ManualClock();
  readonly #told: LiveNews[] = [];

  async watched(scope: Scope = { tenantId: "oak" }): Promise<this> {
    this.#clock.time = noon + 5 * minute;
    const statistics = {
      deliveries: async () => this.#view("attempts"),
      events: async () => this.#view("published"),
    };
    const feed = new LiveFeed({
      clock: this.#clock,
      statistics,
      ...({} as Omit<LiveFeedOptions, "clock" | "statistics">),
    });
    await feed.watch(scope, [{ kind: "stats" }], null, { told: (news) => this.#told.push(news) });
    return this;
  }

  /** The result of the next poll: minutes after noon, attempts, events. */
  async told(): Promise<readonly (readonly unknown[])[]> {
    this.#told.splice(0);
    this.#clock.advance(1_000);
    await this.#clock.turn();
    return this.#told.flatMap((news) =>
      news.kind === "stats"
        ? news.rows.map(({ at, measures }) => {
            return [(at - noon) / minute, measures["attempts"], measures["published"]];
          })
        : [],
    );
  }

  #view(name: "attempts" | "published"): StatisticsView {
    const counts = this[name];
    const points: PointView[] = counts.map((count, index) => {
      const at = noon + (6 - counts.length + index) * minute;
      return { at, isPartial: index === counts.length - 1, measures: { [name]: count } };
    });
    const end = noon + 6 * minute;
    return {
      stepSeconds: 60,
      from: noon,
      to: end,
      completeUntil: end,
      lagSeconds: 0,
      series: points.length === 0 ? [] : [{ key: null, points, totals: {} }],
    };
  }
}

test("a publish without receivers is reported", async () => {
  const minutes = await new Minutes().watched();
  minutes.published = [1];
  assert.deepEqual(await minutes.told(), [[5, 0, 1]]);
  minutes.published = [2];
  assert.deepEqual(await minutes.told(), [[5, 0, 2]]);
  assert.deepEqual(await minutes.told(), []);
});

test("an event published in one minute and sent in the next is reported in both", async () => {
  const minutes = await new Minutes().watched();
  minutes.published = [1, 0];
  minutes.attempts = [1];
  assert.deepEqual(await minutes.told(), [
    [4, 0, 1],
    [5, 1, 0],
  ]);
});

test("a resend before any new publish is reported as it is", async () => {
  const minutes = await new Minutes().watched();
  minutes.published = [3];
  minutes.attempts = [1, 2];
  assert.deepEqual(await minutes.told(), [
    [4, 1, null],
    [5, 2, 3],
  ]);
});

test("a customer gets nothing about publishing", async () => {
  const portal = { webhookIds: null, capabilities: new Set<never>(), reference: null, expiresAt: noon };
  const minutes = await new Minutes().watched({ tenantId: "oak", portal });
  minutes.published = [3];
  assert.deepEqual(await minutes.told(), []);
  minutes.attempts = [1];
  assert.deepEqual(await minutes.told(), [[5, 1, undefined]]);
});
