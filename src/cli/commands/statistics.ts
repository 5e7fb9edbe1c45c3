import type { Command } from "commander";
import {
  deliveryStatisticsFields,
  eventStatisticsFields,
  gaugeStatisticsFields,
} from "../../resources/statistics.ts";
import type { Fields } from "../../resources/field.ts";
import type { CallOptions, Json } from "../api-client.ts";
import { type ClientCall, clientCommand, collect } from "../client-command.ts";
import type { Invocation } from "../invocation.ts";
import { addFieldOptions, FieldOption, queryOf, tenantFilterOption } from "../plain-commands.ts";
import { cellText, type Column, printTable } from "../table.ts";

export function addStatisticsCommands(program: Command, invocation: Invocation): void {
  const stats = program.command("stats").description("statistics of deliveries and events over time");

  const deliveries = withCommon(
    stats.command("deliveries").description("attempts and deliveries over time"),
    deliveryStatisticsFields,
  ).option("--webhook <id>", "only this webhook, repeatable", collect);
  clientCommand(deliveries, invocation, (call) =>
    printStatistics(call, "/v1/stats/deliveries", deliveryColumns, {
      ...queryOf(call.options, deliveryStatisticsFields, commonOptions),
      webhook_id: call.options.list("webhook"),
    }),
  );

  const events = withCommon(
    stats.command("events").description("published events over time"),
    eventStatisticsFields,
  );
  clientCommand(events, invocation, (call) =>
    printStatistics(
      call,
      "/v1/stats/events",
      eventColumns,
      queryOf(call.options, eventStatisticsFields, commonOptions),
    ),
  );

  const gauges = withTime(
    stats
      .command("gauges")
      .description("backlog, requests in flight and process delays over time (administrators)"),
  ).addOption(new FieldOption("--step <length>", gaugeStatisticsFields.step));
  clientCommand(gauges, invocation, printGauges);
}

function withCommon(
  command: Command,
  fields: typeof deliveryStatisticsFields | typeof eventStatisticsFields,
): Command {
  return addFieldOptions<Fields>(withTime(command), fields, commonOptions);
}

const commonOptions = {
  step: "--step <length>",
  groupBy: "--group-by <what>",
  measures: "--measures <names>",
  limit: "--limit <count>",
  timeZone: "--time-zone <name>",
  ...tenantFilterOption,
};

function withTime(command: Command): Command {
  return command
    .option("--since <time>", "start time such as 2026-01-31, or a duration such as 90m, 1h or 7d")
    .option("--until <time>", "end time (default: now)");
}

/** Columns show the mean of amounts, and the maximum of values whose worst case matters. */
const gaugeColumns: readonly Column<Json>[] = [
  { title: "FROM (UTC)", value: beginning },
  ...(
    [
      ["waiting_high", "mean"],
      ["waiting_normal", "mean"],
      ["waiting_low", "mean"],
      ["dead_letters", "max"],
      ["in_flight", "mean"],
      ["request_slots", "max"],
      ["waiting_requests", "mean"],
      ["waiting_request_slots", "max"],
      ["open_circuits", "max"],
      ["loop_lag_ms", "max"],
      ["commit_ms", "max"],
    ] as const
  ).map(([name, which]) => ({
    title: `${name.toUpperCase().replaceAll("_", " ")} (${which})`,
    value: (row: Json) => {
      const value = (row[name] as Json | null)?.[which];
      return typeof value === "number" ? Number(value.toFixed(1)) : value;
    },
  })),
];

async function printGauges({ client, terminal, options }: ClientCall): Promise<void> {
  const answer = await client.get("/v1/stats/gauges", {
    query: { from: options.time("since"), to: options.time("until"), step: options.text("step") },
  });
  if (terminal.json) return terminal.object(answer);
  const rows = answer["points"] as readonly Json[];
  if (rows.length === 0) return terminal.note("no data in this time range");
  printTable(terminal, gaugeColumns, rows);
}

function beginning(row: Json): string {
  return cellText(row["at"]).slice(0, 16).replace("T", " ");
}

const deliveryColumns = ["attempts", "accepted", "transient", "terminal", "exhausted", "failure_rate"];
const timeColumns = ["duration_ms_p50", "duration_ms_p95"];
const eventColumns = ["published", "duplicate", "unmatched", "deliveries"];

/** Prints a table of points, or the response as JSON. */
async function printStatistics(
  { client, terminal, options }: ClientCall,
  path: string,
  columns: readonly string[],
  filters: CallOptions["query"],
): Promise<void> {
  const query = { ...filters, from: options.time("since"), to: options.time("until") };
  const answer = await client.get(path, { query });
  if (terminal.json) return terminal.object(answer);
  const series = answer["series"] as readonly Json[];
  const rows = series.flatMap((each) =>
    (each["points"] as readonly Json[]).map((point): Json => Object.assign({ key: each["key"] }, point)),
  );
  if (rows.length === 0) return terminal.note("no data in this time range");
  const asked = options.list("measures") ?? [...columns, ...timeColumns];
  const known = asked.filter((name) => rows.some((row) => row[name] !== undefined));
  printTable(terminal, columnsOf(known, options.text("groupBy") !== undefined), rows);
  terminal.note(`complete until ${cellText(answer["complete_until"])}`);
}

function columnsOf(measures: readonly string[], isGrouped: boolean): readonly Column<Json>[] {
  return [
    { title: "FROM (UTC)", value: beginning },
    ...(isGrouped ? [{ title: "KEY", value: (row: Json) => row["key"] }] : []),
    ...measures.map((name) => ({
      title: name.toUpperCase().replaceAll("_", " "),
      value: (row: Json) => row[name],
    })),
  ];
}
