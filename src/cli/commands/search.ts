import type { Command } from "commander";
import type { Json } from "../api-client.ts";
import { clientCommand } from "../client-command.ts";
import type { Invocation } from "../invocation.ts";
import { printTable } from "../table.ts";
import type { Column } from "../table.ts";

const searchColumns: readonly Column<Json>[] = [
  { title: "TYPE", value: (row) => row["type"] },
  { title: "ID", value: (row) => row["id"] },
  { title: "TENANT", value: (row) => row["tenant_id"] },
  { title: "MATCHED BY", value: (row) => row["matched"] },
  { title: "TITLE", value: (row) => row["title"] },
];

export function addSearchCommand(program: Command, invocation: Invocation): void {
  const search = program
    .command("search")
    .description(
      "search by id, idempotency key, or prefix of a webhook URL, source name or source description",
    )
    .argument("<text>");
  clientCommand(search, invocation, async ({ client, terminal, args: [q = ""] }) => {
    const { data } = await client.get("/v1/search", { query: { q } });
    const rows = data as readonly Json[];
    if (terminal.json) for (const row of rows) terminal.object(row);
    else if (rows.length > 0) printTable(terminal, searchColumns, rows);
    else terminal.note("no results");
  });
}
