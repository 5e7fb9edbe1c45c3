import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import type { MovePlan } from "../../app/move/move-plan.ts";
import type { MoveNews, MoveReport } from "../../app/move/move-store.ts";
import { resolveSettings } from "../../config/resolve.ts";
import { CommandFailure, UsageError, startFailure } from "../failures.ts";
import type { Invocation } from "../invocation.ts";
import { ownerOnly } from "../own-files.ts";
import type { Terminal } from "../terminal.ts";

interface MoveOptions {
  readonly from?: string;
  readonly to?: string;
  readonly reopen?: string;
  readonly dryRun?: true;
  readonly json?: true;
}

/** Pause between rounds while servers are still using the source. */
const pauseMs = 2_000;

export function addMoveCommand(program: Command, invocation: Invocation): void {
  const command = program
    .command("move")
    .description("move all data to another store. Servers keep running until the last round")
    .option("--from <place>", "data folder, or URL of a PostgreSQL database")
    .option("--to <address>", "empty database, postgres://…, or empty data folder")
    .option("--dry-run", "inspect both stores and print what would be moved")
    .option("--reopen <place>", "reopen a store whose data was moved away")
    .option("--json", "print JSON, one object per line")
    .addHelpText("after", helpEnd);
  command.action(async () => {
    const options = command.opts<MoveOptions>();
    const terminal = invocation.terminal(options.json === true);
    process.umask(ownerOnly);
    try {
      await run(options, terminal, invocation.env);
    } catch (error) {
      throw withMoveOptions(startFailure(error, "cannot move"));
    }
  });
}

/** Replaces server settings in error messages with the options of this command. */
function withMoveOptions(failure: unknown): unknown {
  if (!(failure instanceof CommandFailure)) return failure;
  const renamed = (text: string): string =>
    text
      .replace(" (setting POSTHORN_DATABASE_URL)", "")
      .replace("or POSTHORN_DATABASE_URL to another database", "or name another database: --to")
      .replace("--data-dir", "--from, --to");
  return new CommandFailure(renamed(failure.message), failure.hints.map(renamed));
}

const helpEnd = `
The master key is read from the source data folder or POSTHORN_MASTER_KEY. Pass a database password in PGPASSWORD to
keep it out of the command line.
To continue after an interruption, run the same command again. See docs/moving.md.`;

async function run(
  { from, to, reopen, dryRun }: MoveOptions,
  terminal: Terminal,
  env: Invocation["env"],
): Promise<void> {
  const moving = await import("../../app/move/move-plan.ts");
  const resolution = resolveSettings({ flags: {}, env, file: undefined });
  if (resolution.kind === "refused") throw new CommandFailure(resolution.problems.join("\n"));
  const { settings } = resolution;
  if (reopen !== undefined) {
    await moving.reopenMoved({ from: reopen, settings });
    terminal.note("the store can be used again");
    return;
  }
  if (from === undefined || to === undefined) throw new UsageError("--from and --to are required");
  if (dryRun === true) return printPlan(terminal, await moving.planMove({ from, to, settings }));
  const progress = new MoveProgress(terminal);
  const report = await moving.runMove(
    { from, to, settings },
    (news) => progress.tell(news),
    () => sleep(pauseMs),
  );
  progress.end();
  printReport(terminal, report);
}

function printPlan(terminal: Terminal, plan: MovePlan): void {
  if (terminal.json) return terminal.object(plan);
  for (const { part, rows } of plan.parts) terminal.data(`${part.padEnd(18)} ${rows}`);
  terminal.note(
    plan.served
      ? "A server is using the source. It can keep running while rows are copied, and must stop for the last round."
      : "No server is using the source.",
  );
}

function printReport(terminal: Terminal, report: MoveReport & { readonly to: string }): void {
  const { parts, standstillMs, to } = report;
  if (terminal.json) {
    const { rounds } = report;
    return terminal.object({ moved_to: to, rounds, standstill_ms: Math.round(standstillMs), parts });
  }
  for (const { part, rows } of parts) terminal.data(`${part.padEnd(18)} ${rows}`);
  terminal.note(`All data is in ${to}. Downtime: ${(standstillMs / 1_000).toFixed(1)} s.`);
  terminal.note(
    "To use it, set POSTHORN_DATABASE_URL, and set POSTHORN_MASTER_KEY_FILE to master.key of the data folder.",
  );
}

/** Shows progress: one live line on terminals, one line per part elsewhere. */
class MoveProgress {
  readonly #terminal: Terminal;
  #part = "";
  #line = "";

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  tell(news: MoveNews): void {
    if (this.#terminal.json) return this.#terminal.object(news);
    if (news.kind === "progress") return this.#show(news.part, news.rows);
    this.end();
    this.#terminal.note(textOf(news));
  }

  /** Ends the live line and keeps its last text. */
  end(): void {
    if (this.#line === "") return;
    if (this.#terminal.isLive) this.#terminal.redraw("");
    this.#terminal.note(`  ${this.#line}`);
    this.#line = "";
    this.#part = "";
  }

  #show(part: string, rows: number): void {
    if (this.#part !== "" && this.#part !== part) this.end();
    this.#part = part;
    this.#line = `${part}: ${rows}`;
    if (this.#terminal.isLive) this.#terminal.redraw(`  ${this.#line}`);
  }
}

function textOf(news: Exclude<MoveNews, { kind: "progress" }>): string {
  if (news.kind === "finishing") return "All rows are copied and verified. Copying counters and positions.";
  if (news.kind === "replaced")
    return `${news.rows} rows of ${news.part} contained text that PostgreSQL rejects (lone surrogates or U+0000). These characters were replaced with U+FFFD.`;
  if (news.kind === "round")
    return news.served
      ? `Round ${news.number}, with the server running:`
      : "No server is using the source. Last round:";
  return `${news.written} rows copied. Stop the server to finish. Until then, changes are copied in further rounds.`;
}
