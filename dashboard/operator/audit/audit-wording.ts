import type { AuditEntry } from "../../shared/resources.ts";

/** Name of the key, and whether it was used through the dashboard. */
export function actorText({ actor }: Pick<AuditEntry, "actor">): string {
  const name = actor.key_name ?? actor.key_id ?? actor.kind.replaceAll("_", " ");
  const onBehalf = actor.reference === null ? "" : `, for ${actor.reference}`;
  return actor.kind === "dashboard_session" ? `${name} (dashboard${onBehalf})` : `${name}${onBehalf}`;
}

/** Old and new value of each changed field. */
export function changesText({ changes }: Pick<AuditEntry, "changes">): string {
  return Object.entries(changes)
    .map(([name, change]) => {
      const { from, to } = change as { readonly from?: unknown; readonly to: unknown };
      return from === undefined
        ? `${name}: ${valueText(to)}`
        : `${name}: ${valueText(from)} → ${valueText(to)}`;
    })
    .join("; ");
}

function valueText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

const titles = [
  "time",
  "who",
  "role",
  "address",
  "action",
  "target type",
  "target",
  "tenant",
  "changes",
  "request",
];

/** CSV rows, with a header row. */
export function csvRowsOf(entries: readonly AuditEntry[]): readonly (readonly string[])[] {
  return [
    titles,
    ...entries.map((entry) => [
      entry.at,
      actorText(entry),
      entry.actor.role ?? "",
      entry.address ?? "",
      entry.action,
      entry.target.type,
      entry.target.id ?? "",
      entry.tenant_id ?? "",
      changesText(entry),
      entry.request_id ?? "",
    ]),
  ];
}
