import { strict as assert } from "node:assert";
import { test } from "node:test";
import { idleConnections, shareOut, waitingRequestsMax } from "./open-transport.ts";

test("one core is left for the main thread, which also sends plain HTTP if there are only two cores", () => {
  assert.deepEqual(shareOut(null, 1), { threads: 0, plainHere: true });
  assert.deepEqual(shareOut(null, 2), { threads: 1, plainHere: true });
  assert.deepEqual(shareOut(null, 3), { threads: 2, plainHere: false });
  assert.deepEqual(shareOut(null, 64), { threads: 4, plainHere: false });
});

test("a configured number of threads is used for all requests", () => {
  assert.deepEqual(shareOut(0, 8), { threads: 0, plainHere: true });
  assert.deepEqual(shareOut(3, 2), { threads: 3, plainHere: false });
});

test("connections to 1,000 receivers are kept if there are enough descriptors", () => {
  const settings = { concurrency: 100, waitingRequests: 1_000, maxConnections: 2_000 };
  const kept = [null, 1_024, 4_000, 1_048_576].map((openFiles) => idleConnections(settings, openFiles));
  assert.deepEqual(kept, [100, 100, 400, 1_000]);
  assert.equal(idleConnections({ ...settings, concurrency: 5_000 }, 1_048_576), 5_000);
});

test("the number of waiting requests is the configured one, or half of what descriptors permit", () => {
  const settings = { concurrency: 100, waitingRequests: 1_000 };
  const permitted = [null, 256, 1_024, 1_048_576].map((openFiles) => waitingRequestsMax(settings, openFiles));
  assert.deepEqual(permitted, [1_000, 100, 412, 1_000]);
  assert.equal(waitingRequestsMax({ ...settings, waitingRequests: 0 }, 1_024), 0);
});
