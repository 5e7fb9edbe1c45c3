import type { EventSummary } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import type { Column } from "../../shared/ui/data-table.tsx";
import { When } from "../../shared/ui/when.tsx";
import { ResourceList } from "../list-page.tsx";

const columns: readonly Column<EventSummary>[] = [
  {
    title: "Event type",
    cell: (row) => (
      <a href={pagePath(`events/${row.id}`)} class="row-link">
        {row.event_type}
      </a>
    ),
  },
  { title: "Deliveries", cell: (row) => row.deliveries, isFigure: true },
  {
    title: "Idempotency key",
    cell: (row) =>
      row.idempotency_key === row.id ? <span class="soft">–</span> : <code>{row.idempotency_key}</code>,
    needs: "medium",
  },
  { title: "Tenant", cell: (row) => row.tenant_id, needs: "medium" },
  { title: "Priority", cell: (row) => row.priority, needs: "medium" },
  { title: "Accepted", cell: (row) => <When at={row.created_at} />, isFigure: true },
];

export function EventsPage() {
  return (
    <>
      <h1>Events</h1>
      <ResourceList<EventSummary>
        title="Events"
        path="v1/events"
        cli="events list"
        columns={columns}
        keyOf={({ id }) => id}
        none={<p class="soft">Nothing was published yet.</p>}
      />
    </>
  );
}
