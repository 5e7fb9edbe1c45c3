import assert from "node:assert/strict";
import fc from "fast-check";
import { priorities } from "../../../src/domain/delivery.ts";
import { orderingGuarantees } from "../../../src/domain/webhook.ts";
import {
  ClaimCommand,
  CommitCommand,
  PassTimeCommand,
  ReleaseCommand,
  RetriesCommand,
  RestartCommand,
} from "./model-commands.fixture.ts";
import { StoreModel } from "./model-state.fixture.ts";
import { start } from "./scene.fixture.ts";
import type { StoreTheme } from "./store.suite.ts";

const lanes = fc.record({
  webhookId: fc.constantFrom("w1", "w2"),
  ordering: fc.constantFrom(...orderingGuarantees),
});
const plannedDelivery = fc.record({
  lane: lanes,
  priority: fc.constantFrom(...priorities),
  claim: fc.boolean(),
  skipped: fc.integer({ min: 0, max: 9 }).map((roll) => roll === 0),
  dueInMs: fc.integer({ min: -20, max: 40 }),
  leaseMs: fc.integer({ min: 0, max: 60 }),
});
const plannedSettlement = fc.record({
  pick: fc.nat(),
  state: fc.constantFrom("success", "failed", "exhausted", "cancelled", "pending"),
  dueInMs: fc.integer({ min: -5, max: 30 }),
});
const commands = [
  fc
    .record({
      events: fc.array(fc.array(plannedDelivery, { maxLength: 4 }), { maxLength: 4 }),
      settlements: fc.array(plannedSettlement, { maxLength: 4 }),
    })
    .map((plan) => new CommitCommand(plan)),
  fc
    .record({ lane: lanes, limit: fc.integer({ min: 0, max: 5 }), leaseMs: fc.integer({ min: 0, max: 60 }) })
    .map((plan) => new ClaimCommand(plan)),
  fc.array(fc.nat(), { maxLength: 4 }).map((picks) => new ReleaseCommand(picks)),
  fc
    .array(fc.record({ pick: fc.nat(), lane: lanes }), { minLength: 1, maxLength: 3 })
    .map((plans) => new RetriesCommand(plans)),
  fc.integer({ min: 0, max: 40 }).map((ms) => new PassTimeCommand(ms)),
  fc.constant(new RestartCommand()),
];

/**
 * Random histories of commits, claims, releases, retries and restarts. The results are compared with a model that is
 * simple enough to verify by reading.
 */
export const model: StoreTheme = (check) => {
  check("behaves like the model", async (_store, open) => {
    await fc.assert(
      fc.asyncProperty(fc.commands(commands, { maxCommands: 40 }), async (history) => {
        const reopened = await open.reopen();
        // One store serves all histories. Each history uses its own webhooks, and only changes of depths are compared.
        const state = new StoreModel(start, await reopened.deliveries.depth());
        await fc.asyncModelRun(() => ({ model: state, real: { store: reopened, open } }), history);
        assert.ok(true);
      }),
      { numRuns: 60 },
    );
  });
};
