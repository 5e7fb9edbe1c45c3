/** Holds the delivery table of docs/state-machine.md against the code: every state with every event, no idle row. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { deliveryStates } from "./delivery.ts";
import type { DeliveryProgress, DeliveryState } from "./delivery.ts";
import { transition } from "./delivery-state.ts";
import type { DeliveryEffect, DeliveryEvent } from "./delivery-state.ts";
import type { Outcome, Verdict } from "./outcome.ts";

const ageMsMax = 1_000_000;

interface Scenario {
  readonly event: DeliveryEvent;
  /** What the column "When" may say for it, beside `always`. */
  readonly when: readonly string[];
  readonly attemptCount?: number;
  readonly now?: number;
}

function attempted(outcome: Outcome, retryAfterMs: number | null = null): DeliveryEvent {
  const reason = outcome === "terminal" ? "permanent_client_error_400" : "server_error_500";
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
  { event: { kind: "expired" }, when: ["older than the maximum age"], now: ageMsMax + 1 },
  { event: { kind: "expired" }, when: ["not older"], now: ageMsMax },
  { event: { kind: "cancelled", reason: "by the test" }, when: [] },
  { event: { kind: "superseded" }, when: [] },
  { event: { kind: "payload_unavailable" }, when: [] },
  { event: { kind: "foreign_webhook" }, when: [] },
  { event: { kind: "payload_refused", reason: "empty_data" }, when: [] },
];

interface Row {
  readonly states: readonly string[];
  readonly events: readonly string[];
  readonly when: string;
  readonly outcome: string;
}

function documentedRows(): readonly Row[] {
  const text = readFileSync(new URL("../../docs/state-machine.md", import.meta.url), "utf8");
  const table = /\| State \| Event \|.*\n\|[-|]+\|\n((?:\|.*\n)+)/.exec(text)?.[1];
  assert.ok(table !== undefined, "the delivery table is missing");
  return table
    .trimEnd()
    .split("\n")
    .map((line) => {
      const cells = line.replaceAll("`", "").split("|").slice(1, -1);
      const [states = "", events = "", when = "", ...outcome] = cells.map((cell) => cell.trim());
      return { states: states.split(", "), events: events.split(", "), when, outcome: outcome.join(" | ") };
    });
}

/** What the code does, in the words of the table. */
function observed(state: DeliveryState, scenario: Scenario): string {
  const { attemptCount = 1, now = 100 } = scenario;
  const progress: DeliveryProgress = {
    state,
    attemptCount,
    createdAt: 0,
    firstAttemptAt: 10,
    dueAt: 20,
    reason: "before",
  };
  const schedule = { kind: "list", delaysMs: [10, 10], jitter: { from: 1, to: 1 } } as const;
  const policy = { schedule, attemptsMax: 3, retryDelayFloorsMs: {}, ageMsMax };
  const result = transition({ progress, event: scenario.event, policy, now, random: 0 });
  if (result.kind !== "moved") return `${result.kind}: ${result.reason} | no | none`;
  const counted = result.progress.attemptCount > attemptCount ? "yes" : "no";
  return `${result.progress.state} | ${counted} | ${result.effects.map(effectWords).join(", ") || "none"}`;
}

function effectWords(effect: DeliveryEffect): string {
  switch (effect.kind) {
    case "completed":
      return effect.late ? "completed(late)" : "completed";
    case "schedule":
      return "schedule";
    case "dead_letter":
      return `dead_letter(${effect.reason.replace(/^permanent_.*/, "permanent_*")})`;
    case "dead_letter_closed":
      return `dead_letter_closed(${effect.by})`;
    case "cancelled":
      return effect.reason === "by the test" ? "cancelled" : `cancelled(${effect.reason})`;
    default:
      return assert.fail("an effect without words");
  }
}

test("the delivery table in docs/state-machine.md is what the code does", () => {
  const rows = documentedRows();
  const used = new Set<Row>();
  for (const state of deliveryStates) {
    for (const scenario of scenarios) {
      const matching = rows.filter((row) => {
        const whenMatches = row.when === "always" || scenario.when.includes(row.when);
        return row.states.includes(state) && row.events.includes(scenario.event.kind) && whenMatches;
      });
      const place = `${state}, ${scenario.event.kind}, ${scenario.when[0] ?? "always"}`;
      assert.equal(matching.length, 1, `${place}: ${matching.length} rows`);
      assert.equal(matching[0]?.outcome, observed(state, scenario), place);
      for (const row of matching) used.add(row);
    }
  }
  assert.deepEqual(
    rows.filter((row) => !used.has(row)),
    [],
    "rows that describe nothing",
  );
});
