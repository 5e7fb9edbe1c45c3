import { useAddress } from "../../shared/address.ts";
import { callApi } from "../../shared/api.ts";
import type { DeliveryDetail } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell } from "../../shared/shell-text.ts";
import { AsApi } from "../../shared/ui/as-api.tsx";
import { ActionButton, mayManage } from "../action-button.tsx";

/** Retries. A key without the right to do it sees no button. */
export function DeliveryActions({ delivery }: { readonly delivery: DeliveryDetail }) {
  const { id, webhook_id, status, superseded_by, priority } = delivery;
  const isRetryable = superseded_by === null && status !== "pending" && delivery.waiting_for !== "in_flight";
  if (!mayManage() || !isRetryable) return null;
  const path = `v1/webhooks/${webhook_id}/deliveries/${id}/retry`;
  return (
    <div class="actions">
      <RetryButton label="Retry now" path={path} body={{}} isPrimary={status !== "success"} shortcut="r" />
      {priority !== "high" && (
        <RetryButton label="Retry with high priority" path={path} body={{ priority: "high" }} />
      )}
      <AsApi what="Retry" twin={{ method: "POST", path, body: {}, cli: shell`deliveries retry ${id}` }} />
    </div>
  );
}

/** Leads to the delivery that takes its place. */
function RetryButton(props: {
  readonly label: string;
  readonly path: string;
  readonly body: object;
  readonly isPrimary?: boolean;
  readonly shortcut?: string;
}) {
  const { path, body, ...button } = props;
  const { go } = useAddress();
  const retry = async () => {
    const { value } = await callApi<{ readonly delivery_id: string }>({ method: "POST", path, body });
    go(pagePath(`deliveries/${value.delivery_id}`));
  };
  return <ActionButton {...button} run={retry} done="Retried" />;
}
