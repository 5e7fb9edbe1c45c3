import type { Command } from "commander";
import {
  circuitActionFields,
  pauseFields,
  recoverFields,
  rotateFields,
  testFields,
} from "../../resources/actions.ts";
import { webhookResource } from "../../resources/webhook.ts";
import type { Json } from "../api-client.ts";
import { addPageOptions, type ClientCall, printList, printOne } from "../client-command.ts";
import { CommandFailure, RefusedError, UsageError } from "../failures.ts";
import type { Invocation } from "../invocation.ts";
import { acts, FieldOption, PlainCommands } from "../plain-commands.ts";
import { cellText, columns, timeIn } from "../table.ts";
import { addBulkOptions, addCircuitOption, runBulk } from "./bulk.ts";

const timelineColumns = columns<Json>({
  "WHEN (UTC)": timeIn("at"),
  CHANGE: "kind",
  WHO: actorText,
  REVISION: "revision",
  "CHANGED FIELDS": (row) => (row["changed"] as readonly string[]).join(","),
  REASON: "reason",
});

const revisionColumns = columns<Json>({
  REVISION: "revision",
  "WHEN (UTC)": timeIn("at"),
  WHO: actorText,
  CHANGES: (row) => changesText(row["changes"] as Json),
});

/** Adds the commands for the timeline and revisions of a webhook. */
export function addWebhookHistoryCommands(webhooks: Command, invocation: Invocation): void {
  const commands = new PlainCommands(webhooks, invocation, webhookResource);
  for (const [name, says, table] of [
    ["timeline", "show the history of a webhook", timelineColumns],
    ["revisions", "show the configuration changes of a webhook", revisionColumns],
  ] as const)
    commands.one(
      name,
      `${says}, newest first`,
      id,
      (call, path) => printList(call, `${path}/${name}`, table, "no entries"),
      addPageOptions,
    );
}

function actorText({ by: actor }: Json): string {
  const by = actor as Json | null;
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
  const commands = new PlainCommands(webhooks, invocation, webhookResource);

  commands.one(
    "test",
    "send a test event to this webhook only",
    id,
    async ({ client, terminal, options }, path) => {
      const result = await client.post(`${path}/test`, { body: { event_type: options.text("type") } });
      printOne(terminal, result);
      terminal.note(`check the result with: posthorn deliveries get ${String(result["delivery_id"])}`);
    },
    (command) =>
      command.addOption(new FieldOption("--type <type>", testFields.eventType, "event type of the test")),
  );

  commands.get("show the health of a webhook", id, "health", "/health");
  const backlog = "show waiting deliveries, counted up to 10,000, and the time to drain";
  commands.get(backlog, id, "backlog", "/backlog");

  commands.one(
    "verify",
    "request verification from the receiver again",
    id,
    async ({ client, terminal }, path) => {
      const webhook = await client.post(`${path}/verify`);
      printOne(terminal, webhook);
      const { state, detail } = webhook["verification"] as Json;
      terminal.note(`verification ${String(state)}: ${String(detail)}`);
    },
  );

  commands.one("enable", "enable a webhook", id, acts("POST", "/enable"));
  const resumed = "end a pause, including one requested with Retry-After";
  commands.one("resume", resumed, id, acts("POST", "/resume"));
  commands.one("disable", "disable a webhook", id, acts("POST", "/disable"));

  commands.one(
    "pause",
    "pause a webhook. New events are stored and sent after the pause",
    id,
    acts("POST", "/pause", ({ options }) => ({
      until: options.time("until", "ahead"),
      reason: options.text("reason"),
    })),
    (command) =>
      command
        .option("--until <time>", "end of the pause: a time, a date, or a duration from now such as 1h")
        .addOption(new FieldOption("--reason <text>", pauseFields.reason)),
  );

  commands.get("show the signing secret in clear text", id, "secret", "/secret");

  commands.one(
    "rotate",
    "rotate the signing key. Both keys are used during the overlap, unless revoked",
    id,
    rotate,
    (command) =>
      command
        .option("--revoke", "drop all old keys immediately")
        .addOption(new FieldOption("--overlap-seconds <seconds>", rotateFields.overlapSeconds))
        .addOption(
          new FieldOption("--secret <secret>", rotateFields.secret, "new secret (default: generated)"),
        )
        .option("--force", "end the overlap of an earlier rotation"),
  );

  commands.one(
    "circuit",
    "reset a circuit, or force it open or closed",
    id,
    acts("PATCH", "/circuit-breaker", ({ args: [, action = ""], options }) => {
      const name = circuitActions[action];
      if (name === undefined) throw new UsageError(`"${action}" is not one of reset, open, close`);
      return {
        action: name,
        ...(action !== "reset" && { duration_seconds: options.number("seconds") }),
      };
    }),
    (command) =>
      command
        .argument("<action>", "reset, open or close")
        .addOption(
          new FieldOption(
            "--seconds <seconds>",
            circuitActionFields.durationSeconds,
            "duration of the forced state",
          ),
        ),
  );

  addRecoverCommand(webhooks, invocation);
}

const id = "<webhook-id>";
const circuitActions: Readonly<Record<string, string>> = {
  reset: "reset",
  open: "force_open",
  close: "force_close",
};

async function rotate({ client, terminal, options }: ClientCall, path: string): Promise<void> {
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
}

function inWordsOfOptions(error: unknown): never {
  if (!(error instanceof RefusedError) || error.code !== "rotation_in_progress") throw error;
  throw new CommandFailure("the overlap of the last rotation has not ended yet, so both secrets are in use", [
    "Use --force to end it and rotate again, or --revoke to drop all old secrets.",
  ]);
}

/** Available as `webhooks recover` and as the top-level `recover`. */
export function addRecoverCommand(parent: Command, invocation: Invocation): void {
  const ago = "this time, date, or duration before now such as 1h";
  new PlainCommands(parent, invocation, webhookResource).one(
    "recover",
    "resend what a webhook missed: dead letters and events skipped while it was inactive",
    id,
    (call, path) =>
      runBulk(call, `${path}/recover`, "deliveries", {
        since: call.options.time("since"),
        until: call.options.time("until"),
        statuses: call.options.list("status"),
      }),
    (command) =>
      addCircuitOption(
        addBulkOptions(
          command
            .requiredOption("--since <time>", `deliveries created at or after ${ago}`)
            .option("--until <time>", `deliveries created before ${ago}`)
            .addOption(
              new FieldOption(
                "--status <status>",
                recoverFields.states,
                "repeatable (default: exhausted and skipped)",
              ),
            ),
        ),
      ),
  );
}
