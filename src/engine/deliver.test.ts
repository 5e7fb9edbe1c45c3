import assert from "node:assert/strict";
import { test } from "node:test";
import type { Transport, TransportResult } from "../ports/transport.ts";
import { createDeliver } from "./deliver.ts";
import type { Flight } from "./dispatcher.ts";
import { ManualClock } from "./manual-clock.fixture.ts";

const nothing = (): void => {};

/** What is settled, and what the log says of level error, of one attempt. */
async function attempted(parts: {
  readonly compose: () => object;
  readonly send: () => Promise<TransportResult>;
}): Promise<{ readonly settled: readonly TransportResult[]; readonly errors: readonly object[] }> {
  const clock = new ManualClock();
  const settled: TransportResult[] = [];
  const errors: object[] = [];
  const deliver = createDeliver({
    clock,
    transport: { send: parts.send } as unknown as Transport,
    settle: (_, result) => void settled.push(result),
    log: { debug: nothing, info: nothing, warn: nothing, error: (fields) => void errors.push(fields) },
  });
  const policy = { timeoutMs: 1_000, timeoutGrowthFactor: 1 };
  const flight = {
    delivery: { id: "delivery-1", progress: { attemptCount: 0 } },
    endpoint: { tokens: null, config: { compose: parts.compose, policy } },
    accessToken: null,
  } as unknown as Flight;
  deliver(flight);
  await clock.turn();
  return { settled, errors };
}

test("WDS-195 a bug in making an attempt is an error in the log and a failure of the kind that is retried", async () => {
  const bug = new TypeError("cannot read properties of undefined");
  const composed = (): object => ({ headers: [], body: null });
  const never = () => assert.fail("it is not sent");
  const cases = [
    { compose: () => assert.fail(bug), send: never },
    { compose: composed, send: () => Promise.reject(bug) },
  ];
  for (const parts of cases) {
    const { settled, errors } = await attempted(parts);
    assert.deepEqual(errors, [{ err: String(bug), deliveryId: "delivery-1" }]);
    assert.deepEqual(
      settled.map(({ observation }) => observation),
      [{ kind: "failure", category: "network", requestSent: false }],
    );
  }
});
