import type { Command } from "commander";
import { replayFields } from "../../core/fields/actions.ts";
import type { Json } from "../api-client.ts";
import { addPageOptions, clientCommand, printList, printOne } from "../client-command.ts";
import { FieldOption } from "../field-option.ts";
import type { Invocation } from "../invocation.ts";
import { shortTime } from "../table.ts";
import type { Column } from "../table.ts";
import { deliveryColumns } from "./deliveries.ts";

const columns: readonly Column<Json>[] = [
  { title: "ID", value: (row) => row["id"] },
  { title: "TYPE", value: (row) => row["event_type"] },
  { title: "TENANT", value: (row) => row["tenant_id"] },
  { title: "ACCEPTED (UTC)", value: (row) => shortTime(row["created_at"]) },
  { title: "DELIVERIES", value: (row) => row["deliveries"] },
];

export function addEventCommands(program: Command, invocation: Invocation): void {
  const events = program.command("events").description("what was published");

  const list = addPageOptions(events.command("list").description("list events, newest first"))
    .option("--type <type>", "only this event type")
    .option("--from <time>", "accepted at or after this time, date, or span before now such as 1h")
    .option("--to <time>", "accepted before this time, date, or span before now such as 1h")
    .option("--tenant <id>", "only this tenant, for administrators");
  clientCommand(list, invocation, (call) =>
    printList(call, {
      path: "/v1/events",
      query: {
        event_type: call.options.text("type"),
        from: call.options.time("from"),
        to: call.options.time("to"),
        tenant_id: call.options.text("tenant"),
      },
      columns,
      none: "no events; publish one with: posthorn publish order.completed",
    }),
  );

  const get = events.command("get").description("show an event with its data").argument("<event-id>");
  clientCommand(get, invocation, async ({ client, terminal, args: [id = ""] }) => {
    printOne(terminal, await client.get(`/v1/events/${encodeURIComponent(id)}`));
  });

  const deliveries = addPageOptions(
    events.command("deliveries").description("list the deliveries of an event"),
  ).argument("<event-id>");
  clientCommand(deliveries, invocation, (call) =>
    printList(call, {
      path: `/v1/events/${encodeURIComponent(call.args[0] ?? "")}/deliveries`,
      columns: deliveryColumns,
      none: "no deliveries: no webhook asked for this event type when it was published",
    }),
  );

  const replay = events
    .command("replay")
    .description("deliver a stored event again, to all webhooks that now ask for its type or to some")
    .argument("<event-id>")
    .addOption(
      new FieldOption("--webhook <id>", replayFields.webhookIds, {
        says: "only this webhook; may be repeated",
      }),
    );
  clientCommand(replay, invocation, async ({ client, terminal, args: [id = ""], options }) => {
    const made = await client.post(`/v1/events/${encodeURIComponent(id)}/replay`, {
      body: { webhook_ids: options.list("webhook") },
    });
    const handles = made["deliveries"] as readonly Json[];
    for (const handle of handles) printOne(terminal, handle);
    if (handles.length === 0) terminal.note("no webhook asks for this event type now");
  });
}
