import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { PublishCommand } from "../../ports/store/deliveries.ts";
import type { PendingPublish } from "../commit/write-group.ts";
import { bareEndpoint } from "../endpoint/bare-endpoint.fixture.ts";
import { type ForwardedAttempt, ForwardRecord } from "./forwarder.ts";

const attemptOf = (id: string, outcome: "accepted" | "transient"): ForwardedAttempt =>
  ({
    delivery: {
      id,
      eventId: "e",
      tenantId: "t",
      eventType: "relayed",
      format: "json",
      body: new Uint8Array(),
    },
    verdict: { outcome, reason: outcome === "accepted" ? "ok" : "server_error" },
    result: {
      observation: { kind: "none" },
      responseSample: null,
      errorMessage: null,
      durationMs: 1,
      fields: {},
    },
    startedAt: 5,
  }) as unknown as ForwardedAttempt;

async function written(attempts: readonly ForwardedAttempt[]): Promise<readonly PublishCommand[]> {
  const commands: PublishCommand[] = [];
  const publish = ({ compose, done }: PendingPublish): void => {
    commands.push(compose());
    done({ kind: "accepted", sequenceNumber: 1, leases: [] });
  };
  const record = new ForwardRecord({ now: () => 9 }, { publish }, () => "attempt", 1_000);
  await record.write(bareEndpoint({ id: "w" }), attempts, null);
  return commands;
}

suite("forwarded messages", () => {
  const cases = {
    "one that failed": { outcomes: ["transient"], states: ["cancelled"] },
    "one that was accepted": { outcomes: ["accepted"], states: ["success"] },
    "one that was accepted at the second attempt": {
      outcomes: ["transient", "accepted"],
      states: ["cancelled", "success"],
    },
  } as const;
  for (const [name, { outcomes, states }] of Object.entries(cases))
    test(`${name} is settled by the transaction that stores it, so an owner never finds it pending`, async () => {
      const commands = await written(outcomes.map((outcome, at) => attemptOf(`d${at}`, outcome)));
      assert.equal(commands.length, 1);
      const [command] = commands;
      assert.equal(command?.deliveries.length, outcomes.length);
      assert.deepEqual(
        command.attempted?.map(({ progress }) => progress.state),
        states,
      );
    });
});
