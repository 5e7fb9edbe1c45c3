import type { Command } from "commander";
import {
  problemChangeFields,
  problemFilterOptions,
  problemFilters,
} from "../../resources/delivery-problem.ts";
import type { ClientCall } from "../client-command.ts";
import type { Invocation } from "../invocation.ts";
import { acts, FieldOption, PlainCommands } from "../plain-commands.ts";
import { timeIn } from "../table.ts";

const columns = {
  ID: "id",
  STATE: "state",
  "LAST SEEN (UTC)": timeIn("last_seen_at"),
  DELIVERIES: "deliveries",
  PROBLEM: "title",
};

export function addProblemCommands(program: Command, invocation: Invocation): void {
  const problems = program.command("problems").description("problems of webhooks, with remedies");
  const commands = new PlainCommands(problems, invocation, { path: "/v1/problems", filters: problemFilters });
  const changes = (body: (call: ClientCall) => object) => acts("PATCH", "", body);
  const id = "<problem-id>";

  commands.list("list problems, most recently changed first", columns, "no problems", problemFilterOptions);
  commands.get("show a problem", id);
  commands.one(
    "mute",
    "mute a problem",
    id,
    changes(({ options }) => ({
      muted: true,
      muted_until: options.time("until", "ahead"),
      mute_reason: options.text("reason"),
    })),
    (command) =>
      command
        .option("--until <time>", "end of the mute: a time, a date, or a duration from now such as 1h")
        .addOption(new FieldOption("--reason <text>", problemChangeFields.muteReason)),
  );
  commands.one(
    "unmute",
    "unmute a problem",
    id,
    changes(() => ({ muted: false })),
  );
  commands.one(
    "note",
    "set the note of a problem, or remove it if no text is given",
    id,
    changes(({ args }) => ({ note: args[1] ?? null })),
    (command) => command.argument("[text]"),
  );
}
