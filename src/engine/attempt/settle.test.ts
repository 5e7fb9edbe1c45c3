import assert from "node:assert/strict";
import { test } from "node:test";
import { createCircuit } from "../../domain/circuit-breaker.ts";
import { standard } from "../../domain/profiles/standard.ts";
import type { Settlement, SettlementResult } from "../../ports/store/deliveries.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { Flight } from "./attempts.ts";
import { ManualClock } from "../manual-clock.fixture.ts";
import { Settler, type SettleOptions } from "./settle.ts";

const nothing = (): void => {};

/** Records the notifications, writes and dispatcher calls when one delivery is stopped. */
function stopped(addressee: "foreign" | "unclear") {
  const errors: { readonly fields: object; readonly message: string }[] = [];
  const alarms: string[] = [];
  const written: Settlement[] = [];
  const dispatched: string[] = [];
  const telemetry = {
    log: {
      debug: nothing,
      info: nothing,
      warn: nothing,
      error: (fields: object, message: string) => void errors.push({ fields, message }),
    },
    metrics: { alarmed: (alarm: string) => void alarms.push(alarm) },
  } as unknown as Telemetry;
  const settler = new Settler({
    spans: null,
    telemetry,
    clock: new ManualClock(),
    random: { uniform: () => 0.5 },
    commits: {
      settle: ({
        settlement,
        done,
      }: {
        settlement: Settlement;
        done: (result: SettlementResult) => void;
      }) => {
        written.push(settlement);
        done({ kind: "written" });
      },
    },
    ownerAlerts: { exhausted: nothing },
    dispatcher: () => ({
      answered: () => void dispatched.push("answered"),
      settled: () => void dispatched.push("settled"),
      lost: () => void dispatched.push("lost"),
    }),
  } as unknown as SettleOptions);
  const progress = {
    state: "pending",
    attemptCount: 0,
    createdAt: 0,
    firstAttemptAt: null,
    dueAt: 0,
    retried: null,
  };
  const flight = {
    delivery: {
      trace: null,
      relayed: null,
      id: "delivery-1",
      eventId: "event-1",
      tenantId: "birch",
      lease: { ref: 1 },
      progress,
      webhookId: "webhook-1",
      webhookTenantId: "amber",
    },
    endpoint: {
      webhook: { id: "webhook-2", tenantId: "cedar" },
      circuit: createCircuit(0),
      policy: standard,
      pace: "quick",
    },
    lane: { settlementBegan: nothing, settlementEnded: nothing },
    probe: null,
  } as unknown as Flight;
  settler.stopped(flight, addressee);
  return { errors, alarms, written, dispatched };
}

test("a delivery to another tenant's webhook is logged as an error with both tenants, raises an alarm, and ends", () => {
  const { errors, alarms, written, dispatched } = stopped("foreign");
  assert.deepEqual(errors, [
    {
      fields: {
        deliveryId: "delivery-1",
        eventId: "event-1",
        tenantId: "birch",
        webhookId: "webhook-1",
        webhookTenantId: "amber",
        servedWebhookId: "webhook-2",
        servedTenantId: "cedar",
      },
      message: "a delivery was stopped: its event and its webhook do not belong to the same tenant",
    },
  ]);
  assert.deepEqual(alarms, ["delivery_stopped"]);
  assert.deepEqual(
    written.map(({ progress, attempt }) => [progress.state, progress.reason, attempt]),
    [["exhausted", "foreign_webhook", null]],
  );
  assert.deepEqual(dispatched, ["answered", "settled"]);
});

test("if only this process has doubts about the tenant of a webhook, it logs that too, but ends nothing", () => {
  const { errors, alarms, written, dispatched } = stopped("unclear");
  assert.deepEqual([errors.length, alarms], [1, ["delivery_stopped"]]);
  assert.deepEqual(written, []);
  assert.deepEqual(dispatched, ["answered", "lost"]);
});
