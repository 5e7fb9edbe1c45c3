/** The parts that every engine under test gets, regardless of its store, clock and network. */
import type { EngineLimits } from "../../src/engine/engine-options.ts";
import type { Metrics } from "../../src/ports/telemetry.ts";

const dayMs = 86_400_000;

export const retention = { payloadMs: 30 * dayMs, historyMs: 90 * dayMs };

export const engineLimits: EngineLimits = {
  concurrency: 100,
  waitingRequests: 1_000,
  webhookConcurrency: 5,
  hostConcurrency: null,
  payloadBytesMax: 262_144,
  commitWindowMs: 5,
  commitRowsMax: 512,
  bufferBytesMax: 64 * 1024 * 1024,
  leaseMs: 300_000,
};

const nothing = (): void => {};
export const silentMetrics: Metrics = {
  attemptSettled: nothing,
  circuitMoved: nothing,
  rateLimited: nothing,
  largePayload: nothing,
  alarmed: nothing,
  notified: nothing,
  apiCallLimited: nothing,
  eventPublished: nothing,
  commitWritten: nothing,
};
