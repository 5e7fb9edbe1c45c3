import type { Command } from "commander";
import { replayFields } from "../../resources/actions.ts";
import { eventListFields, eventListOptions } from "../../resources/event.ts";
import type { Json } from "../api-client.ts";
import { addPageOptions, clientCommand, printList, printOne } from "../client-command.ts";
import { FieldOption, tenantOption } from "../field-option.ts";
import type { Invocation } from "../invocation.ts";
import { addFieldOptions, addTimeRange, queryOf, timeRangeOf } from "../plain-commands.ts";
import { type Column, shortTime } from "../table.ts";
import { addDeliveryFilters, deliveryColumns, deliveryFilterQuery } from "./deliveries.ts";

const columns: readonly Column<Json>[] = [
  { title: "ID", value: (row) => row["id"] },
  { title: "TYPE", value: (row) => row["event_type"] },
  { title: "TENANT", value: (row) => row["tenant_id"] },
  { title: "ACCEPTED (UTC)", value: (row) => shortTime(row["created_at"]) },
  { title: "DELIVERIES", value: (row) => row["deliveries"] },
];

const matchColumns: readonly Column<Json>[] = [
  { title: "WEBHOOK", value: (row) => row["webhook_id"] },
  { title: "SENT", value: (row) => (row["sent"] === true ? "yes" : "no") },
  { title: "REASON", value: (row) => row["reason"] },
  { title: "DELIVERY", value: (row) => row["delivery_id"] },
  { title: "STATUS", value: (row) => row["delivery_status"] },
  { title: "URL", value: (row) => row["url"] },
];

export function addEventCommands(program: Command, invocation: Invocation): void {
  const events = program.command("events").description("published events");

  addListCommand(events, invocation);

  const get = events.command("get").description("show an event with its data").argument("<event-id>");
  clientCommand(get, invocation, async ({ client, terminal, args: [id = ""] }) => {
    printOne(terminal, await client.get(`/v1/events/${encodeURIComponent(id)}`));
  });

  const deliveries = addPageOptions(
    addDeliveryFilters(events.command("deliveries").description("list the deliveries of an event")),
  ).argument("<event-id>");
  clientCommand(deliveries, invocation, (call) =>
    printList(
      call,
      `/v1/events/${encodeURIComponent(call.args[0] ?? "")}/deliveries`,
      deliveryColumns,
      "no deliveries: no webhook subscribed to this event type when it was published",
      deliveryFilterQuery(call.options),
    ),
  );

  const matches = addPageOptions(
    events
      .command("matches")
      .description("show which webhooks an event was sent to, and why not to the others"),
  ).argument("<event-id>");
  clientCommand(matches, invocation, (call) =>
    printList(
      call,
      `/v1/events/${encodeURIComponent(call.args[0] ?? "")}/matches`,
      matchColumns,
      "the tenant has no webhooks",
    ),
  );

  const replay = events
    .command("replay")
    .description("deliver a stored event again, to all webhooks that currently subscribe or to selected ones")
    .argument("<event-id>")
    .addOption(new FieldOption("--webhook <id>", replayFields.webhookIds, "only this webhook, repeatable"));
  clientCommand(replay, invocation, async ({ client, terminal, args: [id = ""], options }) => {
    const made = await client.post(`/v1/events/${encodeURIComponent(id)}/replay`, {
      body: { webhook_ids: options.list("webhook") },
    });
    const handles = made["deliveries"] as readonly Json[];
    for (const handle of handles) printOne(terminal, handle);
    if (handles.length === 0) terminal.note("no webhook currently subscribes to this event type");
  });
}

function addListCommand(events: Command, invocation: Invocation): void {
  const list = addPageOptions(events.command("list").description("list events, newest first"));
  addFieldOptions(list, eventListFields, eventListOptions);
  addTimeRange(list, "accepted ").addOption(tenantOption());
  clientCommand(list, invocation, (call) =>
    printList(call, "/v1/events", columns, "no events. Publish one with: posthorn publish order.completed", {
      ...queryOf(call.options, eventListFields, eventListOptions),
      ...timeRangeOf(call.options),
      tenant_id: call.options.text("tenant"),
    }),
  );
}
