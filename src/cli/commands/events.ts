import type { Command } from "commander";
import { replayFields } from "../../resources/actions.ts";
import { eventListFields, eventListOptions } from "../../resources/event.ts";
import type { Json } from "../api-client.ts";
import { addPageOptions, clientCommand, printList, printOne } from "../client-command.ts";
import type { Invocation } from "../invocation.ts";
import { addTimeRange, FieldOption, PlainCommands, tenantOption, timeRangeOf } from "../plain-commands.ts";
import { columns, timeIn } from "../table.ts";
import { addDeliveryFilters, deliveryColumns, deliveryFilterQuery } from "./deliveries.ts";

const eventColumns = {
  ID: "id",
  TYPE: "event_type",
  TENANT: "tenant_id",
  "ACCEPTED (UTC)": timeIn("created_at"),
  DELIVERIES: "deliveries",
};

const matchColumns = columns<Json>({
  WEBHOOK: "webhook_id",
  SENT: (row) => (row["sent"] === true ? "yes" : "no"),
  REASON: "reason",
  DELIVERY: "delivery_id",
  STATUS: "delivery_status",
  URL: "url",
});

export function addEventCommands(program: Command, invocation: Invocation): void {
  const events = program.command("events").description("published events");
  const commands = new PlainCommands(events, invocation, { path: "/v1/events", filters: eventListFields });
  const id = "<event-id>";

  commands.list(
    "list events, newest first",
    eventColumns,
    "no events. Publish one with: posthorn publish order.completed",
    eventListOptions,
    {
      add: (command) => addTimeRange(command, "accepted ").addOption(tenantOption()),
      given: (options) => ({ ...timeRangeOf(options), tenant_id: options.text("tenant") }),
    },
  );

  commands.get("show an event with its data", id);

  const deliveries = addPageOptions(
    addDeliveryFilters(events.command("deliveries").description("list the deliveries of an event")),
  ).argument(id);
  clientCommand(deliveries, invocation, (call) =>
    printList(
      call,
      `/v1/events/${encodeURIComponent(call.args[0] ?? "")}/deliveries`,
      deliveryColumns,
      "no deliveries: no webhook subscribed to this event type when it was published",
      deliveryFilterQuery(call.options),
    ),
  );

  commands.one(
    "matches",
    "show which webhooks an event was sent to, and why it was not sent to the others",
    id,
    (call, path) => printList(call, `${path}/matches`, matchColumns, "the tenant has no webhooks"),
    addPageOptions,
  );

  commands.one(
    "replay",
    "deliver a stored event again, to all webhooks that currently subscribe or to selected ones",
    id,
    async ({ client, terminal, options }, path) => {
      const body = { webhook_ids: options.list("webhook") };
      const { deliveries: created } = await client.post(`${path}/replay`, { body });
      const handles = created as readonly Json[];
      for (const handle of handles) printOne(terminal, handle);
      if (handles.length === 0) terminal.note("no webhook currently subscribes to this event type");
    },
    (command) =>
      command.addOption(
        new FieldOption("--webhook <id>", replayFields.webhookIds, "only this webhook, repeatable"),
      ),
  );
}
