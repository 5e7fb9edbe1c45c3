import { useAddress } from "../../shared/address.ts";
import { callApi } from "../../shared/api.ts";
import type { DeliveryDetail } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { AsApi } from "../../shared/ui/as-api.tsx";
import { ActionButton, mayManage } from "../action-button.tsx";
import type { Waiting } from "./wording.ts";

interface DeliveryActionsProps {
  readonly delivery: DeliveryDetail;
  readonly remedy: Waiting["remedy"];
}

/** A retry, and what ends the waiting. A key without the right to do it sees no button. */
export function DeliveryActions({ delivery, remedy }: DeliveryActionsProps) {
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
      <Remedy webhookId={webhook_id} remedy={remedy} />
    </div>
  );
}

function Remedy({ webhookId, remedy }: { readonly webhookId: string; readonly remedy: Waiting["remedy"] }) {
  const webhook = `v1/webhooks/${webhookId}`;
  if (remedy === "end_pause") {
    return (
      <ActionButton
        label="End the pause"
        run={() => callApi({ method: "POST", path: `${webhook}/resume`, body: {} })}
        done="The pause ended"
      />
    );
  }
  if (remedy === "close_circuit") {
    return (
      <ActionButton
        label="Close the circuit"
        run={() =>
          callApi({ method: "PATCH", path: `${webhook}/circuit-breaker`, body: { action: "reset" } })
        }
        done="The circuit is closed"
      />
    );
  }
  if (remedy === "enable") {
    return (
      <ActionButton
        label="Enable the webhook"
        run={() => callApi({ method: "POST", path: `${webhook}/enable`, body: {} })}
        done="The webhook is enabled"
      />
    );
  }
  return null;
}
