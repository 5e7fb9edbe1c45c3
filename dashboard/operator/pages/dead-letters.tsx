import { useSignal } from "@preact/signals";
import { useAddress } from "../../shared/address.ts";
import { callApi } from "../../shared/api.ts";
import type { Delivery } from "../../shared/resources.ts";
import type { Column } from "../../shared/ui/data-table.tsx";
import { Modal } from "../../shared/ui/modal.tsx";
import { When } from "../../shared/ui/when.tsx";
import { ActionButton, mayManage } from "../action-button.tsx";
import { answerColumn, eventTypeColumn } from "../delivery/delivery-table.tsx";
import { endingOf } from "../delivery/wording.ts";
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
  const { params, set } = useAddress();
  const webhookIds = params.getAll("webhook_id");
  return (
    <>
      <h1>Dead letters</h1>
      {webhookIds.length > 0 && (
        <div class="filters">
          <button type="button" class="chip chip-on" onClick={() => set({ webhook_id: [] })}>
            webhook: {webhookIds.join(", ")} <span aria-hidden="true">×</span>
            <span class="off-screen"> remove this filter</span>
          </button>
        </div>
      )}
      <ResourceList<Delivery>
        title="Dead letters"
        path="v1/dlq"
        query={{ webhook_id: webhookIds }}
        cli={`dlq list${webhookIds.map((id) => ` --webhook ${id}`).join("")}`}
        columns={columns}
        keyOf={({ id }) => id}
        none={<p class="soft">Nothing was given up.</p>}
        tools={mayManage() && <RetryAll key={webhookIds.join()} webhookIds={webhookIds} />}
      />
    </>
  );
}

/** Always the count first. */
function RetryAll({ webhookIds }: { readonly webhookIds: readonly string[] }) {
  const count = useSignal<number | null>(null);
  const filter = webhookIds.length === 0 ? {} : { webhook_ids: webhookIds };
  const ask = async (isDryRun: boolean) => {
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
          count.value = await ask(true);
        }}
        done="Counted"
      />
      {count.value !== null && (
        <Modal title={`Retry ${count.value} dead letters?`} onClose={() => (count.value = null)}>
          <p>
            They are delivered again, ten in a second. Those of webhooks that are not active wait until they
            are.
          </p>
          <ActionButton
            label="Retry"
            isPrimary
            run={async () => {
              await ask(false);
              count.value = null;
            }}
            done="The retry began"
          />
        </Modal>
      )}
    </>
  );
}
