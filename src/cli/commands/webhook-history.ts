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
  { title: "WHAT", value: (row) => row["kind"] },
  who,
  { title: "REVISION", value: (row) => row["revision"] },
  { title: "CHANGED", value: (row) => (row["changed"] as readonly string[]).join(",") },
  { title: "REASON", value: (row) => row["reason"] },
];

const revisionColumns: readonly Column<Json>[] = [
  { title: "REVISION", value: (row) => row["revision"] },
  when,
  who,
  { title: "CHANGES", value: (row) => changesText(row["changes"] as Json) },
];

/** What happened to a webhook, and what it was configured to be. */
export function addWebhookHistoryCommands(webhooks: Command, invocation: Invocation): void {
  for (const { name, says, columns } of [
    { name: "timeline", says: "what happened to a webhook: who, when and why", columns: timelineColumns },
    { name: "revisions", says: "how a webhook was configured, and what changed", columns: revisionColumns },
  ])
    onWebhook(
      addPageOptions(webhooks.command(name).description(`${says}, newest first`)),
      invocation,
      (call, path) => printList(call, { path: `${path}/${name}`, columns, none: "nothing is known" }),
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
