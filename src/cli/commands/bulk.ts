import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import { retryBatchFields } from "../../resources/actions.ts";
import type { Field } from "../../resources/field.ts";
import type { Json } from "../api-client.ts";
import { type ClientCall, printOne } from "../client-command.ts";
import { CommandFailure, UsageError } from "../failures.ts";
import { FieldOption } from "../plain-commands.ts";
import { cellText } from "../table.ts";
import type { Terminal } from "../terminal.ts";
import { relativeTime } from "../times.ts";

/** Adds the options of all bulk actions. */
export function addBulkOptions(command: Command, rate: Field = retryBatchFields.requestsPerSecond): Command {
  return command
    .addOption(new FieldOption("--rate <per-second>", rate))
    .option("--dry-run", "only count, change nothing")
    .option("--yes", "confirm the action")
    .option("--watch", "show progress until done")
    .option("--wait", "alias of --watch");
}

/** Adds the option of bulk actions that send deliveries. */
export function addCircuitOption(command: Command): Command {
  return command.option("--close-circuits", "close open circuits first instead of waiting for them");
}

/** Counts first, acts only if `--yes` is given, and shows progress if `--watch` is given. */
export async function runBulk(
  call: ClientCall,
  path: string,
  what: string,
  selection: Json,
  /** Past participle for messages. */ done = "delivered again",
): Promise<void> {
  const { client, terminal, options } = call;
  const rate = options.number("rate");
  const closes = options.flag("closeCircuits") && { close_circuits: true };
  const rated = rate !== undefined && { rate_limit: { requests_per_second: rate } };
  const body = { ...selection, ...rated, ...closes };
  const isDryRun = options.flag("dryRun");
  if (isDryRun || !options.flag("yes")) {
    const counted = await client.post(path, { body: { ...body, dry_run: true } });
    const text = `${countText(counted)} ${what} would be ${done}`;
    if (isDryRun) {
      if (terminal.json) terminal.object(previewOf(counted));
      else terminal.data(text);
      explainPreview(terminal, counted);
      explainCircuits(call, counted);
      await explainInactive(call, counted);
      return;
    }
    explainPreview(terminal, counted);
    explainCircuits(call, counted);
    throw new UsageError(`${text}; nothing was changed`, [
      "Repeat the command with --yes to confirm, or with --dry-run to only count.",
    ]);
  }
  const started = await client.post(path, { body });
  const operation = started["operation"] as Json | null;
  const isWatched = options.flag("watch") || options.flag("wait");
  if (operation === null || !isWatched) {
    printOne(terminal, operation ?? { count: started["count"] });
  } else {
    printOne(terminal, await followOperation(call, operation));
  }
  explainCircuits(call, started);
  await explainInactive(call, started);
}

/** Explains that retried deliveries wait behind open circuits. */
function explainCircuits({ terminal, options }: ClientCall, started: Json): void {
  const circuits = (started["open_circuits"] ?? []) as readonly Json[];
  if (circuits.length === 0 || options.flag("closeCircuits")) return;
  for (const { webhook_id: id, count, until } of circuits.slice(0, explainedMax)) {
    const probes = until === null ? "probes are being sent" : `probes are sent from ${cellText(until)}`;
    terminal.note(`${String(count)} will wait: the circuit of webhook ${String(id)} is open; ${probes}`);
  }
  const others = circuits.length - explainedMax;
  if (others > 0) terminal.note(`${others} other webhooks have an open circuit too`);
  terminal.note("to send immediately, add --close-circuits");
}

function countText({ count, count_is_exact: isExact }: Json): string {
  return isExact === false ? `${String(count)} or more` : String(count);
}

/** JSON of a dry run, without the fields of a started operation. */
function previewOf(counted: Json): Json {
  const {
    operation: _operation,
    batch_operation_id: _id,
    inactive_webhooks: _inactive,
    open_circuits: circuits,
    ...preview
  } = counted;
  const isHeld = ((circuits ?? []) as readonly Json[]).length > 0;
  return isHeld ? { ...preview, open_circuits: circuits } : preview;
}

/** Prints skipped deliveries with reasons, samples, the time range and the estimate. */
function explainPreview(
  terminal: Terminal,
  { excluded, samples, filter, estimated_seconds: seconds }: Json,
): void {
  for (const [reason, count] of Object.entries((excluded ?? {}) as Json))
    terminal.note(`  skipped: ${String(count)}, ${exclusionTexts[reason] ?? reason}`);
  if (terminal.json) return;
  for (const row of (samples ?? []) as readonly Json[])
    terminal.note(
      `  for example ${cellText(row["id"])}  ${cellText(row["event_type"])}  ${cellText(row["status"])}`,
    );
  const { from, to } = (filter ?? {}) as Json;
  if (from !== undefined || to !== undefined)
    terminal.note(`  created ${from === undefined ? "" : `from ${cellText(from)} `}until ${cellText(to)}`);
  if (typeof seconds === "number" && seconds >= 1) terminal.note(`  takes about ${durationText(seconds)}`);
}

