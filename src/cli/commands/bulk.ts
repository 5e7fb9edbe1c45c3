import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import { retryBatchFields } from "../../core/fields/actions.ts";
import type { Json } from "../api-client.ts";
import { printOne } from "../client-command.ts";
import type { ClientCall } from "../client-command.ts";
import { CommandFailure, UsageError } from "../failures.ts";
import { FieldOption } from "../field-option.ts";
import type { Terminal } from "../terminal.ts";

/** What every action on many deliveries offers. */
export function addBulkOptions(command: Command): Command {
  return command
    .addOption(new FieldOption("--rate <per-second>", retryBatchFields.requestsPerSecond))
    .option("--dry-run", "only count")
    .option("--yes", "really do it")
    .option("--wait", "show progress until it is done");
}

/** Counts first, acts only with --yes, and follows the operation with --wait. */
export async function runBulk(
  call: ClientCall,
  action: { readonly path: string; readonly body: Json; readonly what: string },
): Promise<void> {
  const { client, terminal, options } = call;
  const rate = options.number("rate");
  const body = { ...action.body, ...(rate !== undefined && { rate_limit: { requests_per_second: rate } }) };
  const isDryRun = options.flag("dryRun");
  if (isDryRun || !options.flag("yes")) {
    const counted = await client.post(action.path, { body: { ...body, dry_run: true } });
    const { count } = counted;
    if (isDryRun) {
      if (terminal.json) terminal.object({ count });
      else terminal.data(`${String(count)} ${action.what} would be delivered again`);
      await explainInactive(call, counted);
      return;
    }
    throw new UsageError(`${String(count)} ${action.what} would be delivered again; nothing was done`, [
      "Repeat the command with --yes to do it, or with --dry-run to only count.",
    ]);
  }
  const started = await client.post(action.path, { body });
  const operation = started["operation"] as Json | null;
  if (operation === null || !options.flag("wait")) {
    printOne(terminal, operation ?? { count: started["count"] });
  } else {
    printOne(terminal, await follow(call, operation));
  }
  await explainInactive(call, started);
}

/** So many webhooks are explained one by one. */
const explainedMax = 3;

/** What is retried at a webhook that is not active only waits, and what was skipped there is not even retried. */
async function explainInactive({ client, terminal }: ClientCall, started: Json): Promise<void> {
  const inactive = (started["inactive_webhooks"] ?? []) as readonly Json[];
  for (const { webhook_id: id, status, count } of inactive.slice(0, explainedMax)) {
    terminal.note(inactiveText({ id, status }));
    terminal.note(`  dead letters of it that wait for that: ${String(count)}`);
    const path = `/v1/webhooks/${String(id)}`;
    const since = String((await client.get(path))["created_at"]).slice(0, 10);
    const body = { since, statuses: ["skipped"], dry_run: true };
    const { count: skipped } = await client.post(`${path}/recover`, { body });
    if (skipped === 0) continue;
    terminal.note(`  events that it missed meanwhile, which are no dead letters: ${String(skipped)}`);
    terminal.note(
      `  to deliver them, once it is enabled: posthorn webhooks recover ${String(id)} --since ${since}`,
    );
  }
  if (inactive.length > explainedMax)
    terminal.note(`${inactive.length - explainedMax} or more other webhooks are not active either`);
}

/** One line: what stands in the way, and the command that removes it. */
export function inactiveText({ id, status }: { readonly id: unknown; readonly status: unknown }): string {
  const command = status === "unverified" ? "verify" : "enable";
  return `webhook ${String(id)} is ${String(status)}; nothing is sent until: posthorn webhooks ${command} ${String(id)}`;
}

const finished = new Set<unknown>(["completed", "cancelled", "failed"]);
const pollMs = 250;

async function follow({ client, terminal }: ClientCall, started: Json): Promise<Json> {
  const progress = new Progress(terminal);
  let operation = started;
  while (!finished.has(operation["status"])) {
    progress.show(operation);
    await sleep(pollMs);
    operation = await client.get(`/v1/dlq/batch-operations/${String(started["id"])}`);
  }
  progress.end(operation);
  if (operation["status"] !== "completed") {
    throw new CommandFailure(`the operation ended as ${String(operation["status"])}`, [
      `See operation ${String(started["id"])}.`,
    ]);
  }
  return operation;
}

const barWidth = 30;
const plainLineMs = 2_000;

/** A bar that redraws itself on a terminal, and a line now and then elsewhere. */
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

function progressText({ status, queued, failed, total }: Json): string {
  const failures = Number(failed) > 0 ? `, ${String(failed)} could not be` : "";
  return `${String(status)}: ${String(queued)} of ${String(total)} queued${failures}`;
}

function bar({ queued, failed, total }: Json): string {
  const share = Number(total) === 0 ? 1 : (Number(queued) + Number(failed)) / Number(total);
  const full = Math.round(Math.min(1, share) * barWidth);
  return `[${"#".repeat(full)}${".".repeat(barWidth - full)}]`;
}
