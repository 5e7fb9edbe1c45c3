import assert from "node:assert/strict";
import { test } from "node:test";
import type { Transport, TransportResult } from "../../ports/transport.ts";
import { Attempts, type Flight } from "./attempts.ts";
import { ManualClock } from "../manual-clock.fixture.ts";

const nothing = (): void => {};

/** Records the settlements and error log lines of one attempt. */
async function attempted(parts: {
  readonly compose: () => object;
  readonly send: () => Promise<TransportResult>;
  readonly delivery?: object;
  readonly tokens?: object;
}): Promise<{
  readonly settled: readonly TransportResult[];
  readonly stopped: readonly string[];
  readonly short: readonly string[];
  readonly notComposed: readonly string[];
}> {
  const clock = new ManualClock();
  const settled: TransportResult[] = [];
  const stopped: string[] = [];
  const short: string[] = [];
  const notComposed: string[] = [];
  const attempts = new Attempts(
    { clock, transport: { send: parts.send } as unknown as Transport },
    { add: nothing, end: () => true, settled: nothing },
    {
      attempted: (_, result) => void settled.push(result),
      stopped: (_, addressee) => void stopped.push(addressee),
      notComposed: (_, error) => void notComposed.push(String(error)),
    },
    { met: (_, shortage) => void short.push(shortage) },
  );
  const policy = { timeoutMs: 1_000, timeoutGrowthFactor: 1 };
  const webhook = { id: "webhook-1", tenantId: "amber" };
  const addressed = {
    webhookId: "webhook-1",
    webhookTenantId: "amber",
    tenantId: "amber",
    ...parts.delivery,
  };
  const flight = {
    delivery: { id: "delivery-1", trace: null, relayed: null, progress: { attemptCount: 0 }, ...addressed },
    endpoint: { tokens: parts.tokens ?? null, config: { webhook, compose: parts.compose, policy } },
    accessToken: null,
  } as unknown as Flight;
  attempts.start(flight);
  await clock.turn();
  return { settled, stopped, short, notComposed };
}

test("WDS-195 a request that cannot be built is an internal error, not a response of the receiver", async () => {
  const bug = new TypeError("cannot read properties of undefined");
  const composed = (): object => ({ headers: [], body: null });
  const never = () => assert.fail("it is not sent");
  const malformed: TransportResult = {
    observation: { kind: "failure", category: "protocol", requestSent: false },
    responseSample: null,
    fields: {},
    errorMessage: "invalid header x",
    durationMs: 0,
    malformed: true,
  };
  const cases = [
    { parts: { compose: () => assert.fail(bug), send: never }, error: String(bug) },
    { parts: { compose: composed, send: () => Promise.reject(bug) }, error: String(bug) },
    {
      parts: { compose: composed, send: never, tokens: { token: () => assert.fail(bug) } },
      error: String(bug),
    },
    {
      parts: { compose: composed, send: never, tokens: { token: () => Promise.reject(bug) } },
      error: String(bug),
    },
    { parts: { compose: composed, send: async () => malformed }, error: "Error: invalid header x" },
  ];
  for (const { parts, error } of cases) {
    const { settled, notComposed } = await attempted(parts);
    assert.deepEqual({ settled, notComposed }, { settled: [], notComposed: [error] });
  }
});

test("no request is composed if delivery, event and webhook have different tenants", async () => {
  const never = () => assert.fail("nothing is composed or sent");
  const cases = [
    { delivery: { tenantId: "birch" }, ending: "foreign" },
    { delivery: { webhookTenantId: "birch" }, ending: "foreign" },
    { delivery: { tenantId: "birch", webhookTenantId: "birch" }, ending: "unclear" },
    { delivery: { webhookId: "webhook-2" }, ending: "unclear" },
    { delivery: { webhookId: "webhook-2", tenantId: "birch", webhookTenantId: "birch" }, ending: "unclear" },
    { delivery: { webhookTenantId: null }, ending: "unclear" },
  ];
  for (const { delivery, ending } of cases) {
    const { settled, stopped } = await attempted({ delivery, compose: never, send: never });
    assert.deepEqual({ settled, stopped }, { settled: [], stopped: [ending] });
  }
});

test("a failure to send because of this machine uses no attempt", async () => {
  const unsent: TransportResult = {
    observation: { kind: "failure", category: "network", requestSent: false },
    responseSample: null,
    fields: {},
    errorMessage: "connect EMFILE",
    durationMs: 0,
    shortage: "descriptors",
  };
  const composed = (): object => ({ headers: [], body: null });
  const outcome = await attempted({ compose: composed, send: async () => unsent });
  const nothingElse = { settled: [], stopped: [], notComposed: [] };
  assert.deepEqual(outcome, { ...nothingElse, short: ["descriptors"] });
});
