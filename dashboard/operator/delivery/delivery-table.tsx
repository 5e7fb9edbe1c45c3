import { duration } from "../../shared/format.ts";
import type { Delivery } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import type { Column } from "../../shared/ui/data-table.tsx";
import { When } from "../../shared/ui/when.tsx";
import { column, only } from "../lists/columns.tsx";
import type { CsvCells } from "../lists/export-button.tsx";
import { TimePhrase } from "../shell/detail-page.tsx";
import { WebhookLink } from "../webhook/webhook-link.tsx";
import { answerText, categoryText, statuses, waitingOf, wordsOf } from "./wording.ts";

export function StatusBadge({ status }: { readonly status: Delivery["status"] }) {
  return <Badge {...wordsOf(status)} />;
}

export const eventTypeColumn = column.link<Delivery>("Event type", "deliveries", (row) => row.event_type);

/** Response to the last attempt. */
export const answerColumn: Column<Delivery> = {
  title: "Response",
  cell: (row) => answerText({ status_code: row.last_http_status_code, category: row.failure_category }),
};

type DeliveryColumn = Column<Delivery> & {
  /** Name of the column in the URL. */
  readonly name: string;
  /** Shown by default. */
  readonly isUsual?: boolean;
};

const shown: readonly DeliveryColumn[] = [
  {
    ...eventTypeColumn,
    name: "event_type",
    isUsual: true,
    value: (row) => only("event_type", row.event_type),
  },
  {
    name: "status",
    title: "State",
    isUsual: true,
    cell: (row) => <StatusBadge status={row.status} />,
    value: ({ status }) => ({
      text: wordsOf(status).text,
      only: { name: "status", values: [status] },
      without: { name: "status", values: statuses.filter((one) => one !== status) },
    }),
  },
  {
    name: "webhook",
    title: "Webhook",
    isUsual: true,
    cell: (row) => (
      <WebhookLink id={row.webhook_id} url={row.webhook?.url ?? null} health={row.webhook?.health} />
    ),
    value: ({ webhook_id: id, webhook }) => only("webhook_id", id, webhook?.url ?? id),
    needs: "medium",
  },
  {
    ...answerColumn,
    name: "answer",
    isUsual: true,
    value: (row) => {
      const text = answerText({ status_code: row.last_http_status_code, category: row.failure_category });
      if (row.attempt_count === 0) return null;
      return only("http_status", String(row.last_http_status_code ?? "none"), text);
    },
  },
  {
    name: "tries",
    title: "Attempts",
    isUsual: true,
    cell: (row) => row.attempt_count,
    isFigure: true,
    needs: "wide",
  },
  {
    name: "took",
    title: "Duration",
    isUsual: true,
    cell: (row) => (row.last_duration_ms === null ? "–" : duration(row.last_duration_ms)),
    isFigure: true,
    needs: "wide",
  },
  {
    name: "waiting_for",
    title: "Waiting for",
    isUsual: true,
    cell: (row) => <WaitsFor row={row} />,
    value: ({ waiting_for: reason }) => only("waiting_for", reason, waitingOf(reason ?? "").short),
    needs: "medium",
  },
];

const optional: readonly DeliveryColumn[] = [
  {
    name: "failure",
    title: "Failure",
    cell: (row) => categoryText(row.failure_category) || <span class="soft">–</span>,
    value: ({ failure_category: name }) => only("failure_category", name, categoryText(name)),
  },
  {
    name: "tenant",
    title: "Tenant",
    cell: (row) => row.tenant_id,
    value: (row) => only("tenant_id", row.tenant_id),
  },
  {
    name: "origin",
    title: "Origin",
    cell: (row) => row.origin,
    value: (row) => only("origin", row.origin),
  },
  { name: "priority", title: "Priority", cell: (row) => row.priority },
  {
    name: "id",
    title: "Delivery",
    cell: (row) => <code>{row.id}</code>,
    value: ({ id: text }) => ({ text }),
  },
  {
    name: "event",
    title: "Event",
    cell: (row) => <a href={pagePath(`events/${row.event_id}`)}>{row.event_id}</a>,
    value: (row) => only("event_id", row.event_id),
  },
  { name: "last", title: "Last attempt", cell: (row) => <When at={row.last_attempt_at} />, isFigure: true },
  { name: "ended", title: "Ended", cell: (row) => <When at={row.completed_at} />, isFigure: true },
];

const made: DeliveryColumn = {
  name: "made",
  title: "Created",
  isUsual: true,
  cell: (row) => <When at={row.created_at} />,
  isFigure: true,
};

export const deliveryColumns: readonly DeliveryColumn[] = [...shown, ...optional, made];

const usualColumns: readonly Column<Delivery>[] = deliveryColumns.filter(({ isUsual }) => isUsual);

/**
 * Columns selected in the URL, or the default columns if none are selected. Selected columns are shown at any table
 * width.
 */
export function columnsOf(params: URLSearchParams): readonly Column<Delivery>[] {
  const chosen = params.getAll("columns");
  if (chosen.length === 0) return usualColumns;
  return deliveryColumns
    .filter(({ name }) => name === "event_type" || chosen.includes(name))
    .map(({ needs: _needs, ...rest }) => rest);
}

function WaitsFor({ row }: { readonly row: Delivery }) {
  if (row.waiting_for === null) return <span class="soft">–</span>;
  return (
    <>
      {waitingOf(row.waiting_for).short}
      <span class="soft">
        <TimePhrase before=" " at={row.waiting_until} />
      </span>
    </>
  );
}

/** Columns of delivery lists on other pages, where cells have no filters. */
export const listedColumns: readonly Column<Delivery>[] = usualColumns.map(
  ({ value: _value, ...rest }) => rest,
);

/** Columns of delivery lists on other pages, for lists whose rows all belong to one webhook. */
export const columnsOfWebhook = listedColumns.filter(({ title }) => title !== "Webhook");

export const deliveryCells: CsvCells<Delivery> = {
  "delivery": (row) => row.id,
  "event": (row) => row.event_id,
  "event type": (row) => row.event_type,
  "webhook": (row) => row.webhook_id,
  "tenant": (row) => row.tenant_id,
  "status": (row) => row.status,
  "reason": (row) => row.reason,
  "attempts": (row) => row.attempt_count,
  "last status code": (row) => row.last_http_status_code,
  "failure category": (row) => row.failure_category,
  "created": (row) => row.created_at,
  "last attempt": (row) => row.last_attempt_at,
  "ended": (row) => row.completed_at,
};
