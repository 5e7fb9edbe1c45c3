import type { Delivery } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { duration } from "../../shared/time/time-format.ts";
import { DataTable, type Column } from "../../shared/ui/data-table.tsx";
import { When } from "../../shared/ui/when.tsx";
import { WebhookLink } from "../webhook/webhook-link.tsx";
import { StatusBadge } from "./status-badge.tsx";
import { answerText, waitingOf } from "./wording.ts";

/** What was sent, as the link to its delivery. */
export const eventTypeColumn: Column<Delivery> = {
  title: "Event type",
  cell: (row) => (
    <a href={pagePath(`deliveries/${row.id}`)} class="row-link">
      {row.event_type}
    </a>
  ),
};

/** What the last attempt got. */
export const answerColumn: Column<Delivery> = {
  title: "Answer",
  cell: (row) => answerText({ status_code: row.last_http_status_code, category: row.failure_category }),
};

const columns: readonly Column<Delivery>[] = [
  eventTypeColumn,
  { title: "State", cell: (row) => <StatusBadge status={row.status} /> },
  {
    title: "Webhook",
    cell: (row) => <WebhookLink id={row.webhook_id} url={row.webhook?.url ?? null} />,
    needs: "medium",
  },
  answerColumn,
  { title: "Tries", cell: (row) => row.attempt_count, isFigure: true, needs: "wide" },
  {
    title: "Took",
    cell: (row) => (row.last_duration_ms === null ? "–" : duration(row.last_duration_ms)),
    isFigure: true,
    needs: "wide",
  },
  { title: "Waits for", cell: (row) => <WaitsFor row={row} />, needs: "medium" },
  { title: "Made", cell: (row) => <When at={row.created_at} />, isFigure: true },
];

function WaitsFor({ row }: { readonly row: Delivery }) {
  if (row.waiting_for === null) return <span class="soft">–</span>;
  return (
    <>
      {waitingOf(row.waiting_for).short}
      {row.waiting_until !== null && (
        <span class="soft">
          {" "}
          <When at={row.waiting_until} />
        </span>
      )}
    </>
  );
}

export function DeliveryTable(props: {
  readonly caption: string;
  readonly rows: readonly Delivery[];
  /** Where all rows are of one webhook. */
  readonly withoutWebhook?: boolean;
}) {
  const { caption, rows, withoutWebhook = false } = props;
  const shown = withoutWebhook ? columns.filter(({ title }) => title !== "Webhook") : columns;
  return <DataTable caption={caption} columns={shown} rows={rows} keyOf={({ id }) => id} />;
}
