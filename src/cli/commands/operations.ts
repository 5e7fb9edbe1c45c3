import type { Command } from "commander";
import type { Json } from "../api-client.ts";
import { addPageOptions, clientCommand, printList, printOne } from "../client-command.ts";
import type { Invocation } from "../invocation.ts";
import { shortTime } from "../table.ts";
import type { Column } from "../table.ts";

const columns: readonly Column<Json>[] = [
  { title: "ID", value: (row) => row["id"] },
  { title: "KIND", value: (row) => row["kind"] },
  { title: "STATUS", value: (row) => row["status"] },
  { title: "QUEUED", value: (row) => `${String(row["queued"])} of ${String(row["total"])}` },
  { title: "FAILED", value: (row) => row["failed"] },
  { title: "TENANT", value: (row) => row["tenant_id"] },
  { title: "BEGUN (UTC)", value: (row) => shortTime(row["created_at"]) },
];

export function addOperationCommands(program: Command, invocation: Invocation): void {
  const operations = program.command("operations").description("bulk work: retries and recoveries");

  const list = addPageOptions(operations.command("list").description("list bulk operations, newest first"));
  clientCommand(list, invocation, (call) =>
    printList(call, { path: "/v1/operations", columns, none: "no operations" }),
  );

  const get = operations.command("get").description("see how far one is").argument("<operation-id>");
  clientCommand(get, invocation, async ({ client, terminal, args: [id = ""] }) => {
    printOne(terminal, await client.get(`/v1/operations/${encodeURIComponent(id)}`));
  });

  const cancel = operations
    .command("cancel")
    .description("start nothing more of it; what it has queued so far is delivered")
    .argument("<operation-id>");
  clientCommand(cancel, invocation, async ({ client, terminal, args: [id = ""] }) => {
    printOne(terminal, await client.call("DELETE", { path: `/v1/operations/${encodeURIComponent(id)}` }));
  });
}
