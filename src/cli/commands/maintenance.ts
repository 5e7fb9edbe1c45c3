import type { Command } from "commander";
import type { MigrationReport } from "../../app/maintenance.ts";
import type { Invocation } from "../invocation.ts";
import { addSettingsOptions, settingsFor } from "../settings-options.ts";
import { ownerOnly } from "../own-files.ts";
import { startFailure } from "../failures.ts";
import type { Terminal } from "../terminal.ts";

export function addMaintenanceCommands(program: Command, invocation: Invocation): void {
  addMigrateCommand(program, invocation);
  addBackupCommand(program, invocation);
}

function addMigrateCommand(program: Command, invocation: Invocation): void {
  const command = addSettingsOptions(
    program.command("migrate").description("migrate the database schema. Starting a server does this too"),
  )
    .option("--plan", "only print the pending steps")
    .option("--new-digest-key", "recreate a lost digest.key. Duplicate secrets may then go undetected")
    .option("--json", "print JSON");
  command.action(async () => {
    const {
      plan,
      json,
      newDigestKey = false,
    } = command.opts<{
      plan?: true;
      json?: true;
      newDigestKey?: true;
    }>();
    const settings = settingsFor(command, invocation);
    const terminal = invocation.terminal({ json: json === true });
    process.umask(ownerOnly);
    const { migrateStore, planMigrations } = await import("../../app/maintenance.ts");
    try {
      const report = await (plan === true ? planMigrations(settings) : migrateStore(settings, newDigestKey));
      printReport(terminal, report, plan === true ? "would apply" : "applied");
    } catch (error) {
      throw startFailure(error);
    }
  });
}

function printReport(terminal: Terminal, report: MigrationReport, verb: string): void {
  if (terminal.json) return terminal.object({ from: report.from, steps: report.steps });
  if (report.steps.length === 0) return terminal.data(`the database is up to date (version ${report.from})`);
  for (const { number, name } of report.steps) terminal.data(`${verb} ${number} ${name}`);
}

function addBackupCommand(program: Command, invocation: Invocation): void {
  const command = addSettingsOptions(
    program
      .command("backup")
      .description("copy the database to a new file. The server may keep running")
      .argument("<file>"),
  ).option("--json", "print JSON");
  command.action(async (file: string) => {
    const settings = settingsFor(command, invocation);
    const terminal = invocation.terminal({ json: command.opts<{ json?: true }>().json === true });
    process.umask(ownerOnly);
    const { backupStore } = await import("../../app/maintenance.ts");
    try {
      const { keyFiles } = await backupStore(settings, file);
      if (terminal.json) terminal.object({ file, key_files: keyFiles });
      else terminal.data(file);
      if (keyFiles.length === 0) return;
      terminal.note(
        "Also back up these files, separately from the copy. Without them, its secrets cannot be decrypted.",
      );
      for (const path of keyFiles) terminal.note(`  ${path}`);
    } catch (error) {
      throw startFailure(error, "backup failed");
    }
  });
}
