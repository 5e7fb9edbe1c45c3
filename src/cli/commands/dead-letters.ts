import type { Command } from "commander";
import { retryBatchFields } from "../../resources/actions.ts";
import { discardFields } from "../../resources/operation.ts";
import {
  addPageOptions,
  clientCommand,
  collect,
  type OptionValues,
  printList,
  printOne,
} from "../client-command.ts";
import { FieldOption } from "../field-option.ts";
import type { Invocation } from "../invocation.ts";
import { addBulkOptions, addCircuitOption, runBulk } from "./bulk.ts";
import { deliveryColumns, selectionBody } from "./deliveries.ts";

export function addDeadLetterCommands(program: Command, invocation: Invocation): void {
  const dlq = program.command("dlq").description("dead letters: deliveries whose attempts all failed");

  const list = addFilters(
    addPageOptions(dlq.command("list").description("list dead letters, newest first")),
  ).option("--tenant <id>", "only this tenant (administrators)");
  clientCommand(list, invocation, (call) =>
    printList(
      call,
      "/v1/dlq",
      [{ title: "WEBHOOK", value: (row) => row["webhook_id"] }, ...deliveryColumns],
      "no dead letters",
      {
        webhook_id: call.options.list("webhook"),
        event_type: call.options.list("type"),
        failure_category: call.options.list("category"),
        from: call.options.time("from"),
        to: call.options.time("to"),
        tenant_id: call.options.text("tenant"),
      },
    ),
  );

  const retry = addCircuitOption(
    addBulkOptions(
      addFilters(dlq.command("retry").description("retry dead letters. Without a filter, all of them")),
    ),
  )
    .addOption(new FieldOption("--priority <priority>", retryBatchFields.priority))
    .option("--start-at <time>", "start time: a time, a date, or a duration from now such as 8h");
  clientCommand(retry, invocation, (call) => {
    const filter = filterBody(call.options);
    return runBulk(call, {
      path: "/v1/dlq/retry-batch",
      body: {
        ...(filter !== null && { filter }),
        priority: call.options.text("priority"),
        start_at: call.options.time("startAt", "ahead"),
      },
      what: "dead letters",
    });
  });

  addDiscardCommand(dlq, invocation);

  const operation = dlq.command("operation").description("show a bulk retry").argument("<operation-id>");
  clientCommand(operation, invocation, async ({ client, terminal, args: [id = ""] }) => {
    printOne(terminal, await client.get(`/v1/dlq/batch-operations/${encodeURIComponent(id)}`));
  });

  const cancel = dlq
    .command("cancel")
    .description("stop a bulk retry. Queued deliveries stay queued")
    .argument("<operation-id>");
  clientCommand(cancel, invocation, async ({ client, terminal, args: [id = ""] }) => {
    const path = `/v1/dlq/batch-operations/${encodeURIComponent(id)}`;
    printOne(terminal, await client.call("DELETE", { path }));
  });
}

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
    const filter = {
      webhook_id: options.list("webhook"),
      event_type: options.list("type"),
      failure_category: options.list("category"),
      from: options.time("from"),
      to: options.time("to"),
    };
    const isNone = Object.values(filter).every((value) => value === undefined);
    return runBulk(call, {
      path: "/v1/dlq/discard-batch",
      body: selectionBody(args, isNone ? null : filter, options.flag("all")),
      what: "dead letters",
      done: "discarded",
    });
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

/** Null without filters. */
function filterBody(options: OptionValues): Record<string, unknown> | null {
  const filter = {
    webhook_ids: options.list("webhook"),
    event_types: options.list("type"),
    failure_categories: options.list("category"),
    from: options.time("from"),
    to: options.time("to"),
  };
  return Object.values(filter).some((value) => value !== undefined) ? filter : null;
}
