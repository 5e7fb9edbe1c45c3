import type { Command } from "commander";
import {
  problemChangeFields,
  problemFilterOptions,
  problemFilters,
} from "../../resources/delivery-problem.ts";
import type { Json } from "../api-client.ts";
import { addPageOptions, type ClientCall, clientCommand, printList, printOne } from "../client-command.ts";
import { FieldOption } from "../field-option.ts";
import type { Invocation } from "../invocation.ts";
import { addFieldOptions, queryOf } from "../plain-commands.ts";
import { type Column, shortTime } from "../table.ts";

const columns: readonly Column<Json>[] = [
  { title: "ID", value: (row) => row["id"] },
  { title: "STATE", value: (row) => row["state"] },
  { title: "LAST SEEN (UTC)", value: (row) => shortTime(row["last_seen_at"]) },
  { title: "DELIVERIES", value: (row) => row["deliveries"] },
  { title: "PROBLEM", value: (row) => row["title"] },
];

export function addProblemCommands(program: Command, invocation: Invocation): void {
  const problems = program.command("problems").description("problems of webhooks, with remedies");

  const list = addPageOptions(problems.command("list").description("list problems, last changed first"));
  addFieldOptions(list, problemFilters, problemFilterOptions);
  clientCommand(list, invocation, (call) =>
    printList(
      call,
      "/v1/problems",
      columns,
      "no problems",
      queryOf(call.options, problemFilters, problemFilterOptions),
    ),
  );

  const get = problems.command("get").description("show a problem").argument("<problem-id>");
  clientCommand(get, invocation, async (call) => {
    printOne(call.terminal, await call.client.get(pathOf(call)));
  });

  const mute = problems
    .command("mute")
    .description("mute a problem")
    .argument("<problem-id>")
    .option("--until <time>", "end of the mute: a time, a date, or a duration from now such as 1h")
    .addOption(new FieldOption("--reason <text>", problemChangeFields.muteReason));
  clientCommand(mute, invocation, (call) => {
    const { options } = call;
    const until = options.time("until", "ahead");
    return change(call, { muted: true, muted_until: until, mute_reason: options.text("reason") });
  });

  const unmute = problems.command("unmute").description("unmute a problem").argument("<problem-id>");
  clientCommand(unmute, invocation, (call) => change(call, { muted: false }));

  const note = problems
    .command("note")
    .description("set the note of a problem, or remove it if no text is given")
    .argument("<problem-id>")
    .argument("[text]");
  clientCommand(note, invocation, (call) => change(call, { note: call.args[1] ?? null }));
}

async function change(call: ClientCall, body: object): Promise<void> {
  printOne(call.terminal, await call.client.call("PATCH", { path: pathOf(call), body }));
}

function pathOf({ args }: ClientCall): string {
  return `/v1/problems/${args[0] ?? ""}`;
}
