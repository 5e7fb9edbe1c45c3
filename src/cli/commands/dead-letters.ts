import type { Command } from "commander";
import { retryBatchFields } from "../../resources/actions.ts";
import { discardFields } from "../../resources/operation.ts";
import type { Json } from "../api-client.ts";
import { addPageOptions, clientCommand, collect, type OptionValues, printList } from "../client-command.ts";
import type { Invocation } from "../invocation.ts";
import { acts, FieldOption, PlainCommands } from "../plain-commands.ts";
import { columns } from "../table.ts";
import { addBulkOptions, addCircuitOption, runBulk } from "./bulk.ts";
import { deliveryColumns, selectionBody } from "./deliveries.ts";

export function addDeadLetterCommands(program: Command, invocation: Invocation): void {
  const dlq = program.command("dlq").description("dead letters: deliveries whose attempts all failed");

  const list = addFilters(
    addPageOptions(dlq.command("list").description("list dead letters, newest first")),
  ).option("--tenant <id>", "only this tenant (administrators)");
  clientCommand(list, invocation, (call) =>
    printList(call, "/v1/dlq", [...columns<Json>({ WEBHOOK: "webhook_id" }), ...deliveryColumns], none, {
      ...filterOf(call.options),
      tenant_id: call.options.text("tenant"),
    }),
  );

  const retry = addCircuitOption(
    addBulkOptions(
      addFilters(dlq.command("retry").description("retry dead letters. Without a filter, all of them")),
    ),
  )
    .addOption(new FieldOption("--priority <priority>", retryBatchFields.priority))
    .option("--start-at <time>", "start time: a time, a date, or a duration from now such as 8h");
  clientCommand(retry, invocation, (call) => {
    const { webhook_id, event_type, failure_category, ...range } = filterOf(call.options);
    const filter = {
      webhook_ids: webhook_id,
      event_types: event_type,
      failure_categories: failure_category,
      ...range,
    };
    return runBulk(call, "/v1/dlq/retry-batch", "dead letters", {
      ...(!isEmpty(filter) && { filter }),
      priority: call.options.text("priority"),
      start_at: call.options.time("startAt", "ahead"),
    });
  });

  addDiscardCommand(dlq, invocation);

  const batches = new PlainCommands(dlq, invocation, { path: "/v1/dlq/batch-operations" });
  batches.get("show a bulk retry", "<operation-id>", "operation");
  const cancelled = "stop a bulk retry. Queued deliveries stay queued";
  batches.one("cancel", cancelled, "<operation-id>", acts("DELETE"));
}

const none = "no dead letters";

function addDiscardCommand(dlq: Command, invocation: Invocation): void {
  const discard = addBulkOptions(
    addFilters(
      dlq
        .command("discard")
        .description("discard dead letters by ids or filters. They stay in the history")
        .argument("[delivery-ids...]"),
    ).option("--all", "select everything if no filter is given"),
    discardFields.requestsPerSecond,
  );
  clientCommand(discard, invocation, (call) => {
    const { args, options } = call;
    const filter = filterOf(options);
    const body = selectionBody(args, isEmpty(filter) ? null : filter, options.flag("all"));
    return runBulk(call, "/v1/dlq/discard-batch", "dead letters", body, "discarded");
  });
}

function addFilters(command: Command): Command {
  return command
    .option("--webhook <id>", "only this webhook, repeatable", collect)
    .option("--type <type>", "only this event type, repeatable", collect)
    .option("--category <category>", "only this failure category, such as timeout, repeatable", collect)
    .option("--from <time>", "created at or after this time, date, or duration before now such as 1h")
    .option("--to <time>", "created before this time, date, or duration before now such as 1h");
}

function filterOf(options: OptionValues) {
  return {
    webhook_id: options.list("webhook"),
    event_type: options.list("type"),
    failure_category: options.list("category"),
    from: options.time("from"),
    to: options.time("to"),
  };
}

function isEmpty(filter: object): boolean {
  return Object.values(filter).every((value) => value === undefined);
}
