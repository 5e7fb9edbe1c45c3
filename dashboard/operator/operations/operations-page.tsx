import type { Operation } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell } from "../../shared/shell-text.ts";
import type { Column } from "../../shared/ui/data-table.tsx";
import { PageHead } from "../../shared/ui/page-head.tsx";
import { When } from "../../shared/ui/when.tsx";
import { ResourceList } from "../list-page.tsx";
import { OperationBadge } from "./operation-badge.tsx";
import { countText, kindText, progressText } from "./operation-wording.ts";

const columns: readonly Column<Operation>[] = [
  {
    title: "Operation",
    cell: (row) => <a href={pagePath(`operations/${row.id}`)}>{kindText(row.kind)}</a>,
    value: (row) => ({ text: row.id }),
  },
  { title: "State", cell: (row) => <OperationBadge status={row.status} /> },
  { title: "Done", cell: progressText, isFigure: true },
  { title: "Failed", cell: (row) => countText(row.failed), isFigure: true, needs: "medium" },
  {
    title: "Per second",
    cell: (row) => row.rate_per_second?.toFixed(1) ?? "–",
    isFigure: true,
    needs: "medium",
  },
  { title: "Finished", cell: (row) => <When at={row.finished_at ?? row.eta_at} />, isFigure: true },
  { title: "Started", cell: (row) => <When at={row.created_at} />, isFigure: true, needs: "medium" },
];

export function OperationsPage() {
  return (
    <>
      <PageHead title="Operations" />
      <ResourceList<Operation>
        title="Operations"
        path="v1/operations"
        cli={shell`operations list`}
        columns={columns}
        keyOf={({ id }) => id}
        none={
          <p class="soft">
            No operations yet. Bulk retries and cancellations of{" "}
            <a href={pagePath("deliveries")}>deliveries</a> or{" "}
            <a href={pagePath("dead-letters")}>dead letters</a>, and recoveries of webhooks are shown here.
          </p>
        }
      />
    </>
  );
}
