import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import type { MovePlan } from "../../app/move/move-plan.ts";
import type { MoveNews, MoveReport } from "../../app/move/move-store.ts";
import { resolveSettings } from "../../config/resolve.ts";
import { CommandFailure, UsageError } from "../failures.ts";
import type { Invocation } from "../invocation.ts";
import { ownerOnly } from "../owner-only.ts";
import { startFailure } from "../start-failure.ts";
import type { Terminal } from "../terminal.ts";

interface MoveOptions {
  readonly from?: string;
  readonly to?: string;
  readonly reopen?: string;
  readonly dryRun?: true;
  readonly json?: true;
}

/** Between two rounds while servers still work on the source. */
const pauseMs = 2_000;

export function addMoveCommand(program: Command, invocation: Invocation): void {
  const command = program
    .command("move")
    .description("move everything into another store; servers go on until the last moment")
    .option("--from <place>", "a data folder, or the address of a PostgreSQL database")
    .option("--to <address>", "an empty database, postgres://…, or an empty data folder")
    .option("--dry-run", "look at both and say what would move")
    .option("--reopen <place>", "serve again from a store that everything moved from")
    .option("--json", "print JSON, one object a line")
    .addHelpText("after", helpEnd);
  command.action(async () => {
    const options = command.opts<MoveOptions>();
    const terminal = invocation.terminal({ json: options.json === true });
    process.umask(ownerOnly);
    try {
      await run(options, { terminal, env: invocation.env });
    } catch (error) {
      throw withMoveOptions(startFailure(error, "cannot move"));
    }
  });
}

/** Errors of a start name settings of a server; here both ends come from options. */
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
The master key is that of the data folder that is moved from, or POSTHORN_MASTER_KEY. A password can stay out of the
command line in PGPASSWORD.
Killed or interrupted, the same command goes on where it was. docs/moving.md tells the whole way.`;

async function run(
  { from, to, reopen, dryRun }: MoveOptions,
  { terminal, env }: { readonly terminal: Terminal; readonly env: Invocation["env"] },
): Promise<void> {
  const moving = await import("../../app/move/move-plan.ts");
  const resolution = resolveSettings({ flags: {}, env, file: undefined });
  if (resolution.kind === "refused") throw new CommandFailure(resolution.problems.join("\n"));
  const { settings } = resolution;
  if (reopen !== undefined) {
    await moving.reopenMoved({ from: reopen, settings });
    terminal.note("it can be served from again");
    return;
  }
  if (from === undefined || to === undefined)
    throw new UsageError("say where from and where to: --from, --to");
  if (dryRun === true) return printPlan(terminal, await moving.planMove({ from, to, settings }));
  const progress = new MoveProgress(terminal);
  const report = await moving.runMove(
    { from, to, settings },
    { tell: (news) => progress.tell(news), pause: () => sleep(pauseMs) },
  );
  progress.end();
  printReport(terminal, report);
}

function printPlan(terminal: Terminal, plan: MovePlan): void {
  if (terminal.json) return terminal.object(plan);
  for (const { part, rows } of plan.parts) terminal.data(`${part.padEnd(18)} ${rows}`);
  terminal.note(
    plan.served
      ? "A server works on it now: it can go on while its rows are copied, and stops for the last ones."
      : "No server works on it now.",
  );
}

function printReport(terminal: Terminal, report: MoveReport & { readonly to: string }): void {
  const { parts, standstillMs, to } = report;
  if (terminal.json) {
    const { rounds } = report;
    return terminal.object({ moved_to: to, rounds, standstill_ms: Math.round(standstillMs), parts });
  }
  for (const { part, rows } of parts) terminal.data(`${part.padEnd(18)} ${rows}`);
  terminal.note(`Everything is in ${to}; nobody could serve for ${(standstillMs / 1_000).toFixed(1)} s.`);
  terminal.note(
    "Serve from there: POSTHORN_DATABASE_URL, with POSTHORN_MASTER_KEY_FILE naming master.key of the folder.",
  );
}

/** Tells a person how far it is: one line that changes, or a line for each part where none can. */
class MoveProgress {
  readonly #terminal: Terminal;
  #part = "";
  #line = "";

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  tell(news: MoveNews): void {
    if (this.#terminal.json) return this.#terminal.object(news);
    if (news.kind === "progress") return this.#show(news);
    this.end();
    this.#terminal.note(textOf(news));
  }

  /** Leaves the last line as it is. */
  end(): void {
    if (this.#line === "") return;
    if (this.#terminal.isLive) this.#terminal.redraw("");
    this.#terminal.note(`  ${this.#line}`);
    this.#line = "";
    this.#part = "";
  }

  #show({ part, rows }: { readonly part: string; readonly rows: number }): void {
    if (this.#part !== "" && this.#part !== part) this.end();
    this.#part = part;
    this.#line = `${part}: ${rows}`;
    if (this.#terminal.isLive) this.#terminal.redraw(`  ${this.#line}`);
  }
}

function textOf(news: Exclude<MoveNews, { kind: "progress" }>): string {
  if (news.kind === "finishing")
    return "All rows are there and were read back. Counters and positions follow.";
  if (news.kind === "replaced")
    return `${news.rows} rows of ${news.part} had text that PostgreSQL refuses (half of a surrogate pair, or U+0000): these characters are U+FFFD now.`;
  if (news.kind === "round")
    return news.served
      ? `Round ${news.number}, while the server goes on:`
      : "No server works on the source any more. The last round:";
  return `${news.written} rows were copied. Stop the server when it suits you; until then changes are copied again and again.`;
}
