import type { Webhook } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { Command } from "../../shared/ui/as-api.tsx";
import type { Column } from "../../shared/ui/data-table.tsx";
import { PageHead } from "../../shared/ui/page-head.tsx";
import { When } from "../../shared/ui/when.tsx";
import { mayManage } from "../action-button.tsx";
import { ResourceList } from "../list-page.tsx";
import { WebhookLink } from "../webhook/webhook-link.tsx";
import { WebhookBadge } from "../webhook/webhook-badge.tsx";

const columns: readonly Column<Webhook>[] = [
  { title: "URL", cell: (row) => <WebhookLink id={row.id} url={row.url} /> },
  { title: "State", cell: (row) => <WebhookBadge webhook={row} /> },
  { title: "Events", cell: (row) => row.events.join(", "), needs: "medium" },
  { title: "Tenant", cell: (row) => row.tenant_id, needs: "medium" },
  { title: "Profile", cell: (row) => row.profile, needs: "medium" },
  { title: "Last accepted", cell: (row) => <When at={row.last_success_at} />, isFigure: true },
];

export function WebhooksPage() {
  return (
    <>
      <PageHead title="Webhooks">
        {mayManage() && (
          <a class="button primary" href={pagePath("webhooks/new")} data-command="New webhook">
            New webhook
          </a>
        )}
      </PageHead>
      <ResourceList<Webhook>
        title="Webhooks"
        path="v1/webhooks"
        cli="webhooks list"
        columns={columns}
        keyOf={({ id }) => id}
        none={
          <>
            <p>No webhook is registered yet. This makes one:</p>
            <Command text="posthorn webhooks create https://example.com/hooks --events 'order.*'" />
          </>
        }
      />
    </>
  );
}
