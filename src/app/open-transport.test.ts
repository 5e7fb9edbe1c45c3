import { strict as assert } from "node:assert";
import { test } from "node:test";
import { idleConnections, shareOut, waitingRequestsMax } from "./open-transport.ts";

test("the main thread keeps a core, and with two cores it also keeps plain HTTP", () => {
  assert.deepEqual(shareOut(null, 1), { threads: 0, plainHere: true });
  assert.deepEqual(shareOut(null, 2), { threads: 1, plainHere: true });
  assert.deepEqual(shareOut(null, 3), { threads: 2, plainHere: false });
  assert.deepEqual(shareOut(null, 64), { threads: 4, plainHere: false });
});

test("a number of threads is taken as it is, for all requests", () => {
  assert.deepEqual(shareOut(0, 8), { threads: 0, plainHere: true });
  assert.deepEqual(shareOut(3, 2), { threads: 3, plainHere: false });
});

test("connections are kept for 1,000 receivers where there are descriptors for them", () => {
  const settings = { concurrency: 100, waitingRequests: 1_000, maxConnections: 2_000 };
  const kept = [null, 1_024, 4_000, 1_048_576].map((openFiles) => idleConnections(settings, openFiles));
  assert.deepEqual(kept, [100, 100, 400, 1_000]);
  assert.equal(idleConnections({ ...settings, concurrency: 5_000 }, 1_048_576), 5_000);
});

test("requests wait for as many as were set, or half of what descriptors permit", () => {
  const settings = { concurrency: 100, waitingRequests: 1_000 };
  const permitted = [null, 256, 1_024, 1_048_576].map((openFiles) => waitingRequestsMax(settings, openFiles));
  assert.deepEqual(permitted, [1_000, 100, 412, 1_000]);
  assert.equal(waitingRequestsMax({ ...settings, waitingRequests: 0 }, 1_024), 0);
});
