import { Command, CommanderError } from "commander";
import { version } from "../app/version.ts";
import { addAlertRulesCommand, addAlertsCommand } from "./commands/alerts.ts";
import { addAuditCommand } from "./commands/audit.ts";
import { addCheckCommand } from "./commands/check.ts";
import { addCompletionCommand } from "./commands/completion.ts";
import { addConfigCommand } from "./commands/config.ts";
import { addDeadLetterCommands } from "./commands/dead-letters.ts";
import { addDeliveryCommands } from "./commands/deliveries.ts";
import { addDemoCommand } from "./commands/demo.ts";
import { addEventCommands } from "./commands/events.ts";
import { addGatewayCommands } from "./commands/gateway.ts";
import { addListenCommand } from "./commands/listen.ts";
import { addLoginCommands } from "./commands/login.ts";
import { addMaintenanceCommands } from "./commands/maintenance.ts";
import { addMoveCommand } from "./commands/move.ts";
import { addNotificationCommands } from "./commands/notifications.ts";
import { addOperationCommands } from "./commands/operations.ts";
import { addPortalSessionCommands } from "./commands/portal-sessions.ts";
import { addProblemCommands } from "./commands/problems.ts";
import { addPublishCommand } from "./commands/publish.ts";
import { addRegistryCommands, addTypesCommand } from "./commands/registry.ts";
import { addServeCommand } from "./commands/serve.ts";
import { addStatisticsCommands } from "./commands/statistics.ts";
import { addSearchCommand, addSystemCommand, addUiCommand } from "./commands/system.ts";
import { addTailCommand } from "./commands/tail.ts";
import { addTriggerCommand } from "./commands/trigger.ts";
import {
  addRecoverCommand,
  addWebhookActions,
  addWebhookHistoryCommands,
} from "./commands/webhook-actions.ts";
import { addWebhookCommands } from "./commands/webhooks.ts";
import { CommandFailure, exitStatus } from "./failures.ts";
import type { Invocation } from "./invocation.ts";

/** All commands, in the order of the help. */
export function createProgram(invocation: Invocation): Command {
  const program = new Command("posthorn")
    .description("Webhook delivery that keeps its promises.")
    .version(version, "-V, --version", "print the version")
    .helpOption("-h, --help", "print help")
    .helpCommand("help [command]", "print help for a command")
    .showSuggestionAfterError(true)
    .option(
      "--profile <name>",
      "server and key saved with posthorn login, for any command (default: POSTHORN_PROFILE)",
    )
    // Options after a command name belong to that command.
    .enablePositionalOptions()
    .addHelpText("after", helpEnd);
  addServeCommand(program, invocation);
  addUiCommand(program, invocation);
  addDemoCommand(program, invocation);
  addListenCommand(program, invocation);
  addCheckCommand(program, invocation);
  addTailCommand(program, invocation);
  addPublishCommand(program, invocation);
  addTriggerCommand(program, invocation);
  addEventCommands(program, invocation);
  const webhooks = program.command("webhooks").description("webhook subscriptions");
  addWebhookCommands(webhooks, invocation);
  addWebhookActions(webhooks, invocation);
  addWebhookHistoryCommands(webhooks, invocation);
  addDeliveryCommands(program, invocation);
  addSearchCommand(program, invocation);
  addProblemCommands(program, invocation);
  addStatisticsCommands(program, invocation);
  addSystemCommand(program, invocation);
  addDeadLetterCommands(program, invocation);
  addRecoverCommand(program, invocation);
  addOperationCommands(program, invocation);
  addAlertsCommand(program, invocation);
  addAlertRulesCommand(program, invocation);
  addNotificationCommands(program, invocation);
  addAuditCommand(program, invocation);
  addRegistryCommands(program, invocation);
  addTypesCommand(program, invocation);
  addLoginCommands(program, invocation);
  addCompletionCommand(program, invocation);
  addPortalSessionCommands(program, invocation);
  addGatewayCommands(program, invocation);
  addConfigCommand(program, invocation);
  addMaintenanceCommands(program, invocation);
  addMoveCommand(program, invocation);
  return program;
}

const helpEnd = `
Exit status: 0 success, 1 failure, 2 invalid usage. Data goes to standard output, everything else to standard error.`;

/** Runs one command line and returns the exit status. */
export async function runProgram(args: readonly string[], invocation: Invocation): Promise<number> {
  const terminal = invocation.terminal(false);
  const program = createProgram(invocation);
  configure(program, invocation);
  try {
    await program.parseAsync(helpOfInner(program, args), { from: "user" });
    return exitStatus.done;
  } catch (error) {
    // Commander has printed its own message.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitStatus.done : exitStatus.usage;
    if (!(error instanceof CommandFailure)) throw error;
    terminal.note(`${terminal.errStyle("red", "posthorn:")} ${error.message}`);
    for (const hint of error.hints) terminal.note(hint);
    return error.status;
  }
}

/** Turns `help webhooks create` into `webhooks create --help`, because commander stops at `webhooks`. */
function helpOfInner(program: Command, args: readonly string[]): readonly string[] {
  const [first, ...names] = args;
  if (first !== "help" || names.length < 2) return args;
  let command: Command | undefined = program;
  for (const name of names) command = command?.commands.find((one) => one.name() === name);
  return command === undefined ? names : [...names, "--help"];
}

/** Sets options on each command, because commander applies them only to commands that are added later. */
function configure(command: Command, invocation: Invocation, path = ""): void {
  const terminal = invocation.terminal(false);
  command.showHelpAfterError(`See: posthorn ${path}--help`);
  command.exitOverride().configureOutput({
    writeOut: (text) => terminal.data(text.replace(/\n$/, "")),
    writeErr: (text) => terminal.note(text.replace(/\n$/, "").replace(/^error: /, "posthorn: ")),
  });
  for (const child of command.commands) configure(child, invocation, `${path}${child.name()} `);
}
