import type { Command } from "commander";
import { judgeField } from "../../resources/judge.ts";
import { operationChangeFields } from "../../resources/operation.ts";
import type { Json } from "../api-client.ts";
import { addPageOptions, clientCommand, printList, printOne } from "../client-command.ts";
import { UsageError } from "../failures.ts";
import type { Invocation } from "../invocation.ts";
import { type Column, shortTime } from "../table.ts";
import { followOperation } from "./bulk.ts";

const columns: readonly Column<Json>[] = [
  { title: "ID", value: (row) => row["id"] },
  { title: "KIND", value: (row) => row["kind"] },
  { title: "STATUS", value: (row) => row["status"] },
  { title: "DONE", value: (row) => `${String(row["done"])} of ${String(row["total"])}` },
  { title: "FAILED", value: (row) => row["failed"] },
  { title: "PER S", value: (row) => row["rate_per_second"] ?? row["requests_per_second"] },
  { title: "TENANT", value: (row) => row["tenant_id"] },
  { title: "STARTED (UTC)", value: (row) => shortTime(row["created_at"]) },
];

const watched = ["--watch", "show progress until done"] as const;

export function addOperationCommands(program: Command, invocation: Invocation): void {
  const operations = program
    .command("operations")
    .description("bulk operations: retry, recover, cancel, discard");

  const list = addPageOptions(operations.command("list").description("list bulk operations, newest first"));
  clientCommand(list, invocation, (call) => printList(call, "/v1/operations", columns, "no operations"));

  const show = operations
    .command("show")
    .alias("get")
    .description("show the progress of an operation")
    .argument("<operation-id>")
    .option(...watched);
  clientCommand(show, invocation, async (call) => {
    const { client, terminal, args, options } = call;
    const operation = await client.get(pathOf(args));
    printOne(terminal, options.flag("watch") ? await followOperation(call, operation) : operation);
  });

  addChange(operations, invocation, "pause", "pause an operation", "paused");
  addChange(operations, invocation, "resume", "resume a paused operation", "running");

  const rate = operations
    .command("rate")
    .description("change the rate of an operation")
    .argument("<operation-id>")
    .argument("<per-second>", "0.1 to 1000");
  clientCommand(rate, invocation, async ({ client, terminal, args }) => {
    const body = { rate_limit: { requests_per_second: rateOf(args[1] ?? "") } };
    printOne(terminal, await client.call("PATCH", { path: pathOf(args), body }));
  });

  const cancel = operations
    .command("cancel")
    .description("cancel an operation. Completed work is not undone")
    .argument("<operation-id>");
  clientCommand(cancel, invocation, async ({ client, terminal, args }) => {
    printOne(terminal, await client.call("DELETE", { path: pathOf(args) }));
  });
}

function addChange(
  operations: Command,
  invocation: Invocation,
  name: string,
  says: string,
  status: string,
): void {
  const command = operations
    .command(name)
    .description(says)
    .argument("<operation-id>")
    .option(...watched);
  clientCommand(command, invocation, async (call) => {
    const { client, terminal, args, options } = call;
    const changed = await client.call("PATCH", { path: pathOf(args), body: { status } });
    printOne(terminal, options.flag("watch") ? await followOperation(call, changed) : changed);
  });
}

function pathOf([id = ""]: readonly string[]): string {
  return `/v1/operations/${encodeURIComponent(id)}`;
}

function rateOf(text: string): number {
  const rate = text.trim() === "" ? Number.NaN : Number(text);
  const [problem] = judgeField(operationChangeFields.requestsPerSecond, { path: "the rate", value: rate });
  if (problem !== undefined) throw new UsageError(`the rate ${problem.message}`);
  return rate;
}
