/** The state machine's documentation as data, to compare it with the code and with the observed behaviour. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { type DeliveryEventKind, eventsIn } from "./delivery-state.ts";
import { type DeliveryState, deliveryStates } from "./delivery.ts";

/** One row of the table: a state, an event and a condition. */
export interface TableRow {
  readonly state: DeliveryState;
  readonly event: DeliveryEventKind;
  readonly when: string;
  /** `as before`, or a state. */
  readonly result: string;
  readonly reason: string;
  readonly isAttempt: boolean;
  readonly deadLetter: "written" | "closed" | "none";
}

const page = readFileSync(new URL("../../docs/state-machine.md", import.meta.url), "utf8");

export function tableRows(): readonly TableRow[] {
  const table = /\| State \| Event \| When .*\n\|[-|]+\|\n((?:\|.*\n)+)/.exec(page)?.[1];
  assert.ok(table !== undefined, "the delivery table is missing");
  return table.trimEnd().split("\n").flatMap(rowsOf);
}

function rowsOf(line: string): readonly TableRow[] {
  const cells = line.replaceAll("`", "").split("|").slice(1, -1);
  const [states = "", events = "", when = "", result = "", reason = "", attempt = "", deadLetter = ""] =
    cells.map((cell) => cell.trim());
  assert.ok(deadLetter === "written" || deadLetter === "closed" || deadLetter === "none", line);
  return states.split(", ").flatMap((name) =>
    events.split(", ").map((kind) => {
      const state = deliveryStates.find((each) => each === name);
      assert.ok(state !== undefined, `no such state: ${name}`);
      const event = eventsIn[state].find((each) => each === kind);
      assert.ok(event !== undefined, `${kind} cannot happen in state ${name}`);
      return { state, event, when, result, reason, isAttempt: attempt === "yes", deadLetter };
    }),
  );
}

/** Arrows such as `pending --> success: accepted` in the diagram, without those to and from `[*]`. */
export function drawnArrows(): readonly string[] {
  const drawing = /## Delivery\n[^]*?```mermaid\n([^]*?)```/.exec(page)?.[1] ?? "";
  return drawing
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line.includes("-->") && !line.includes("[*]"));
}
