import { useAddress } from "../../shared/address.ts";
import type { DeliveryProblem } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import type { Column } from "../../shared/ui/data-table.tsx";
import { When } from "../../shared/ui/when.tsx";
import { LinkedFilters } from "../filters/linked-filters.tsx";
import { ResourceList } from "../list-page.tsx";
import { StateChips } from "../state-chips.tsx";
import { WebhookLink } from "../webhook/webhook-link.tsx";
import { headlineOf, ProblemBadge } from "./problem-badge.tsx";

const states: readonly DeliveryProblem["state"][] = ["open", "recovering", "muted", "resolved"];
const usualStates: readonly string[] = ["open", "recovering"];

const columns: readonly Column<DeliveryProblem>[] = [
  {
    title: "Problem",
    cell: (row) => (
      <a href={pagePath(`problems/${row.id}`)} class="row-link">
        {headlineOf(row)}
      </a>
    ),
    isProse: true,
  },
  { title: "State", cell: (row) => <ProblemBadge state={row.state} /> },
  { title: "Webhook", cell: (row) => <WebhookLink id={row.webhook_id} url={null} />, needs: "wide" },
  { title: "Failures", cell: (row) => row.count.toLocaleString(), isFigure: true, needs: "medium" },
  { title: "Deliveries", cell: (row) => row.deliveries.toLocaleString(), isFigure: true },
  { title: "Last seen", cell: (row) => <When at={row.last_seen_at} />, isFigure: true, needs: "medium" },
];

export function ProblemsPage() {
  const { params } = useAddress();
  const chosen = params.has("state") ? params.getAll("state") : usualStates;
  const webhookIds = params.getAll("webhook_id");
  return (
    <>
      <h1>Problems</h1>
      <StateChips states={states} chosen={chosen}>
        <LinkedFilters names={["webhook_id"]} />
      </StateChips>
      <ResourceList<DeliveryProblem>
        title="Problems"
        path="v1/problems"
        query={{ state: chosen, webhook_id: webhookIds }}
        cli={null}
        columns={columns}
        keyOf={({ id }) => id}
        none={
          <p class="soft">
            No problems. Similar failures of a webhook are grouped into one problem. It opens with the third
            failure within ten minutes, or with a dead letter.
          </p>
        }
      />
    </>
  );
}
