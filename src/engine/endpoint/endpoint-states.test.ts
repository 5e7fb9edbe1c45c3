import assert from "node:assert/strict";
import { test } from "node:test";
import type { TransportResult } from "../../ports/transport.ts";
import { paceOf } from "./endpoint-states.ts";

const response = { kind: "response", status: 500 } as TransportResult["observation"];
const failure = { kind: "failure", category: "network" } as TransportResult["observation"];
const timeout = { kind: "failure", category: "timeout" } as TransportResult["observation"];

test("the pace of an endpoint is that of its last response, whatever its status", () => {
  for (const [observation, durationMs, pace] of [
    [response, 999, "quick"],
    [response, 1_000, "slow"],
    [response, 4_999, "slow"],
    [response, 5_000, "silent"],
    [failure, 3, "slow"],
    [failure, 1_000, "silent"],
    [timeout, 900, "silent"],
  ] as const)
    assert.equal(paceOf({ observation, durationMs } as TransportResult), pace, `${durationMs}`);
});
