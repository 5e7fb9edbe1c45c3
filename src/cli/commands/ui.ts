import type { Command } from "commander";
import { clientCommand } from "../client-command.ts";
import type { Invocation } from "../invocation.ts";

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
