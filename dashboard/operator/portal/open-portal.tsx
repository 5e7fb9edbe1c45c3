import { callApi } from "../../shared/api.ts";
import { root } from "../../shared/root.ts";
import { session } from "../../shared/session.ts";
import { ActionButton } from "../action-button.tsx";

/** Opens the portal as this tenant, read-only. The session is recorded in the audit log. */
export function OpenPortal({ tenantId }: { readonly tenantId: string }) {
  const open = async () => {
    const { value } = await callApi<{ readonly url: string }>({
      method: "POST",
      path: "v1/portal-sessions",
      body: {
        tenant_id: tenantId,
        capabilities: ["endpoints:read", "deliveries:read", "payloads:read"],
        reference: "operator",
        theme: { product_name: `${tenantId} (read-only)`.slice(0, 60) },
      },
    });
    const { search, hash } = new URL(value.url);
    window.open(new URL(`portal/${search}${hash}`, root), "_blank", "noopener");
  };
  if (session.value?.role !== "admin") return null;
  return <ActionButton label={`Open as ${tenantId}`} run={open} done="Portal opened in a new tab" />;
}
