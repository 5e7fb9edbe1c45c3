import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../engine/manual-clock.fixture.ts";
import type { ReceivedRequest } from "../../ports/store/gateway.ts";
import type { Logger } from "../../ports/telemetry.ts";
import { RequestLog } from "./request-log.ts";

test("requests that the store rejected are written once it accepts them, without waiting for another request", async () => {
  const clock = new ManualClock();
  const written: ReceivedRequest[] = [];
  let isAway = true;
  let warnings = 0;
  const log = new RequestLog({
    clock,
    store: {
      addRequests: async (requests) => {
        if (isAway) throw new Error("away");
        written.push(...requests);
      },
      request: async () => null,
      updateRequest: async () => undefined,
    },
    log: { warn: () => (warnings += 1) } as unknown as Logger,
  });
  const request = { id: "1" } as ReceivedRequest;
  log.add(request);
  clock.advance(1_000);
  await clock.turn();
  assert.deepEqual([written, warnings], [[], 1]);
  isAway = false;
  clock.advance(10_000);
  await clock.turn();
  assert.deepEqual(written, [request]);
  clock.advance(60_000);
  await clock.turn();
  assert.deepEqual([clock.timers, written.length, warnings], [0, 1, 1]);
  await log.stop();
});
