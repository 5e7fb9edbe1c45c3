import type { Delivery } from "../../shared/resources.ts";

const titles = [
  "delivery",
  "event",
  "event type",
  "webhook",
  "tenant",
  "status",
  "reason",
  "attempts",
  "last status code",
  "failure category",
  "created",
  "last attempt",
  "ended",
];

/** CSV rows, with a header row. */
export function deliveryCells(deliveries: readonly Delivery[]): readonly (readonly string[])[] {
  return [
    titles,
    ...deliveries.map((row) =>
      [
        row.id,
        row.event_id,
        row.event_type,
        row.webhook_id,
        row.tenant_id,
        row.status,
        row.reason,
        row.attempt_count,
        row.last_http_status_code,
        row.failure_category,
        row.created_at,
        row.last_attempt_at,
        row.completed_at,
      ].map((value) => (value === null ? "" : String(value))),
    ),
  ];
}
