import { useAddress } from "../../shared/address.ts";
import { callApi } from "../../shared/api.ts";
import { refreshAll } from "../../shared/queries.ts";
import type { DeliveryDetail } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell } from "../../shared/shell-text.ts";
import { AsApi } from "../../shared/ui/as-api.tsx";
import { ActionButton, mayManage } from "../action-button.tsx";

/** Retry buttons. Hidden from keys that may not retry. */
export function DeliveryActions({ delivery }: { readonly delivery: DeliveryDetail }) {
  const { id, webhook_id, status, priority } = delivery;
  const isRetryable = status !== "pending" && delivery.waiting_for !== "in_flight";
  if (!mayManage() || !isRetryable) return null;
  const path = `v1/webhooks/${webhook_id}/deliveries/${id}/retry`;
  return (
    <div class="actions">
      <RetryButton
        label="Retry now"
        id={id}
        path={path}
        body={{}}
        isPrimary={status !== "success"}
        shortcut="r"
      />
      {priority !== "high" && (
        <RetryButton label="Retry with high priority" id={id} path={path} body={{ priority: "high" }} />
      )}
      <AsApi what="Retry" twin={{ method: "POST", path, body: {}, cli: shell`deliveries retry ${id}` }} />
    </div>
  );
}

/** Stays on the page. Retrying an accepted delivery creates a copy and opens the copy's page. */
function RetryButton(props: {
  readonly label: string;
  readonly id: string;
  readonly path: string;
  readonly body: object;
  readonly isPrimary?: boolean;
  readonly shortcut?: string;
}) {
  const { id, path, body, ...button } = props;
  const { go } = useAddress();
  const retry = async () => {
    const { value } = await callApi<{ readonly delivery_id: string }>({ method: "POST", path, body });
    if (value.delivery_id === id) await refreshAll();
    else go(pagePath(`deliveries/${value.delivery_id}`));
  };
  return <ActionButton {...button} run={retry} done="Retried" />;
}
