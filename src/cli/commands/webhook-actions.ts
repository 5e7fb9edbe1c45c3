import type { Command } from "commander";
import {
  circuitActionFields,
  pauseFields,
  recoverFields,
  rotateFields,
  testFields,
} from "../../resources/actions.ts";
import type { Json } from "../api-client.ts";
import { addPageOptions, clientCommand, printList, printOne } from "../client-command.ts";
import { CommandFailure, RefusedError, UsageError } from "../failures.ts";
import { FieldOption } from "../field-option.ts";
import type { Invocation } from "../invocation.ts";
import { cellText, type Column, shortTime } from "../table.ts";
import { addBulkOptions, addCircuitOption, runBulk } from "./bulk.ts";
import { onWebhook } from "./webhooks.ts";

const when: Column<Json> = { title: "WHEN (UTC)", value: (row) => shortTime(row["at"]) };
const who: Column<Json> = { title: "WHO", value: (row) => actorText(row["by"] as Json | null) };

const timelineColumns: readonly Column<Json>[] = [
  when,
  { title: "CHANGE", value: (row) => row["kind"] },
  who,
  { title: "REVISION", value: (row) => row["revision"] },
  { title: "CHANGED FIELDS", value: (row) => (row["changed"] as readonly string[]).join(",") },
  { title: "REASON", value: (row) => row["reason"] },
];

const revisionColumns: readonly Column<Json>[] = [
  { title: "REVISION", value: (row) => row["revision"] },
  when,
  who,
  { title: "CHANGES", value: (row) => changesText(row["changes"] as Json) },
];

/** Adds the commands for the timeline and revisions of a webhook. */
export function addWebhookHistoryCommands(webhooks: Command, invocation: Invocation): void {
  for (const { name, says, columns } of [
    { name: "timeline", says: "show the history of a webhook", columns: timelineColumns },
    { name: "revisions", says: "show the configuration changes of a webhook", columns: revisionColumns },
  ])
    onWebhook(
      addPageOptions(webhooks.command(name).description(`${says}, newest first`)),
      invocation,
      (call, path) => printList(call, `${path}/${name}`, columns, "no entries"),
    );
}

function actorText(by: Json | null): string {
  if (by === null) return "posthorn";
  return cellText(by["reference"] ?? by["key_name"] ?? by["kind"]);
}

function changesText(changes: Json): string {
  return Object.entries(changes)
    .map(([name, change]) => {
      const { from, to } = change as Json;
      if (to === undefined) return name;
      return from === undefined ? `${name}: ${cellText(to)}` : `${name}: ${cellText(from)} → ${cellText(to)}`;
    })
    .join("; ");
}

/** Adds the actions on webhooks. */
export function addWebhookActions(webhooks: Command, invocation: Invocation): void {
  const test = webhooks
    .command("test")
    .description("send a test event to this webhook only")
    .addOption(new FieldOption("--type <type>", testFields.eventType, "event type of the test"));
  onWebhook(test, invocation, async ({ client, terminal, options }, path) => {
    const result = await client.post(`${path}/test`, { body: { event_type: options.text("type") } });
    printOne(terminal, result);
    terminal.note(`check the result with: posthorn deliveries get ${String(result["delivery_id"])}`);
  });

  onWebhook(
    webhooks.command("health").description("show the health of a webhook"),
    invocation,
    async ({ client, terminal }, path) => {
      printOne(terminal, await client.get(`${path}/health`));
    },
  );

  onWebhook(
    webhooks
      .command("backlog")
      .description("show waiting deliveries, counted up to 10,000, and the time to drain"),
    invocation,
    async ({ client, terminal }, path) => {
      printOne(terminal, await client.get(`${path}/backlog`));
    },
  );

  onWebhook(
    webhooks.command("verify").description("request verification from the receiver again"),
    invocation,
    async ({ client, terminal }, path) => {
      const webhook = await client.post(`${path}/verify`);
      printOne(terminal, webhook);
      const { state, detail } = webhook["verification"] as Json;
      terminal.note(`verification ${String(state)}: ${String(detail)}`);
    },
  );

  for (const [action, description] of [
    ["enable", "enable a webhook"],
    ["resume", "end a pause, including one requested with Retry-After"],
    ["disable", "disable a webhook"],
  ] as const) {
    onWebhook(
      webhooks.command(action).description(description),
      invocation,
      async ({ client, terminal }, path) => {
        printOne(terminal, await client.post(`${path}/${action}`));
      },
    );
  }

  addPauseCommand(webhooks, invocation);

  onWebhook(
    webhooks.command("secret").description("show the signing secret in clear text"),
    invocation,
    async ({ client, terminal }, path) => {
      printOne(terminal, await client.get(`${path}/secret`));
    },
  );

  addRotateCommand(webhooks, invocation);
  addCircuitCommand(webhooks, invocation);
  addRecoverCommand(webhooks, invocation);
}

