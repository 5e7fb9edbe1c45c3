import { useAddress } from "../../shared/address.ts";
import { minute } from "../../shared/clock.ts";
import type { Delivery } from "../../shared/resources.ts";
import { shell } from "../../shared/shell-text.ts";
import { rangeQuery } from "../../shared/time-range.ts";
import type { Column } from "../../shared/ui/data-table.tsx";
import { PageHead } from "../../shared/ui/page-head.tsx";
import { RangePicker } from "../../shared/ui/range-picker.tsx";
import { When } from "../../shared/ui/when.tsx";
import { discardAction, retryDeadLettersAction, targetOf } from "../bulk/bulk-actions.ts";
import { BulkBar, useDeliverySelection } from "../bulk/bulk-bar.tsx";
import { BulkButton } from "../bulk/bulk-dialog.tsx";
import { mayManage } from "../form/action-button.tsx";
import { flagsOf } from "../lists/command-flags.ts";
import { ExportButton } from "../lists/export-button.tsx";
import { LinkedFilters } from "../lists/filters.tsx";
import { ResourceList } from "../lists/list-page.tsx";
import { WebhookLink } from "../webhook/webhook-link.tsx";
import { answerColumn, deliveryCells, eventTypeColumn } from "./delivery-table.tsx";
import { endingOf } from "./wording.ts";

const columns: readonly Column<Delivery>[] = [
  eventTypeColumn,
  answerColumn,
  {
    title: "Reason",
    cell: (row) => endingOf({ status: "exhausted", reason: row.reason }),
    isProse: true,
    needs: "medium",
  },
  { title: "Webhook", cell: (row) => <WebhookLink id={row.webhook_id} url={null} />, needs: "medium" },
  { title: "Attempts", cell: (row) => row.attempt_count, isFigure: true, needs: "medium" },
  { title: "Since", cell: (row) => <When at={row.completed_at} />, isFigure: true },
];

const actions = [retryDeadLettersAction, discardAction];

export function DeadLettersPage() {
  const { params } = useAddress();
  const range = rangeQuery(params, minute.value);
  const webhookIds = params.getAll("webhook_id");
  const filters = { webhook_id: webhookIds, ...range };
  const selection = useDeliverySelection(JSON.stringify(filters));
  return (
    <>
      <PageHead title="Dead letters">
        <RangePicker />
      </PageHead>
      <div class="fields filters">
        <LinkedFilters names={["webhook_id"]} />
      </div>
      <ResourceList<Delivery>
        title="Dead letters"
        path="v1/dlq"
        query={filters}
        cli={shell`dlq list${flagsOf(filters)}`}
        columns={columns}
        keyOf={({ id }) => id}
        none={<p class="soft">No dead letters.</p>}
        selectionOf={selection.of}
        tools={
          <>
            <ExportButton
              path="v1/dlq"
              query={filters}
              fileName="posthorn-dead-letters.csv"
              tableOf={deliveryCells}
            />
            {mayManage() &&
              actions.map((action) => (
                <BulkButton
                  key={action.label}
                  action={action}
                  targetNow={() => targetOf(filters, Date.now())}
                />
              ))}
          </>
        }
      />
      <BulkBar selection={selection} filters={filters} actions={actions} />
    </>
  );
}
