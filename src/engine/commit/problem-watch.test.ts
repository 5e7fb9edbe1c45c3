import assert from "node:assert/strict";
import { test } from "node:test";
import type { ProblemMove } from "../../features/problems/problem.ts";
import type { CommitBatch, CommitResult } from "../../ports/store/deliveries.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { ManualClock } from "../manual-clock.fixture.ts";
import type { PendingSettlement } from "./write-group.ts";
import { ProblemWatch } from "./problem-watch.ts";

function settlementOf(outcome: "accepted" | "transient" | "terminal", webhookId = "w"): PendingSettlement {
  const isAccepted = outcome === "accepted";
  const attempt = { outcome, number: 1, category: isAccepted ? null : "timeout", statusCode: null };
  return {
    settlement: {
      lease: { ref: 1, deliveryId: "d", leaseToken: 1 },
      progress: { state: outcome === "terminal" ? "exhausted" : "failed" },
      attempt: { ...attempt, responseSample: null, errorMessage: null },
      settledAt: 7,
    },
    delivery: { webhookId, tenantId: "a", body: null },
  } as unknown as PendingSettlement;
}

const log = { debug() {}, info() {}, warn() {}, error() {} };

function newWatch(
  troubled: readonly string[] = [],
  moved: (move: ProblemMove) => void = () => undefined,
): ProblemWatch {
  return new ProblemWatch(
    { clock: new ManualClock(), telemetry: { log } as unknown as Telemetry },
    { troubledWebhooks: async (after) => (after === null ? troubled : []) },
    moved,
  );
}

function written(count: number, more: Partial<CommitResult> = {}): CommitResult {
  const settled = Array.from({ length: count }, () => ({ kind: "written" as const }));
  return { publishes: [], requeues: [], retries: [], settled, ...more };
}

function groupOf(settlements: readonly PendingSettlement[], publishes: readonly object[] = []) {
  return { settlements: [...settlements], batch: { publishes } as unknown as CommitBatch };
}

/** The changes to problems in a commit that contains these settlements. */
function commit(watch: ProblemWatch, settlements: readonly PendingSettlement[]) {
  const batch = watch.compose(settlements);
  watch.committed(groupOf(settlements), written(settlements.length));
  return batch;
}

const accepted = (count: number) => Array.from({ length: count }, () => settlementOf("accepted"));

test("without failures, commits contain nothing about problems", () => {
  const watch = newWatch();
  assert.equal(commit(watch, accepted(50)), undefined);
  assert.equal(commit(watch, accepted(50)), undefined);
});

test("a failure is reported with its commit; the first success after it, and the twentieth in a row, with the next", () => {
  const watch = newWatch();
  const failed = commit(watch, [settlementOf("accepted"), settlementOf("terminal")]);
  assert.deepEqual(
    failed?.failures.map((fact) => fact?.isDeadLetter),
    [undefined, true],
  );
  assert.equal(commit(watch, accepted(1)), undefined);
  assert.deepEqual(commit(watch, accepted(18))?.recovering, ["w"]);
  assert.equal(commit(watch, accepted(1)), undefined);
  assert.deepEqual(commit(watch, [])?.resolved, ["w"]);
  assert.equal(commit(watch, accepted(30)), undefined);
});

test("a failure in between resets the count, and a lost settlement does not count", () => {
  const watch = newWatch();
  commit(watch, [settlementOf("transient")]);
  commit(watch, accepted(19));
  assert.deepEqual(commit(watch, [settlementOf("transient")])?.recovering, ["w"]);
  const lost = accepted(19);
  watch.compose(lost);
  watch.committed(groupOf(lost), { ...written(0), settled: lost.map(() => ({ kind: "lost" as const })) });
  commit(watch, accepted(19));
  assert.deepEqual(commit(watch, [])?.resolved, []);
});

test("deliveries accepted before their event was stored also count once it is stored", () => {
  const watch = newWatch(["w"]);
  commit(watch, [settlementOf("transient")]);
  const passed = {
    deliveries: [{ lane: { webhookId: "w" } }],
    attempted: [{ attempt: { outcome: "accepted" } }],
  };
  const kept = { kind: "accepted", sequenceNumber: 1, leases: [] } as const;
  const refused = { kind: "key_conflict", eventId: "e" } as const;
  watch.committed(groupOf([], [passed, passed]), written(0, { publishes: [refused, kept] }));
  assert.deepEqual(commit(watch, [])?.recovering, ["w"]);
  assert.equal(commit(watch, accepted(18)), undefined);
  commit(watch, accepted(1));
  assert.deepEqual(commit(watch, [])?.resolved, ["w"]);
});

test("recoveries reported in a failed commit are reported again", () => {
  const watch = newWatch();
  commit(watch, [settlementOf("transient")]);
  commit(watch, accepted(1));
  const tried = watch.compose([]);
  assert.deepEqual(tried?.recovering, ["w"]);
  watch.failed(tried);
  assert.deepEqual(watch.compose([])?.recovering, ["w"]);
});

test("webhooks with earlier problems are known after a start", async () => {
  const watch = newWatch(["w"]);
  await watch.load();
  commit(watch, accepted(1));
  assert.deepEqual(commit(watch, [])?.recovering, ["w"]);
});

test("each move is reported once", () => {
  const moves: string[] = [];
  const watch = newWatch([], ({ kind }) => moves.push(kind));
  const problem = { id: "p", webhookId: "w", tenantId: "a", kind: {} };
  const problemMoves = [{ kind: "opened", problem }] as unknown as CommitResult["problemMoves"] & {};
  watch.committed(groupOf([]), written(0, { problemMoves }));
  assert.deepEqual(moves, ["opened"]);
});