function addPauseCommand(webhooks: Command, invocation: Invocation): void {
  const pause = webhooks
    .command("pause")
    .description("pause a webhook. New events are stored and sent after the pause")
    .option("--until <time>", "end of the pause: a time, a date, or a duration from now such as 1h")
    .addOption(new FieldOption("--reason <text>", pauseFields.reason));
  onWebhook(pause, invocation, async ({ client, terminal, options }, path) => {
    const body = { until: options.time("until", "ahead"), reason: options.text("reason") };
    printOne(terminal, await client.post(`${path}/pause`, { body }));
  });
}

function addRotateCommand(webhooks: Command, invocation: Invocation): void {
  const rotate = webhooks
    .command("rotate")
    .description("rotate the signing key. Both keys are used during the overlap, unless revoked")
    .option("--revoke", "drop all old keys immediately")
    .addOption(new FieldOption("--overlap-seconds <seconds>", rotateFields.overlapSeconds))
    .addOption(new FieldOption("--secret <secret>", rotateFields.secret, "new secret (default: generated)"))
    .option("--force", "end the overlap of an earlier rotation");
  onWebhook(rotate, invocation, async ({ client, terminal, options }, path) => {
    const body = {
      mode: options.flag("revoke") ? "revoke" : "graceful",
      overlap_seconds: options.number("overlapSeconds"),
      secret: options.text("secret"),
      force: options.flag("force"),
    };
    const rotated = await client.post(`${path}/secret/rotate`, { body }).catch(inWordsOfOptions);
    printOne(terminal, rotated);
    if (rotated["secret"] !== null) return;
    const { public_key: publicKey } = await client.get(`${path}/public-key`);
    terminal.note(`the webhook now signs with a new key pair. Public key: ${String(publicKey)}`);
  });
}

function inWordsOfOptions(error: unknown): never {
  if (!(error instanceof RefusedError) || error.code !== "rotation_in_progress") throw error;
  throw new CommandFailure("the overlap of the last rotation has not ended yet, so both secrets are in use", [
    "Use --force to end it and rotate again, or --revoke to drop all old secrets.",
  ]);
}

function addCircuitCommand(webhooks: Command, invocation: Invocation): void {
  const circuit = webhooks
    .command("circuit")
    .description("reset a circuit, or force it open or closed")
    .argument("<webhook-id>")
    .argument("<action>", "reset, open or close")
    .addOption(
      new FieldOption(
        "--seconds <seconds>",
        circuitActionFields.durationSeconds,
        "duration of the forced state",
      ),
    );
  clientCommand(circuit, invocation, async ({ client, terminal, args: [id = "", action = ""], options }) => {
    const actions: Readonly<Record<string, string>> = {
      reset: "reset",
      open: "force_open",
      close: "force_close",
    };
    if (actions[action] === undefined) throw new UsageError(`"${action}" is not one of reset, open, close`);
    const body = {
      action: actions[action],
      ...(action !== "reset" && { duration_seconds: options.number("seconds") }),
    };
    printOne(
      terminal,
      await client.call("PATCH", { path: `/v1/webhooks/${encodeURIComponent(id)}/circuit-breaker`, body }),
    );
  });
}

/** Available as `webhooks recover` and as the top-level `recover`. */
export function addRecoverCommand(parent: Command, invocation: Invocation): void {
  const options = addBulkOptions(
    parent
      .command("recover")
      .description("resend what a webhook missed: dead letters and events skipped while it was inactive")
      .requiredOption(
        "--since <time>",
        "deliveries created at or after this time, date, or duration before now such as 1h",
      )
      .option(
        "--until <time>",
        "deliveries created before this time, date, or duration before now such as 1h",
      )
      .addOption(
        new FieldOption(
          "--status <status>",
          recoverFields.states,
          "repeatable (default: exhausted and skipped)",
        ),
      ),
  );
  onWebhook(addCircuitOption(options), invocation, (call, path) =>
    runBulk(call, {
      path: `${path}/recover`,
      body: {
        since: call.options.time("since"),
        until: call.options.time("until"),
        statuses: call.options.list("status"),
      },
      what: "deliveries",
    }),
  );
}
