import type { Webhook } from "../../core/webhook.ts";
import type { ClaimedDelivery } from "../../ports/store/deliveries.ts";

/**
 * Whether a delivery may go to a webhook. `foreign`: it is stored for a webhook of another tenant than its event. `unclear`:
 * what is stored contradicts what this process knows, which may be out of date.
 */
export type Addressee = "right" | "foreign" | "unclear";

/**
 * Compares the tenants of a delivery, of its event and of its webhook. What is stored was read from the rows themselves, and
 * the webhook is the one whose URL and keys make the request, so a wrong lane or a wrong number cannot agree with both.
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