const exclusionTexts: Readonly<Record<string, string>> = {
  in_flight: "a request is in flight",
  payload_gone: "retention removed their payload",
  order: "they wait for an earlier delivery",
  accepted: "they were accepted; --status success includes them",
  already_retried: "the operation retried them before it was interrupted",
  already_ended: "they have already ended",
  not_a_dead_letter: "they are not dead letters",
  webhook_deleted: "their webhook was deleted",
  not_found: "there are no such deliveries",
};

function durationText(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`;
}

/** Maximum number of webhooks that are explained individually. */
const explainedMax = 3;

/** Explains that retries wait for inactive webhooks, and that skipped events are not included. */
async function explainInactive({ client, terminal }: ClientCall, started: Json): Promise<void> {
  const inactive = (started["inactive_webhooks"] ?? []) as readonly Json[];
  for (const { webhook_id: id, status, count } of inactive.slice(0, explainedMax)) {
    terminal.note(inactiveText(id, status));
    terminal.note(`  dead letters waiting for it: ${String(count)}`);
    const path = `/v1/webhooks/${String(id)}`;
    const since = String((await client.get(path))["created_at"]).slice(0, 10);
    const body = { since, statuses: ["skipped"], dry_run: true };
    const { count: skipped } = await client.post(`${path}/recover`, { body });
    if (skipped === 0) continue;
    terminal.note(`  skipped events, which are not dead letters: ${String(skipped)}`);
    terminal.note(
      `  to deliver them after enabling it: posthorn webhooks recover ${String(id)} --since ${since}`,
    );
  }
  if (inactive.length > explainedMax)
    terminal.note(`${inactive.length - explainedMax} or more other webhooks are not active`);
}

/** Says in one line why nothing is sent to a webhook, and names the command that changes this. */
export function inactiveText(id: unknown, status: unknown): string {
  const command = status === "unverified" ? "verify" : "enable";
  return `webhook ${String(id)} is ${String(status)}; nothing is sent until you run: posthorn webhooks ${command} ${String(id)}`;
}

const finished = new Set<unknown>(["completed", "cancelled", "failed"]);
const pollMs = 250;
const outcomeWaitMs = 3_000;

/** Shows progress until the operation has ended. Keeps waiting while the operation is paused. */
export async function followOperation({ client, terminal }: ClientCall, started: Json): Promise<Json> {
  const progress = new Progress(terminal);
  let operation = started;
  while (!finished.has(operation["status"])) {
    progress.show(operation);
    await sleep(pollMs);
    operation = await client.get(`/v1/operations/${String(started["id"])}`);
  }
  // The last queued deliveries need a moment to be sent.
  for (let leftMs = outcomeWaitMs; Number(operation["waiting"]) > 0 && leftMs > 0; leftMs -= pollMs) {
    await sleep(pollMs);
    operation = await client.get(`/v1/operations/${String(started["id"])}`);
  }
  progress.end(operation);
  if (operation["status"] !== "completed") {
    throw new CommandFailure(`the operation ended with status ${String(operation["status"])}`, [
      `See operation ${String(started["id"])}.`,
    ]);
  }
  return operation;
}

const barWidth = 30;
const plainLineMs = 2_000;

/** Shows a live progress bar on terminals, and periodic lines elsewhere. */
class Progress {
  readonly #terminal: Terminal;
  #lastLineAt = 0;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  show(operation: Json): void {
    const text = progressText(operation);
    if (this.#terminal.isLive) {
      this.#terminal.redraw(`${bar(operation)} ${text}`);
    } else if (performance.now() - this.#lastLineAt >= plainLineMs) {
      this.#lastLineAt = performance.now();
      this.#terminal.note(text);
    }
  }

  end(operation: Json): void {
    if (this.#terminal.isLive) this.#terminal.redraw("");
    this.#terminal.note(progressText(operation));
  }
}

const doneWords: Readonly<Record<string, string>> = { cancel: "cancelled", discard: "discarded" };

function progressText(operation: Json): string {
  const { status, kind, queued, failed, total, skipped, rate_per_second: rate, eta_at: eta } = operation;
  const { delivered, waiting } = operation;
  const word = doneWords[String(kind)] ?? "queued";
  const parts = [`${String(status)}: ${String(queued)} of ${String(total)} ${word}`];
  if (typeof delivered === "number") parts.push(`${delivered} delivered`);
  if (Number(failed) > 0 || typeof delivered === "number") parts.push(`${String(failed)} failed`);
  if (typeof waiting === "number") parts.push(`${waiting} waiting`);
  for (const [reason, count] of Object.entries((skipped ?? {}) as Json))
    parts.push(`${String(count)} skipped (${reason})`);
  if (typeof rate === "number") parts.push(`${rate}/s`);
  if (typeof eta === "string") parts.push(`done ${relativeTime(eta, Date.now())}`);
  return parts.join(", ");
}

function bar({ done, total }: Json): string {
  const share = Number(total) === 0 ? 1 : Number(done) / Number(total);
  const full = Math.round(Math.min(1, share) * barWidth);
  return `[${"#".repeat(full)}${".".repeat(barWidth - full)}]`;
}
