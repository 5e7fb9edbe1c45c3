import type { Command } from "commander";
import { configurationPage, describeSettings } from "../../config/describe.ts";
import type { Invocation } from "../invocation.ts";
import { addSettingsOptions, resolveFor, settingsProblem } from "../settings-options.ts";
import { columns, printTable } from "../table.ts";

interface Flags {
  readonly docs?: true;
  readonly commands?: true;
  readonly profiles?: true;
  readonly checks?: true;
  readonly operationalEvents?: true;
  readonly json?: true;
}

export function addConfigCommand(program: Command, invocation: Invocation): void {
  const command = addSettingsOptions(
    program.command("config").description("print the effective settings and their sources"),
  )
    .option("--docs", "print docs/configuration.md instead")
    .option("--commands", "print docs/cli.md instead")
    .option("--profiles", "print docs/profiles.md instead")
    .option("--checks", "print docs/check.md instead")
    .option("--operational-events", "print docs/operational-events.md instead")
    .option("--json", "print JSON, one setting per line");
  command.action(async () => {
    const flags = command.opts<Flags>();
    const terminal = invocation.terminal(flags.json === true);
    const page = await pageOf(flags, program);
    if (page !== null) return terminal.data(page.trimEnd());
    const resolution = resolveFor(command, invocation);
    if (resolution.kind === "refused") throw settingsProblem(resolution.problems);
    const rows = describeSettings(resolution.settings, resolution.sources);
    if (terminal.json) {
      for (const { name, value, source } of rows)
        terminal.object({ name, value, source: source.kind, from: source.name });
      return;
    }
    printTable(
      terminal,
      columns({ SETTING: "name", VALUE: "value", FROM: ({ source }: (typeof rows)[number]) => source.name }),
      rows,
    );
  });
}

/** Returns the requested page of the docs. The generators are loaded only when needed. */
async function pageOf(flags: Flags, program: Command): Promise<string | null> {
  const { docs, commands, profiles, checks, operationalEvents } = flags;
  if (docs === true) return configurationPage();
  if (commands === true) return (await import("../../pages/reference.ts")).commandReference(program);
  if (profiles === true) return (await import("../../pages/profiles-page.ts")).profilesPage();
  if (checks === true) return (await import("../../pages/reference.ts")).checkPage();
  if (operationalEvents === true) return (await import("../../pages/reference.ts")).operationalEventsPage();
  return null;
}
