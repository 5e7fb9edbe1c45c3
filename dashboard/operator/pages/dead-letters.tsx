import { useSignal } from "@preact/signals";
import { useAddress } from "../../shared/address.ts";
import { callApi } from "../../shared/api.ts";
import { now } from "../../shared/clock.ts";
import type { Delivery } from "../../shared/resources.ts";
import { RangePicker } from "../../shared/time/range-picker.tsx";
import { rangeQuery } from "../../shared/time/time-range.ts";
import type { Column } from "../../shared/ui/data-table.tsx";
import { Modal } from "../../shared/ui/modal.tsx";
import { PageHead } from "../../shared/ui/page-head.tsx";
import { When } from "../../shared/ui/when.tsx";
import { ActionButton, mayManage } from "../action-button.tsx";
import { answerColumn, eventTypeColumn } from "../delivery/delivery-columns.tsx";
import { endingOf } from "../delivery/wording.ts";
import { LinkedFilters } from "../filters/linked-filters.tsx";
import { ResourceList } from "../list-page.tsx";
import { WebhookLink } from "../webhook/webhook-link.tsx";

const columns: readonly Column<Delivery>[] = [
  eventTypeColumn,
  answerColumn,
  {
    title: "Why",
    cell: (row) => endingOf({ status: "exhausted", reason: row.reason }),
    isProse: true,
    needs: "medium",
  },
  { title: "Webhook", cell: (row) => <WebhookLink id={row.webhook_id} url={null} />, needs: "medium" },
  { title: "Tries", cell: (row) => row.attempt_count, isFigure: true, needs: "medium" },
  { title: "Given up", cell: (row) => <When at={row.completed_at} />, isFigure: true },
];

export function DeadLettersPage() {
  const { params } = useAddress();
  const range = rangeQuery(params, now.value);
  const webhookIds = params.getAll("webhook_id");
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
        query={{ webhook_id: webhookIds, ...range }}
        cli={`dlq list${webhookIds.map((id) => ` --webhook ${id}`).join("")}${flags(range)}`}
        columns={columns}
        keyOf={({ id }) => id}
        none={<p class="soft">Nothing was given up.</p>}
        tools={mayManage() && <RetryAll webhookIds={webhookIds} />}
      />
    </>
  );
}

function flags(range: Readonly<Record<string, string>>): string {
  return Object.entries(range)
    .map(([name, value]) => ` --${name} ${value}`)
    .join("");
}

/** Always the count first. What was counted is what is retried: a relative range is fixed to instants by then. */
function RetryAll({ webhookIds }: { readonly webhookIds: readonly string[] }) {
  const { params } = useAddress();
  const counted = useSignal<{ readonly count: number; readonly filter: object } | null>(null);
  const ask = async (filter: object, { isDryRun }: { readonly isDryRun: boolean }) => {
    const { value } = await callApi<{ readonly count: number }>({
      method: "POST",
      path: "v1/dlq/retry-batch",
      body: { filter, dry_run: isDryRun },
    });
    return value.count;
  };
  return (
    <>
      <ActionButton
        label="Retry all…"
        run={async () => {
          const ids = webhookIds.length > 0 && { webhook_ids: webhookIds };
          const filter = { ...ids, ...rangeQuery(params, now.value) };
          counted.value = { count: await ask(filter, { isDryRun: true }), filter };
        }}
        done="Counted"
      />
      {counted.value !== null && (
        <Modal title={`Retry ${counted.value.count} dead letters?`} onClose={() => (counted.value = null)}>
          <p>
            They are delivered again, ten in a second. Those of webhooks that are not active wait until they
            are.
          </p>
          <ActionButton
            label="Retry"
            isPrimary
            run={async () => {
              await ask(counted.value?.filter ?? {}, { isDryRun: false });
              counted.value = null;
            }}
            done="The retry began"
          />
        </Modal>
      )}
    </>
  );
}
