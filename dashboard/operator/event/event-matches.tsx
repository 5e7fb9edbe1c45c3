import type { EventMatch } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell } from "../../shared/shell-text.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import type { Column } from "../../shared/ui/data-table.tsx";
import { StatusBadge } from "../delivery/status-badge.tsx";
import { ResourceList } from "../list-page.tsx";
import { WebhookLink } from "../webhook/webhook-link.tsx";

const reasons: Readonly<Record<NonNullable<EventMatch["reason"]>, string>> = {
  other_type: "Not subscribed to this event type.",
  inactive: "Not active when the event was published. Recover the webhook to send the event.",
  made_later: "Created after the event. A replay sends the event to it.",
  changed_later: "Subscribed to this type after the event was published. A replay sends the event to it.",
};

const columns: readonly Column<EventMatch>[] = [
  { title: "Webhook", cell: (row) => <WebhookLink id={row.webhook_id} url={null} /> },
  {
    title: "Sent",
    cell: ({ sent }) => <Badge tone={sent ? "good" : "off"} text={sent ? "sent" : "not sent"} />,
  },
  {
    title: "Delivery",
    cell: ({ delivery_id, delivery_status }) =>
      delivery_id === null || delivery_status === null ? (
        <span class="soft">–</span>
      ) : (
        <a href={pagePath(`deliveries/${delivery_id}`)}>
          <StatusBadge status={delivery_status} />
        </a>
      ),
  },
  { title: "Reason", cell: ({ reason }) => (reason === null ? "" : reasons[reason]), isProse: true },
];

/** Every webhook of the tenant: whether the event was sent to it, and if not, why. */
export function EventMatches({ id }: { readonly id: string }) {
  return (
    <ResourceList<EventMatch>
      title="Webhook matches"
      path={`v1/events/${id}/matches`}
      query={{ limit: 20 }}
      cli={shell`events matches ${id}`}
      columns={columns}
      keyOf={({ webhook_id }) => webhook_id}
      none={<p class="soft">The tenant has no webhooks.</p>}
    />
  );
}
