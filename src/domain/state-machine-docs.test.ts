/** Compares the delivery table and its diagram in docs/state-machine.md with the code: every state with every event. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type DeliveryEvent, eventsIn, transition, type TransitionInput } from "./delivery-state.ts";
import { drawnArrows, type TableRow, tableRows } from "./delivery-table.fixture.ts";
import { type DeliveryProgress, type DeliveryState, deliveryStates, type WaitingState } from "./delivery.ts";
import type { Outcome, Verdict } from "./classify.ts";

const ageMsMax = 1_000_000;

interface Scenario {
  readonly event: DeliveryEvent;
  /** Allowed values of the column "When", besides `always`. */
  readonly when: readonly string[];
  readonly attemptCount?: number;
  readonly now?: number;
}

function attempted(outcome: Outcome, retryAfterMs: number | null = null): DeliveryEvent {
  const reason = outcome === "terminal" ? "permanent_client_error_400" : "of the answer";
  const verdict: Verdict = { outcome, receiverStateUnknown: false, reason };
  return { kind: "attempted", verdict, executedAt: 50, retryAfterMs, retryAtOnce: false };
}

const scenarios: readonly Scenario[] = [
  { event: attempted("accepted"), when: ["accepted"] },
  { event: attempted("terminal"), when: ["terminal", "not accepted"] },
  { event: attempted("transient"), when: ["transient, attempts and time left", "not accepted"] },
  { event: attempted("transient"), when: ["transient, last attempt", "not accepted"], attemptCount: 2 },
  {
    event: attempted("transient", 2 * ageMsMax),
    when: ["transient, Retry-After beyond the maximum age", "not accepted"],
  },
  {
    event: attempted("transient"),
    when: ["transient, next retry beyond the maximum age", "not accepted"],
    now: ageMsMax - 1,
  },
  { event: { kind: "expired" }, when: [] },
  { event: { kind: "webhook_deleted" }, when: [] },
  { event: { kind: "retried" }, when: ["not due yet"], now: 15 },
  { event: { kind: "retried" }, when: ["due already"] },
  { event: { kind: "cancel_requested" }, when: [] },
  { event: { kind: "discarded" }, when: [] },
  { event: { kind: "payload_unavailable" }, when: [] },
  { event: { kind: "foreign_webhook" }, when: [] },
  { event: { kind: "payload_refused" }, when: [] },
  { event: { kind: "compose_failed" }, when: [] },
];

/** The behaviour of the code, worded like the table. */
function observed(
  state: DeliveryState,
  scenario: Scenario,
): Pick<TableRow, "result" | "reason" | "isAttempt" | "deadLetter"> {
  const { attemptCount = 1, now = 100, event } = scenario;
  const before: DeliveryProgress = {
    state,
    attemptCount,
    createdAt: 0,
    firstAttemptAt: 10,
    dueAt: 20,
    reason: "before",
    retried: null,
  };
  const schedule = { kind: "list", delaysMs: [10, 10], jitter: { from: 1, to: 1 } } as const;
  const policy = { schedule, attemptsMax: 3, retryDelayFloorsMs: {}, ageMsMax };
  const input = { progress: before, event, policy, now, random: 0 } as TransitionInput<WaitingState>;
  const after = transition(input);
  const isAsBefore = after.state === state && after.reason === before.reason;
  const wasDead = state === "exhausted";
  const isDead = after.state === "exhausted";
  const moved = wasDead ? "closed" : "written";
  return {
    result: isAsBefore ? "as before" : after.state,
    reason: isAsBefore ? "as before" : (after.reason ?? "none").replace(/^permanent_.*/, "permanent_*"),
    isAttempt: after.attemptCount > attemptCount,
    deadLetter: wasDead === isDead ? "none" : moved,
  };
}

test("the delivery table in docs/state-machine.md matches the code", () => {
  const rows = tableRows();
  const used = new Set<TableRow>();
  for (const state of deliveryStates) {
    for (const scenario of scenarios) {
      const { kind } = scenario.event;
      if (!eventsIn[state].some((each) => each === kind)) continue;
      const matching = rows.filter(
        ({ state: from, event, when }) =>
          from === state && event === kind && (when === "always" || scenario.when.includes(when)),
      );
      const place = `${state}, ${kind}, ${scenario.when[0] ?? "always"}`;
      const [row] = matching;
      assert.ok(row !== undefined && matching.length === 1, `${place}: ${matching.length} rows`);
      const { result, reason, isAttempt, deadLetter } = row;
      assert.deepEqual({ result, reason, isAttempt, deadLetter }, observed(state, scenario), place);
      used.add(row);
    }
  }
  assert.deepEqual(
    rows.filter((row) => !used.has(row)),
    [],
    "rows that describe nothing",
  );
});

test("the diagram has exactly the transitions of the table", () => {
  const labels = new Map<string, Set<string>>();
  for (const { state, event, when, result } of tableRows()) {
    if (result === "as before") continue;
    const arrow = `${state} --> ${result}`;
    const answer = when === "accepted" ? "accepted" : "not accepted";
    const said = labels.get(arrow) ?? new Set();
    labels.set(arrow, said.add(event === "attempted" ? answer : event));
  }
  const expected = [...labels].map(([arrow, said]) => `${arrow}: ${[...said].toSorted().join(", ")}`);
  const drawn = drawnArrows().map((line) => {
    const [arrow = "", label = ""] = line.split(": ");
    return `${arrow}: ${label.split(", ").toSorted().join(", ")}`;
  });
  assert.deepEqual(drawn.toSorted(), expected.toSorted());
});
