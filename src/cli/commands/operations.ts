import type { Command } from "commander";
import { judgeField } from "../../resources/field.ts";
import { operationChangeFields } from "../../resources/operation.ts";
import type { Json } from "../api-client.ts";
import { type ClientCall, clientCommand, printOne } from "../client-command.ts";
import { UsageError } from "../failures.ts";
import type { Invocation } from "../invocation.ts";
import { acts, PlainCommands } from "../plain-commands.ts";
import { timeIn } from "../table.ts";
import { followOperation } from "./bulk.ts";

const columns = {
  ID: "id",
  KIND: "kind",
  STATUS: "status",
  DONE: (row: Json) => `${String(row["done"])} of ${String(row["total"])}`,
  FAILED: "failed",
  "PER S": (row: Json) => row["rate_per_second"] ?? row["requests_per_second"],
  TENANT: "tenant_id",
  "STARTED (UTC)": timeIn("created_at"),
};

const path = "/v1/operations";
const id = "<operation-id>";

export function addOperationCommands(program: Command, invocation: Invocation): void {
  const operations = program
    .command("operations")
    .description("bulk operations: retry, recover, cancel, discard");
  const commands = new PlainCommands(operations, invocation, { path });

  commands.list("list bulk operations, newest first", columns, "no operations");

  const show = withWatch(
    operations.command("show").alias("get").description("show the progress of an operation").argument(id),
  );
  clientCommand(show, invocation, async (call) =>
    printWatched(call, await call.client.get(`${path}/${encodeURIComponent(call.args[0] ?? "")}`)),
  );

  for (const [name, says, status] of [
    ["pause", "pause an operation", "paused"],
    ["resume", "resume a paused operation", "running"],
  ] as const)
    commands.one(
      name,
      says,
      id,
      async (call, one) =>
        printWatched(call, await call.client.call("PATCH", { path: one, body: { status } })),
      withWatch,
    );

  commands.one(
    "rate",
    "change the rate of an operation",
    id,
    acts("PATCH", "", ({ args }) => ({ rate_limit: { requests_per_second: rateOf(args[1] ?? "") } })),
    (command) => command.argument("<per-second>", "0.1 to 1000"),
  );
  commands.one("cancel", "cancel an operation. Completed work is not undone", id, acts("DELETE"));
}

function withWatch(command: Command): Command {
  return command.option("--watch", "show progress until done");
}

async function printWatched(call: ClientCall, operation: Json): Promise<void> {
  printOne(call.terminal, call.options.flag("watch") ? await followOperation(call, operation) : operation);
}

function rateOf(text: string): number {
  const rate = text.trim() === "" ? Number.NaN : Number(text);
  const [problem] = judgeField(operationChangeFields.requestsPerSecond, "the rate", rate);
  if (problem !== undefined) throw new UsageError(`the rate ${problem.message}`);
  return rate;
}
