import type { Command } from "commander";
import { notificationFilters } from "../../resources/notification.ts";
import type { Json } from "../api-client.ts";
import { addPageOptions, clientCommand, type OptionValues, parseJson, printList } from "../client-command.ts";
import { FieldOption } from "../field-option.ts";
import { type Invocation, readInput } from "../invocation.ts";
import { type Column, printTable, shortTime } from "../table.ts";
import type { Terminal } from "../terminal.ts";

const channelColumns: readonly Column<Json>[] = [
  { title: "ID", value: (row) => row["id"] },
  { title: "KIND", value: (row) => row["kind"] },
  { title: "ADDRESS", value: (row) => row["address"] },
  { title: "TOPICS", value: (row) => (row["topics"] as readonly string[]).join(",") },
  { title: "WHEN", value: (row) => row["frequency"] },
  { title: "LAST SENT (UTC)", value: (row) => shortTime(row["last_sent_at"]) },
  { title: "STATE", value: (row) => row["state"] },
];

const sentColumns: readonly Column<Json>[] = [
  { title: "WHEN (UTC)", value: (row) => shortTime(row["created_at"]) },
  { title: "STATE", value: (row) => row["state"] },
  { title: "SUBJECT", value: (row) => row["subject"] },
  { title: "CHANNEL", value: (row) => row["channel_id"] },
  { title: "ERROR", value: (row) => row["error"] },
];

export function addNotificationCommands(program: Command, invocation: Invocation): void {
  const notifications = program
    .command("notifications")
    .description("notification channels and sent notifications");
  const withOwner = (command: Command): Command =>
    command.option("--tenant <id>", "channels of this tenant (default: the operator's)");

  const channels = withOwner(notifications.command("channels").description("list channels"));
  clientCommand(channels, invocation, async ({ client, terminal, options }) =>
    printChannels(terminal, await client.get(pathOf(options))),
  );

  const set = withOwner(
    notifications.command("set").description("replace all channels with a JSON document from standard input"),
  );
  clientCommand(set, invocation, async ({ client, terminal, options }) => {
    const body = parseJson(await readInput(invocation.stdin), "standard input");
    printChannels(terminal, await client.call("PUT", { path: pathOf(options), body }));
  });

  const test = withOwner(
    notifications
      .command("test")
      .description("send a test notification to a channel")
      .argument("<channel-id>"),
  );
  clientCommand(test, invocation, async ({ client, terminal, args: [id = ""], options }) => {
    const answer = await client.post(`${pathOf(options)}/${encodeURIComponent(id)}/test`, { body: {} });
    if (terminal.json) return terminal.object(answer);
    terminal.note("queued. Check the result with: posthorn notifications list");
  });

  const list = addPageOptions(
    notifications.command("list").description("list sent and waiting notifications, newest first"),
  )
    .addOption(new FieldOption("--channel <id>", notificationFilters.channelId))
    .addOption(new FieldOption("--state <state>", notificationFilters.state));
  clientCommand(list, invocation, (call) =>
    printList(call, "/v1/notifications", sentColumns, "no notifications", {
      channel_id: call.options.text("channel"),
      state: call.options.text("state"),
    }),
  );
}

function pathOf(options: OptionValues): string {
  const tenant = options.text("tenant");
  return tenant === undefined
    ? "/v1/notification-channels"
    : `/v1/tenants/${encodeURIComponent(tenant)}/notifications`;
}

function printChannels(terminal: Terminal, answer: Json): void {
  const rows = answer["data"] as readonly Json[];
  if (terminal.json) for (const row of rows) terminal.object(row);
  else if (rows.length === 0) terminal.note("no channels");
  else {
    printTable(terminal, channelColumns, rows);
    for (const { id, secret } of rows)
      if (typeof secret === "string")
        terminal.note(`signing secret of ${String(id)}, shown only once: ${secret}`);
  }
}
