import type { Query } from "../../shared/api.ts";
import { useAddress } from "../../shared/address.ts";
import { minute } from "../../shared/clock.ts";
import type { EventSummary } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell } from "../../shared/shell-text.ts";
import { RangePicker } from "../../shared/ui/range-picker.tsx";
import { rangeQuery } from "../../shared/time-range.ts";
import type { Column } from "../../shared/ui/data-table.tsx";
import { PageHead } from "../../shared/ui/page-head.tsx";
import { When } from "../../shared/ui/when.tsx";
import { mayManage } from "../action-button.tsx";
import { flagsOf } from "../delivery/command-flags.ts";
import { TextFilter } from "../filters/text-filter.tsx";
import { LinkedFilters } from "../filters/linked-filters.tsx";
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

const passedOn = [
  "event_type",
  "source",
  "idempotency_key",
  "unmatched",
  "data_contains",
  "tenant_id",
] as const;

export function EventsPage() {
  const { params, set } = useAddress();
  const query: Query = {
    ...Object.fromEntries(passedOn.map((name) => [name, params.getAll(name)])),
    ...rangeQuery(params, minute.value),
  };
  return (
    <>
      <PageHead title="Events">
        <RangePicker />
      </PageHead>
      <div class="fields filters">
        <label class="chip">
          <input
            type="checkbox"
            checked={params.get("unmatched") === "true"}
            onChange={({ currentTarget: { checked } }) => set({ unmatched: checked ? ["true"] : [] })}
          />
          no subscribers
        </label>
        <TextFilter name="event_type" label="Event type" placeholder="order.*" />
        <TextFilter name="source" label="Source" placeholder="shop" isOneText />
        <TextFilter name="idempotency_key" label="Idempotency key" placeholder="order-4711" isOneText />
        {mayManage() && (
          <TextFilter name="data_contains" label="Payload contains" placeholder="4711" isOneText />
        )}
        <LinkedFilters names={["tenant_id"]} />
      </div>
      <ResourceList<EventSummary>
        title="Events"
        path="v1/events"
        query={query}
        cli={shell`events list${flagsOf(query)}`}
        columns={columns}
        keyOf={({ id }) => id}
        none={<p class="soft">No matching events.</p>}
      />
    </>
  );
}
