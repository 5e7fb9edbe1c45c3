import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { AlertRecord } from "./alert.ts";
import { ManualClock } from "../../engine/manual-clock.fixture.ts";
import type { AlertStore } from "../../ports/store/alerts.ts";
import { Wording } from "../notifications/messages.ts";
import type { NotificationDraft } from "../notifications/notification-desk.ts";
import { AlertWatch } from "./alert-watch.ts";
import { type GaugeReading, spanOf } from "../../domain/statistics/gauges.ts";
import { requestSlotsUsedOf } from "./alert-readings.ts";
import { noStatistics } from "../../../test/simulation/model-store/quiet-parts.ts";

const second = 1_000;

/** One store with any number of schedulers. */
class Scene {
  readonly clock = new ManualClock();
  readonly kept = new Map<string, AlertRecord>();
  readonly told: string[] = [];
  readonly errors: string[] = [];
  isAway = false;
  leader: string | null = null;
  #ids = 0;

  scheduler(name: string): AlertWatch {
    const note = (_: object, message: string) => void this.errors.push(message);
    return new AlertWatch({
      store: this.#store(),
      sources: {
        store: {
          deliveries: { depth: async () => ({ waiting, deadLetters: new Map() }) } as never,
          statistics: noStatistics,
        },
        access: { webhooks: () => [], webhook: () => undefined, refresh: async () => undefined },
        tenants: { all: () => [] },
        queue: null,
        sharedState: { isAvailable: false },
      },
      desk: { enqueue: async (drafts) => this.#tell(drafts) },
      wording: new Wording(),
      events: { appendEvents: async () => undefined },
      leaderships: {
        acquire: async () => this.leader === null || this.leader === name,
        resign: async () => undefined,
      },
      nextId: () => `alert-${++this.#ids}`,
      clock: this.clock,
      log: { debug: nothing, info: nothing, warn: nothing, error: note },
    });
  }

  /** Advances the clock and waits for the round that this starts. */
  async pass(ms: number): Promise<void> {
    this.clock.advance(ms);
    for (let turns = 0; turns < 3; turns += 1) await this.clock.turn();
  }

  state(rule: string): string | null {
    return [...this.kept.values()].find((record) => record.rule === rule)?.state ?? null;
  }

  #tell(drafts: readonly NotificationDraft[]): readonly never[] {
    for (const { content } of drafts) this.told.push(content("en", "UTC").subject);
    return [];
  }

  #store(): AlertStore {
    const answering =
      <Answer>(answer: () => Answer) =>
      async (): Promise<Answer> => {
        if (this.isAway) throw new Error("the database does not respond");
        return answer();
      };
    return {
      rules: answering(() => []),
      mutes: answering(() => []),
      current: answering(() => [...this.kept.values()]),
      forget: answering(() => ({ changed: 0, more: false })),
      save: async ({ put, remove }: { put: readonly AlertRecord[]; remove: readonly string[] }) => {
        for (const record of put) this.kept.set(record.id, record);
        for (const id of remove) this.kept.delete(id);
      },
    } as unknown as AlertStore;
  }
}

const waiting = { high: 0, normal: 0, low: 0 };
const nothing = (): void => {};

suite("evaluating alerts", () => {
  test("WDS-205 five failures of the database in a row raise an alert, even if it can be stored only later", async () => {
    const scene = new Scene();
    const watch = scene.scheduler("one");
    watch.start();
    scene.isAway = true;
    await scene.pass(15 * second);
    for (let failed = 2; failed <= 5; failed += 1) {
      assert.deepEqual(scene.errors, [], `${failed - 1} failures`);
      await scene.pass(3 * second);
    }
    assert.deepEqual(scene.errors, ["alert fired: the database is unavailable"]);
    scene.isAway = false;
    await scene.pass(3 * second);
    assert.equal(scene.state("store-away"), "firing");
    assert.equal(scene.told.length, 1);
    for (let rounds = 0; rounds < 8; rounds += 1) await scene.pass(15 * second);
    assert.equal(scene.state("store-away"), "resolved");
    await watch.stop();
  });

  test("two schedulers send once, even when one takes over from the other", async () => {
    const scene = new Scene();
    const [one, two] = [scene.scheduler("one"), scene.scheduler("two")];
    scene.leader = "one";
    await Promise.all([one.round(), two.round()]);
    scene.leader = "two";
    await Promise.all([one.round(), two.round()]);
    assert.deepEqual(scene.told, ["Alert: Redis is unavailable"]);
    assert.equal(scene.kept.size, 1);
  });
});

test("WDS-240 the alert uses the slots of active or of waiting requests, whichever are nearer to their limit", () => {
  const span = (readings: Partial<GaugeReading>) => [spanOf(readings as GaugeReading, 0)];
  const used = {
    active_requests: 5,
    request_slots: 100,
    waiting_requests: 900,
    waiting_request_slots: 1_000,
  };
  assert.equal(requestSlotsUsedOf(span(used)), 0.9);
  assert.equal(requestSlotsUsedOf(span({ ...used, active_requests: 95 })), 0.95);
  assert.equal(requestSlotsUsedOf(span({ ...used, waiting_request_slots: 0 })), 0.05, "no request may wait");
  assert.equal(
    requestSlotsUsedOf(span({ ...used, request_slots: 0, waiting_request_slots: 0 })),
    null,
    "it delivers nothing",
  );
});
