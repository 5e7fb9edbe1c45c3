import type { Command } from "commander";
import type { Json } from "../api-client.ts";
import { clientCommand } from "../client-command.ts";
import type { Invocation } from "../invocation.ts";
import { printFields, printTable } from "../table.ts";
import type { Column } from "../table.ts";

const columns: readonly Column<Json>[] = [
  { title: "SETTING", value: (row) => row["name"] },
  { title: "VALUE", value: (row) => row["value"] },
  { title: "FROM", value: (row) => row["from"] },
];

export function addSystemCommand(program: Command, invocation: Invocation): void {
  const system = program
    .command("system")
    .description("server status, settings and workers (administrators)");
  clientCommand(system, invocation, async ({ client, terminal }) => {
    const answer = await client.get("/v1/system");
    if (terminal.json) return terminal.object(answer);
    const { settings, ...fields } = answer;
    printFields(terminal, fields);
    terminal.data("");
    printTable(terminal, columns, settings as readonly Json[]);
  });
}
