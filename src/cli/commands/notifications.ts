import type { Command } from "commander";
import { notificationFilters } from "../../resources/notification.ts";
import type { Json } from "../api-client.ts";
import { clientCommand, type OptionValues, parseJson } from "../client-command.ts";
import { type Invocation, readInput } from "../invocation.ts";
import { PlainCommands } from "../plain-commands.ts";
import { columns, printTable, timeIn } from "../table.ts";
import type { Terminal } from "../terminal.ts";

const channelColumns = columns<Json>({
  ID: "id",
  KIND: "kind",
  ADDRESS: "address",
  TOPICS: (row) => (row["topics"] as readonly string[]).join(","),
  WHEN: "frequency",
  "LAST SENT (UTC)": timeIn("last_sent_at"),
  STATE: "state",
});

const sentColumns = {
  "WHEN (UTC)": timeIn("created_at"),
  STATE: "state",
  SUBJECT: "subject",
  CHANNEL: "channel_id",
  ERROR: "error",
};

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

  const resource = { path: "/v1/notifications", filters: notificationFilters };
  new PlainCommands(notifications, invocation, resource).list(
    "list sent and waiting notifications, newest first",
    sentColumns,
    "no notifications",
    { channelId: "--channel <id>", state: "--state <state>" },
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
