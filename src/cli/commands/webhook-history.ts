import type { Command } from "commander";
import type { Json } from "../api-client.ts";
import { addPageOptions, printList } from "../client-command.ts";
import type { Invocation } from "../invocation.ts";
import { cellText, shortTime } from "../table.ts";
import type { Column } from "../table.ts";
import { onWebhook } from "./webhooks.ts";

const when: Column<Json> = { title: "WHEN (UTC)", value: (row) => shortTime(row["at"]) };
const who: Column<Json> = { title: "WHO", value: (row) => actorText(row["by"] as Json | null) };

const timelineColumns: readonly Column<Json>[] = [
  when,
  { title: "CHANGE", value: (row) => row["kind"] },
  who,
  { title: "REVISION", value: (row) => row["revision"] },
  { title: "CHANGED FIELDS", value: (row) => (row["changed"] as readonly string[]).join(",") },
  { title: "REASON", value: (row) => row["reason"] },
];

const revisionColumns: readonly Column<Json>[] = [
  { title: "REVISION", value: (row) => row["revision"] },
  when,
  who,
  { title: "CHANGES", value: (row) => changesText(row["changes"] as Json) },
];

/** Adds the commands for the timeline and revisions of a webhook. */
export function addWebhookHistoryCommands(webhooks: Command, invocation: Invocation): void {
  for (const { name, says, columns } of [
    { name: "timeline", says: "show the history of a webhook", columns: timelineColumns },
    { name: "revisions", says: "show the configuration changes of a webhook", columns: revisionColumns },
  ])
    onWebhook(
      addPageOptions(webhooks.command(name).description(`${says}, newest first`)),
      invocation,
      (call, path) => printList(call, `${path}/${name}`, columns, "no entries"),
    );
}

function actorText(by: Json | null): string {
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
