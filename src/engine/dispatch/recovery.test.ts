import assert from "node:assert/strict";
import { test } from "node:test";
import type { LaneKey } from "../../domain/webhook.ts";
import type { DeliveryStore } from "../../ports/store/deliveries.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { bareEndpoint } from "../endpoint/bare-endpoint.fixture.ts";
import type { Directory } from "../endpoint/directory.ts";
import { ManualClock } from "../manual-clock.fixture.ts";
import { BacklogReader } from "./recovery.ts";

const keys = ["a", "b"].map(
  (eventType): LaneKey => ({ webhookId: "w", ordering: "per_event_type", eventType }),
);

/** A store that returns one lane per page. The first `failures` calls fail. */
function scene(failures: number) {
  const clock = new ManualClock();
  const endpoint = bareEndpoint({ id: "w", owned: true });
  const considered: (string | null)[] = [];
  let calls = 0;
  const store = {
    lanesWithWork: async (after: string | null) => {
      calls += 1;
      if (calls <= failures) throw new Error("away");
      return after === null ? { lanes: keys.slice(0, 1), next: "1" } : { lanes: keys.slice(1), next: null };
    },
  };
  const reader = new BacklogReader(
    { clock, telemetry: { log: { error() {} } } as unknown as Telemetry },
    store as Partial<DeliveryStore> as DeliveryStore,
    { get: () => endpoint } as Partial<Directory> as Directory,
    { consider: (lane) => void considered.push(lane.key.eventType) },
  );
  return { clock, reader, considered, calls: () => calls };
}

test("a backlog that cannot be read is read again until every lane is known", async () => {
  const { clock, reader, considered } = scene(2);
  reader.start();
  for (let second = 0; second < 2; second += 1) {
    await clock.turn();
    assert.equal(reader.finished, false);
    clock.advance(1_000);
  }
  await clock.turn();
  assert.deepEqual(considered, ["a", "b"]);
  assert.equal(reader.finished, true);
});

test("stopping ends the reading of the backlog for good", async () => {
  const { clock, reader, considered, calls } = scene(Number.POSITIVE_INFINITY);
  reader.start();
  await clock.turn();
  await reader.stop();
  clock.advance(60_000);
  await clock.turn();
  assert.equal(calls(), 1);
  assert.deepEqual(considered, []);
});
