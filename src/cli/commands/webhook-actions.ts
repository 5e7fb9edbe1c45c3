import type { Command } from "commander";
import {
  circuitActionFields,
  pauseFields,
  recoverFields,
  rotateFields,
  testFields,
} from "../../core/fields/actions.ts";
import type { Json } from "../api-client.ts";
import { clientCommand, printOne } from "../client-command.ts";
import { CommandFailure, RefusedError, UsageError } from "../failures.ts";
import { FieldOption } from "../field-option.ts";
import type { Invocation } from "../invocation.ts";
import { addBulkOptions, addCircuitOption, runBulk } from "./bulk.ts";
import { onWebhook } from "./webhooks.ts";

/** What one can do with a webhook beside reading and writing it. */
export function addWebhookActions(webhooks: Command, invocation: Invocation): void {
  const test = webhooks
    .command("test")
    .description("send a test event the whole path, to this webhook alone")
    .addOption(new FieldOption("--type <type>", testFields.eventType, { says: "event type of the test" }));
  onWebhook(test, invocation, async ({ client, terminal, options }, path) => {
    const result = await client.post(`${path}/test`, { body: { event_type: options.text("type") } });
    printOne(terminal, result);
    terminal.note(`see what became of it: posthorn deliveries get ${String(result["delivery_id"])}`);
  });

  onWebhook(
    webhooks.command("health").description("how the endpoint is doing"),
    invocation,
    async ({ client, terminal }, path) => {
      printOne(terminal, await client.get(`${path}/health`));
    },
  );

  onWebhook(
    webhooks.command("backlog").description("what waits, counted to 10,000, and how long it may take"),
    invocation,
    async ({ client, terminal }, path) => {
      printOne(terminal, await client.get(`${path}/backlog`));
    },
  );

  onWebhook(
    webhooks.command("verify").description("ask the receiver again whether it wants the events"),
    invocation,
    async ({ client, terminal }, path) => {
      const webhook = await client.post(`${path}/verify`);
      printOne(terminal, webhook);
      const { state, detail } = webhook["verification"] as Json;
      terminal.note(`verification ${String(state)}: ${String(detail)}`);
    },
  );

  for (const [action, description] of [
    ["enable", "send to a webhook again"],
    ["resume", "end a pause, also one that its receiver asked for (Retry-After)"],
    ["disable", "stop sending to a webhook"],
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
    webhooks.command("secret").description("show the signing secret in clear"),
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
    .description("hold a webhook back; what is published meanwhile is kept and goes out after it")
    .option("--until <time>", "when the pause ends by itself: a time, a date, or a span from now such as 1h")
    .addOption(new FieldOption("--reason <text>", pauseFields.reason));
  onWebhook(pause, invocation, async ({ client, terminal, options }, path) => {
    const body = { until: options.time("until", "ahead"), reason: options.text("reason") };
    printOne(terminal, await client.post(`${path}/pause`, { body }));
  });
}

function addRotateCommand(webhooks: Command, invocation: Invocation): void {
  const rotate = webhooks
    .command("rotate")
    .description("replace the signing key; old and new are used for a while, unless revoked")
    .option("--revoke", "drop the old one at once, and one that still overlaps")
    .addOption(new FieldOption("--overlap-seconds <seconds>", rotateFields.overlapSeconds))
    .addOption(
      new FieldOption("--secret <secret>", rotateFields.secret, {
        says: "the new secret; generated when left out",
      }),
    )
    .option("--force", "also while the overlap of an earlier rotation runs, which ends then");
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
    terminal.note(`it signs with a key pair of its own now; its public key is ${String(publicKey)}`);
  });
}

function inWordsOfOptions(error: unknown): never {
  if (!(error instanceof RefusedError) || error.code !== "rotation_in_progress") throw error;
  throw new CommandFailure(
    "the overlap of the last rotation is still running: both secrets are used until it ends",
    ["To end it now and begin another one: --force. To drop every old secret at once: --revoke."],
  );
}

function addCircuitCommand(webhooks: Command, invocation: Invocation): void {
  const circuit = webhooks
    .command("circuit")
    .description("reset a circuit, or force it open or closed")
    .argument("<webhook-id>")
    .argument("<action>", "reset, open or close")
    .addOption(
      new FieldOption("--seconds <seconds>", circuitActionFields.durationSeconds, {
        says: "how long it is forced",
      }),
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

/** Below `webhooks`, and for those in a hurry at the top. */
export function addRecoverCommand(parent: Command, invocation: Invocation): void {
  const options = addBulkOptions(
    parent
      .command("recover")
      .description(
        "deliver again what a webhook missed: dead letters and events skipped while it was not active",
      )
      .requiredOption(
        "--since <time>",
        "deliveries made at or after this time, date, or span before now such as 1h",
      )
      .option("--until <time>", "deliveries made before this time, date, or span before now such as 1h")
      .addOption(
        new FieldOption("--status <status>", recoverFields.states, {
          says: "exhausted and skipped when left out; may be repeated",
        }),
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
