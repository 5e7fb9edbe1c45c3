import type { Command } from "commander";
import type { Json } from "../api-client.ts";
import { clientCommand } from "../client-command.ts";
import type { Invocation } from "../invocation.ts";
import { columns, printFields, printTable } from "../table.ts";

const searchColumns = columns<Json>({
  TYPE: "type",
  ID: "id",
  TENANT: "tenant_id",
  "MATCHED BY": "matched",
  TITLE: "title",
});

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

export function addUiCommand(program: Command, invocation: Invocation): void {
  const command = program
    .command("ui")
    .description("print a dashboard link, which works once within five minutes");
  clientCommand(command, invocation, async ({ client, terminal, options }) => {
    const { path, expires_at } = await client.post("/ui/login-codes");
    const url = client.addressOf(String(path));
    if (options.flag("json")) terminal.data(JSON.stringify({ url, expires_at }));
    else terminal.data(url);
  });
}

const settingColumns = columns<Json>({ SETTING: "name", VALUE: "value", FROM: "from" });

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
    printTable(terminal, settingColumns, settings as readonly Json[]);
  });
}
