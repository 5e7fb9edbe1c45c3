import type { SourceConnection } from "../../shared/resources.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import type { Column } from "../../shared/ui/data-table.tsx";
import { column, only } from "../lists/columns.tsx";
import { WebhookLink } from "../webhook/webhook-link.tsx";
import { SourceLink } from "./parts.tsx";

/** API call that lists the connections of one source, which has at most 50 of them. */
export function connectionsOf(sourceId: string) {
  return { path: "v1/connections", query: { source_id: sourceId, limit: 50 } };
}

export const connectionColumns: readonly Column<SourceConnection>[] = [
  column.link("Connection", "connections", ({ id, name }) => name || `${id.slice(0, 13)}…`),
  {
    title: "From",
    cell: (row) => <SourceLink id={row.source_id} />,
    value: (row) => only("source_id", row.source_id),
  },
  {
    title: "To",
    cell: (row) => <WebhookLink id={row.webhook_id} url={null} />,
    value: (row) => only("webhook_id", row.webhook_id),
  },
  column.text("State", (row) => <ConnectionBadge connection={row} />),
  column.text("Filter", (row) => filterText(row.filter), "medium"),
  column.time("Changed", (row) => row.updated_at, "wide"),
];

/** Columns of the connections of one source. */
export const columnsOfSource: readonly Column<SourceConnection>[] = connectionColumns
  .filter(({ title }) => title !== "From")
  .map(({ value: _value, ...rest }) => rest);

export function ConnectionBadge(props: {
  readonly connection: Pick<SourceConnection, "paused" | "held_count" | "releasing_since">;
}) {
  const { paused, releasing_since: releasingSince } = props.connection;
  if (paused) return <Badge tone="held" text={`paused${heldText(props.connection)}`} />;
  if (releasingSince !== null) return <Badge tone="held" text={`resuming${heldText(props.connection)}`} />;
  return <Badge tone="good" text="active" />;
}

function heldText({ held_count: count }: Pick<SourceConnection, "held_count">): string {
  if (count === 0) return "";
  return `, ${heldCountText(count)} held`;
}

/** Text for the number of held messages, which the API counts up to 10,000. */
export function heldCountText(count: number): string {
  return count >= 10_000 ? "10,000 or more" : count.toLocaleString("en");
}

function filterText(filter: object | null) {
  return filter === null ? <span class="soft">all messages</span> : <code>{JSON.stringify(filter)}</code>;
}
