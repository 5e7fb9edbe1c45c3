import { duration } from "../../shared/format.ts";
import type { GatewayRequest } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { type Column, DataTable } from "../../shared/ui/data-table.tsx";
import { When } from "../../shared/ui/when.tsx";
import { RequestBadge, SourceLink } from "./parts.tsx";
import { outcomeOf } from "./wording.ts";

/** Event type if known. Rejected requests have none. */
export function nameOfRequest({ original_type, event_type, method }: GatewayRequest): string {
  return original_type ?? event_type ?? `${method} request`;
}

/** Count of similar requests that have no row. */
export function moreLikeThis({ more_count: count }: Pick<GatewayRequest, "more_count">): string {
  return `+ ${count.toLocaleString()} more like this`;
}

export const requestColumns: readonly Column<GatewayRequest>[] = [
  {
    title: "Received",
    cell: (row) => (
      <>
        <a href={pagePath(`requests/${row.id}`)} class="row-link">
          {nameOfRequest(row)}
        </a>
        {row.more_count > 0 && <span class="soft"> {moreLikeThis(row)}</span>}
      </>
    ),
  },
  {
    title: "Outcome",
    cell: (row) => <RequestBadge outcome={row.outcome} />,
    value: ({ outcome }) => ({
      text: outcomeOf(outcome).text,
      only: { name: "outcome", values: [outcome] },
    }),
  },
  {
    title: "Cause",
    cell: ({ rejection_cause: cause }) => cause?.replaceAll("_", " ") ?? <span class="soft">–</span>,
    value: ({ rejection_cause: cause }) =>
      cause === null ? null : { text: cause, only: { name: "rejection_cause", values: [cause] } },
    needs: "medium",
  },
  {
    title: "Response",
    cell: (row) => row.status,
    value: ({ status }) => ({ text: String(status), only: { name: "status", values: [String(status)] } }),
    isFigure: true,
    needs: "medium",
  },
  {
    title: "Source",
    cell: (row) => <SourceLink id={row.source_id} />,
    value: ({ source_id: id }) => ({ text: id, only: { name: "source_id", values: [id] } }),
    needs: "wide",
  },
  { title: "Duration", cell: (row) => duration(row.duration_ms), isFigure: true, needs: "wide" },
  { title: "Bookmark", cell: (row) => row.bookmark ?? <span class="soft">–</span>, needs: "wide" },
  { title: "When", cell: (row) => <When at={row.received_at} />, isFigure: true },
];

/** Requests of one source, within another page. */
export function RequestTable(props: { readonly caption: string; readonly rows: readonly GatewayRequest[] }) {
  const { caption, rows } = props;
  const columns = requestColumns
    .filter(({ title }) => title !== "Source" && title !== "Bookmark")
    .map(({ value: _value, ...column }): Column<GatewayRequest> => column);
  return <DataTable caption={caption} columns={columns} rows={rows} keyOf={({ id }) => id} />;
}
