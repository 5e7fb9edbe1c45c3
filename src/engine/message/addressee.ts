import type { Webhook } from "../../core/webhook.ts";
import type { ClaimedDelivery } from "../../ports/store/deliveries.ts";

/**
 * Whether a delivery may be sent to a webhook. `foreign`: it is stored for a webhook of another tenant than its
 * event. `unclear`: the stored data contradicts the state of this process, which may be outdated.
 */
export type Addressee = "right" | "foreign" | "unclear";

/**
 * Compares the tenants of a delivery, its event and its webhook. The stored values are read from separate rows, and
 * the webhook is the one whose URL and keys are used for the request, so a wrong lane or a wrong ID cannot match
 * both.
 */
export function addresseeOf(
  delivery: Pick<ClaimedDelivery, "webhookId" | "webhookTenantId" | "tenantId">,
  webhook: Pick<Webhook, "id" | "tenantId">,
): Addressee {
  const { webhookId, webhookTenantId, tenantId } = delivery;
  if (webhookTenantId !== null && webhookTenantId !== tenantId) return "foreign";
  const agree =
    webhookId === webhook.id && webhookTenantId === webhook.tenantId && tenantId === webhook.tenantId;
  return agree ? "right" : "unclear";
}
