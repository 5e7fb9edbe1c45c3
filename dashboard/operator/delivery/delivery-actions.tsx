import { useAddress } from "../../shared/address.ts";
import { callApi } from "../../shared/api.ts";
import type { DeliveryDetail } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { AsApi } from "../../shared/ui/as-api.tsx";
import { ActionButton, mayManage } from "../action-button.tsx";

/** A retry. A key without the right to do it sees no button. */
export function DeliveryActions({ delivery }: { readonly delivery: DeliveryDetail }) {
  const { go } = useAddress();
  const { id, webhook_id, status, superseded_by } = delivery;
  const isRetryable = superseded_by === null && status !== "pending" && delivery.waiting_for !== "in_flight";
  if (!mayManage()) return null;
  const path = `v1/webhooks/${webhook_id}/deliveries/${id}/retry`;
  return (
    <div class="actions">
      {isRetryable && (
        <>
          <ActionButton
            label="Retry now"
            shortcut="r"
            isPrimary={status !== "success"}
            run={async () => {
              const { value } = await callApi<{ readonly delivery_id: string }>({
                method: "POST",
                path,
                body: {},
              });
              go(pagePath(`deliveries/${value.delivery_id}`));
            }}
            done="Retried"
          />
          <AsApi what="Retry" twin={{ method: "POST", path, body: {}, cli: `deliveries retry ${id}` }} />
        </>
      )}
    </div>
  );
}
