import type { Command } from "commander";
import { configurationPage, describeSettings } from "../../config/describe.ts";
import { checkPage } from "../../pages/check-page.ts";
import { profilesPage } from "../../pages/profiles-page/page.ts";
import { commandReference } from "../../pages/reference.ts";
import type { Invocation } from "../invocation.ts";
import { addSettingsOptions, resolveFor, settingsProblem } from "../settings-options.ts";
import { printTable } from "../table.ts";

interface Flags {
  readonly docs?: true;
  readonly commands?: true;
  readonly profiles?: true;
  readonly checks?: true;
  readonly json?: true;
}

export function addConfigCommand(program: Command, invocation: Invocation): void {
  const command = addSettingsOptions(
    program.command("config").description("print the settings in force and where each came from"),
  )
    .option("--docs", "print docs/configuration.md instead")
    .option("--commands", "print docs/cli.md instead")
    .option("--profiles", "print docs/profiles.md instead")
    .option("--checks", "print docs/check.md instead")
    .option("--json", "print JSON, one setting a line");
  command.action(() => {
    const { docs, commands, profiles, checks, json } = command.opts<Flags>();
    const terminal = invocation.terminal({ json: json === true });
    if (docs === true) return terminal.data(configurationPage().trimEnd());
    if (commands === true) return terminal.data(commandReference(program).trimEnd());
    if (profiles === true) return terminal.data(profilesPage().trimEnd());
    if (checks === true) return terminal.data(checkPage().trimEnd());
    const resolution = resolveFor(command, invocation);
    if (resolution.kind === "refused") throw settingsProblem(resolution.problems);
    const rows = describeSettings(resolution.settings, resolution.sources);
    if (terminal.json) {
      for (const { name, value, source } of rows)
        terminal.object({ name, value, source: source.kind, from: source.name });
      return;
    }
    printTable(terminal, {
      columns: [
        { title: "SETTING", value: ({ name }) => name },
        { title: "VALUE", value: ({ value }) => value },
        { title: "FROM", value: ({ source }) => source.name },
      ],
      rows,
    });
  });
}
